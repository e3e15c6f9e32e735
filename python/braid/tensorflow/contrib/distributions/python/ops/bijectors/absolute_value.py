"""The absolute value, which two numbers have."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import bijector


__all__ = ["AbsoluteValue"]


class AbsoluteValue(bijector.Bijector):
    """y = |x|. `inverse` returns the pair (-y, y)."""

    def __init__(self, validate_args=False, name="absolute_value"):
        super().__init__(
            forward_min_event_ndims=0, is_constant_jacobian=True, validate_args=validate_args, name=name
        )

    @property
    def _is_injective(self):
        return False

    def _forward(self, x):
        return math_ops.abs(x)

    def _inverse(self, y):
        if self.validate_args:
            with ops.control_dependencies(
                [check_ops.assert_non_negative(y, message="Argument y was negative")]
            ):
                y = array_ops.identity(y)
        return -y, y

    def _inverse_log_det_jacobian(self, y):
        zero = constant_op.constant(0.0, dtype=y.dtype.base_dtype)
        return zero, zero
