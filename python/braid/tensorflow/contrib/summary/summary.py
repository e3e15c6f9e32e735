"""tf.contrib.summary under the name of its module."""

from braid.tensorflow.contrib.summary import *  # noqa: F401,F403
