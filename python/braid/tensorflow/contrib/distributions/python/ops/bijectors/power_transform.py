"""Powers."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import bijector


__all__ = ["PowerTransform"]


class PowerTransform(bijector.Bijector):
    """y = (1 + power * x)^(1 / power), for power 0 exp(x)."""

    def __init__(self, power=0.0, validate_args=False, name="power_transform"):
        with self._init_scope(name, values=[power]):
            power = tensor_util.constant_value(ops.convert_to_tensor(power, name="power"))
        if power is None or power < 0:
            raise ValueError("`power` must be a non-negative TF constant.")
        self._power = power
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def power(self):
        return self._power

    def _checked(self, value, message, is_x):
        if not self.validate_args or (is_x and self.power == 0):
            return value
        check = check_ops.assert_positive(1 + self.power * value if is_x else value, message=message)
        return control_flow_ops.with_dependencies([check], value)

    def _x(self, x):
        return self._checked(
            x, f"Forward transformation input must be at least {-1.0 / (self.power or 1)}.", True
        )

    def _y(self, y):
        return self._checked(y, "Inverse transformation input must be greater than 0.", False)

    def _forward(self, x):
        x = self._x(x)
        return (
            math_ops.exp(x) if self.power == 0 else math_ops.exp(math_ops.log1p(x * self.power) / self.power)
        )

    def _inverse(self, y):
        y = self._y(y)
        if self.power == 0:
            return math_ops.log(y)
        return math_ops.expm1(math_ops.log(y) * self.power) / self.power

    def _inverse_log_det_jacobian(self, y):
        return (self.power - 1) * math_ops.log(self._y(y))

    def _forward_log_det_jacobian(self, x):
        x = self._x(x)
        return x if self.power == 0 else (1.0 / self.power - 1) * math_ops.log1p(x * self.power)
