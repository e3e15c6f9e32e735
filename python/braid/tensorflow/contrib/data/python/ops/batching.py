"""A former place of tf.data.experimental."""

from braid.tensorflow.python.data.experimental.ops.batching import *  # noqa: F401,F403
