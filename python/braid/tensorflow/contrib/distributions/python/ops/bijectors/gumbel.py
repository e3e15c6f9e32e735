"""The cumulative distribution function of Gumbel's distribution."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import bijector


__all__ = ["Gumbel"]


class Gumbel(bijector.Bijector):
    """y = exp(-exp(-(x - loc) / scale))."""

    def __init__(self, loc=0.0, scale=1.0, validate_args=False, name="gumbel"):
        with self._init_scope(name, values=[loc, scale]):
            self._loc = ops.convert_to_tensor(loc, name="loc")
            self._scale = ops.convert_to_tensor(scale, dtype=self._loc.dtype, name="scale")
            check_ops.assert_same_float_dtype([self._loc, self._scale])
            if validate_args:
                check = check_ops.assert_positive(self._scale, message="Argument scale was not positive")
                self._scale = control_flow_ops.with_dependencies([check], self._scale)
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def loc(self):
        return self._loc

    @property
    def scale(self):
        return self._scale

    def _checked(self, y):
        if not self.validate_args:
            return y
        checks = [
            check_ops.assert_non_negative(y, message="Inverse transformation input must be greater than 0."),
            check_ops.assert_less_equal(
                y,
                constant_op.constant(1.0, y.dtype),
                message="Inverse transformation input must be at most 1.",
            ),
        ]
        return control_flow_ops.with_dependencies(checks, y)

    def _forward(self, x):
        return math_ops.exp(-math_ops.exp(-(x - self.loc) / self.scale))

    def _inverse(self, y):
        return self.loc - self.scale * math_ops.log(-math_ops.log(self._checked(y)))

    def _inverse_log_det_jacobian(self, y):
        y = self._checked(y)
        return math_ops.log(self.scale / (-math_ops.log(y) * y))

    def _forward_log_det_jacobian(self, x):
        z = (x - self.loc) / self.scale
        return -z - math_ops.exp(-z) - math_ops.log(self.scale)
