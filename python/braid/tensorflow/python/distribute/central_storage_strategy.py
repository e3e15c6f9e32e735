"""CentralStorageStrategy."""

from braid.tensorflow.python.distribute.distribute_lib import CentralStorageStrategy  # noqa: F401
