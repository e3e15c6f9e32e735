"""CrossShardOptimizer."""

from braid.tensorflow.contrib.tpu.python.tpu.tpu_optimizer import CrossShardOptimizer  # noqa: F401
