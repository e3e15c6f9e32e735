"""A former place of tensorflow.python.distribute.all_reduce."""

from braid.tensorflow.python.distribute.all_reduce import *  # noqa: F401,F403
