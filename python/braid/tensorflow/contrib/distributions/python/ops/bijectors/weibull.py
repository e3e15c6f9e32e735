"""The cumulative distribution function of Weibull's distribution."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import bijector


__all__ = ["Weibull"]


class Weibull(bijector.Bijector):
    """y = 1 - exp(-(x / scale)^concentration), for x that are not negative."""

    def __init__(self, scale=1.0, concentration=1.0, validate_args=False, name="weibull"):
        with self._init_scope(name, values=[scale, concentration]):
            self._scale = ops.convert_to_tensor(scale, name="scale")
            self._concentration = ops.convert_to_tensor(
                concentration, self._scale.dtype, name="concentration"
            )
            check_ops.assert_same_float_dtype([self._scale, self._concentration])
            if validate_args:
                positive = lambda x, what: control_flow_ops.with_dependencies(
                    [check_ops.assert_positive(x, message=f"Argument {what} was not positive")], x
                )
                self._scale = positive(self._scale, "scale")
                self._concentration = positive(self._concentration, "concentration")
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def scale(self):
        return self._scale

    @property
    def concentration(self):
        return self._concentration

    def _x(self, x):
        if not self.validate_args:
            return x
        message = "Forward transformation input must be at least 0."
        return control_flow_ops.with_dependencies([check_ops.assert_non_negative(x, message=message)], x)

    def _y(self, y):
        if not self.validate_args:
            return y
        one = constant_op.constant(1.0, y.dtype)
        message = "Inverse transformation input must be {}."
        checks = [
            check_ops.assert_positive(y, message=message.format("greater than 0")),
            check_ops.assert_less_equal(y, one, message=message.format("at most 1")),
        ]
        return control_flow_ops.with_dependencies(checks, y)

    def _forward(self, x):
        return -math_ops.expm1(-((self._x(x) / self.scale) ** self.concentration))

    def _inverse(self, y):
        return self.scale * (-math_ops.log1p(-self._y(y))) ** (1 / self.concentration)

    def _inverse_log_det_jacobian(self, y):
        y = self._y(y)
        return (
            -math_ops.log1p(-y)
            + (1 / self.concentration - 1) * math_ops.log(-math_ops.log1p(-y))
            + math_ops.log(self.scale / self.concentration)
        )

    def _forward_log_det_jacobian(self, x):
        x = self._x(x)
        return (
            -((x / self.scale) ** self.concentration)
            + (self.concentration - 1) * math_ops.log(x)
            + math_ops.log(self.concentration)
            - self.concentration * math_ops.log(self.scale)
        )
