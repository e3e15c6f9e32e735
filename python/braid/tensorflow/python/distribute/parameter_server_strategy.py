"""ParameterServerStrategy."""

from braid.tensorflow.python.distribute.distribute_lib import ParameterServerStrategy  # noqa: F401
