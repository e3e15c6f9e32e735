"""tf.contrib.nccl, which TensorFlow had until 1.13: sums and the like over devices."""

from braid.tensorflow.python.ops.nccl_ops import (  # noqa: F401
    all_max,
    all_min,
    all_prod,
    all_sum,
    broadcast,
    reduce_sum,
)
