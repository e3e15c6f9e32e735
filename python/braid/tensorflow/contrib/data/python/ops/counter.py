"""A former place of tf.data.experimental."""

from braid.tensorflow.python.data.experimental.ops.counter import *  # noqa: F401,F403
