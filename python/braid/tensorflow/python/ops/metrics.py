"""All of tf.metrics."""

from braid.tensorflow.python.ops.metrics_impl import *  # noqa: F401,F403
