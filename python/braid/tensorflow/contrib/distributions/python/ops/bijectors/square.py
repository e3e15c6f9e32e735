"""Squares of numbers that are not negative."""

import numpy as np

from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import bijector


__all__ = ["Square"]


class Square(bijector.Bijector):
    """y = x^2."""

    def __init__(self, validate_args=False, name="square"):
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _checked(self, x):
        if not self.validate_args:
            return x
        check = check_ops.assert_non_negative(x, message="All elements must be non-negative.")
        return control_flow_ops.with_dependencies([check], x)

    def _forward(self, x):
        return math_ops.square(self._checked(x))

    def _inverse(self, y):
        return math_ops.sqrt(self._checked(y))

    def _forward_log_det_jacobian(self, x):
        return np.log(2.0).astype(x.dtype.as_numpy_dtype) + math_ops.log(self._checked(x))
