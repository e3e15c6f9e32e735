"""The quantile function of Kumaraswamy's distribution."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import bijector
from braid.tensorflow.python.ops.distributions import util


__all__ = ["Kumaraswamy"]


class Kumaraswamy(bijector.Bijector):
    """y = (1 - (1 - x)^(1 / concentration0))^(1 / concentration1)."""

    def __init__(self, concentration1=None, concentration0=None, validate_args=False, name="kumaraswamy"):
        with self._init_scope(name, values=[concentration1, concentration0]):
            message = "Concentration parameter must be positive."
            positive = lambda x, name: util.positive_parameter(x, name, validate_args, message)
            self._concentration1 = positive(concentration1, "concentration1")
            self._concentration0 = positive(concentration0, "concentration0")
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def concentration1(self):
        return self._concentration1

    @property
    def concentration0(self):
        return self._concentration0

    def _checked(self, x):
        if not self.validate_args:
            return x
        one = constant_op.constant(1.0, x.dtype)
        checks = [
            check_ops.assert_non_negative(x, message="sample must be non-negative"),
            check_ops.assert_less_equal(x, one, message="sample must be no larger than `1`."),
        ]
        return control_flow_ops.with_dependencies(checks, x)

    def _forward(self, x):
        x = self._checked(x)
        rest = math_ops.exp(math_ops.log1p(-x) / self.concentration0)
        return math_ops.exp(math_ops.log1p(-rest) / self.concentration1)

    def _inverse(self, y):
        y = self._checked(y)
        return math_ops.exp(math_ops.log1p(-((1 - y**self.concentration1) ** self.concentration0)))

    def _inverse_log_det_jacobian(self, y):
        y = self._checked(y)
        return (
            math_ops.log(self.concentration1)
            + math_ops.log(self.concentration0)
            + (self.concentration1 - 1) * math_ops.log(y)
            + (self.concentration0 - 1) * math_ops.log1p(-(y**self.concentration1))
        )
