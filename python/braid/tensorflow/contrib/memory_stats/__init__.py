"""tf.contrib.memory_stats: how much memory tensors take."""

from braid.tensorflow.contrib.memory_stats.python.ops.memory_stats_ops import (  # noqa: F401
    BytesInUse,
    BytesLimit,
    MaxBytesInUse,
)
