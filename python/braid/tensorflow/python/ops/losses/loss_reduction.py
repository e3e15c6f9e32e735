"""How losses of examples become one."""

from braid.tensorflow.python.keras.utils.losses_utils import ReductionV2  # noqa: F401
