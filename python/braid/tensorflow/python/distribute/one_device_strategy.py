"""OneDeviceStrategy."""

from braid.tensorflow.python.distribute.distribute_lib import OneDeviceStrategy  # noqa: F401
