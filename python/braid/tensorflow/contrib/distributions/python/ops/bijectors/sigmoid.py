"""The logistic function."""

from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops.distributions import bijector


__all__ = ["Sigmoid"]


class Sigmoid(bijector.Bijector):
    """y = 1 / (1 + exp(-x))."""

    def __init__(self, validate_args=False, name="sigmoid"):
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _forward(self, x):
        return math_ops.sigmoid(x)

    def _inverse(self, y):
        return math_ops.log(y) - math_ops.log1p(-y)

    def _inverse_log_det_jacobian(self, y):
        return -math_ops.log(y) - math_ops.log1p(-y)

    def _forward_log_det_jacobian(self, x):
        return -nn_ops.softplus(-x) - nn_ops.softplus(x)
