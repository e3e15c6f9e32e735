"""tf.contrib.batching: steps that run at the same time are put together in one."""

from braid.tensorflow.contrib.batching.python.ops.batch_ops import batch_function  # noqa: F401
