"""The softsign function."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import bijector


__all__ = ["Softsign"]


class Softsign(bijector.Bijector):
    """y = x / (1 + |x|)."""

    def __init__(self, validate_args=False, name="softsign"):
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _checked(self, y):
        if not self.validate_args:
            return y
        one = constant_op.constant(1.0, y.dtype)
        checks = [
            check_ops.assert_greater(
                y, -one, message="Inverse transformation input must be greater than -1."
            ),
            check_ops.assert_less(y, one, message="Inverse transformation input must be less than 1."),
        ]
        return control_flow_ops.with_dependencies(checks, y)

    def _forward(self, x):
        return x / (1.0 + math_ops.abs(x))

    def _inverse(self, y):
        y = self._checked(y)
        return y / (1.0 - math_ops.abs(y))

    def _forward_log_det_jacobian(self, x):
        return -2.0 * math_ops.log1p(math_ops.abs(x))

    def _inverse_log_det_jacobian(self, y):
        return -2.0 * math_ops.log1p(-math_ops.abs(self._checked(y)))
