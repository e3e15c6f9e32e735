"""MirroredStrategy."""

from braid.tensorflow.python.distribute.distribute_lib import MirroredStrategy  # noqa: F401
