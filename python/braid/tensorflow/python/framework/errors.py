"""tf.errors."""

from braid.tensorflow.python.framework.errors_impl import *  # noqa: F401,F403
