"""A former place of tf.data.experimental."""

from braid.tensorflow.python.data.experimental.ops.get_single_element import *  # noqa: F401,F403
