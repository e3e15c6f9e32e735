"""Skewness and weight of tails (Jones and Pewsey 2009)."""

import numpy as np

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import bijector


__all__ = ["SinhArcsinh"]


def _sqrt_x2_plus_1(x):
    """sqrt(x^2 + 1), which does not overflow."""
    is_small = math_ops.abs(x) * np.sqrt(np.finfo(x.dtype.as_numpy_dtype).eps) <= 1.0
    return array_ops.where_v2(is_small, math_ops.sqrt(x**2.0 + 1.0), math_ops.abs(x))


class SinhArcsinh(bijector.Bijector):
    """y = sinh((asinh(x) + skewness) * tailweight)."""

    def __init__(self, skewness=None, tailweight=None, validate_args=False, name="SinhArcsinh"):
        with self._init_scope(name, values=[skewness, tailweight]):
            tailweight = 1.0 if tailweight is None else tailweight
            skewness = 0.0 if skewness is None else skewness
            self._skewness = ops.convert_to_tensor(skewness, name="skewness")
            self._tailweight = ops.convert_to_tensor(tailweight, self._skewness.dtype, name="tailweight")
            check_ops.assert_same_float_dtype([self._skewness, self._tailweight])
            if validate_args:
                message = "Argument tailweight was not positive"
                check = check_ops.assert_positive(self._tailweight, message=message)
                self._tailweight = control_flow_ops.with_dependencies([check], self._tailweight)
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def skewness(self):
        return self._skewness

    @property
    def tailweight(self):
        return self._tailweight

    def _forward(self, x):
        return math_ops.sinh((math_ops.asinh(x) + self.skewness) * self.tailweight)

    def _inverse(self, y):
        return math_ops.sinh(math_ops.asinh(y) / self.tailweight - self.skewness)

    def _inverse_log_det_jacobian(self, y):
        ratio = math_ops.cosh(math_ops.asinh(y) / self.tailweight - self.skewness) / _sqrt_x2_plus_1(y)
        return math_ops.log(ratio) - math_ops.log(self.tailweight)

    def _forward_log_det_jacobian(self, x):
        ratio = math_ops.cosh((math_ops.asinh(x) + self.skewness) * self.tailweight) / _sqrt_x2_plus_1(x)
        return math_ops.log(ratio) + math_ops.log(self.tailweight)
