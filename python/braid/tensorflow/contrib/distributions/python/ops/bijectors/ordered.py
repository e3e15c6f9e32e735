"""Increasing vectors."""

from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import bijector


__all__ = ["Ordered"]


class Ordered(bijector.Bijector):
    """From an increasing vector: its first element, and the logarithms of the differences."""

    def __init__(self, validate_args=False, name="ordered"):
        super().__init__(forward_min_event_ndims=1, validate_args=validate_args, name=name)

    def _differences(self, x):
        made = x[..., 1:] - x[..., :-1]
        if self.validate_args:
            message = "Forward transformation input must be strictly increasing."
            made = control_flow_ops.with_dependencies(
                [check_ops.assert_positive(made, message=message)], made
            )
        return made

    def _forward(self, x):
        return array_ops.concat([x[..., :1], math_ops.log(self._differences(x))], -1)

    def _inverse(self, y):
        return math_ops.cumsum(array_ops.concat([y[..., :1], math_ops.exp(y[..., 1:])], -1), axis=-1)

    def _inverse_log_det_jacobian(self, y):
        return math_ops.reduce_sum(y[..., 1:], axis=-1)

    def _forward_log_det_jacobian(self, x):
        return -math_ops.reduce_sum(math_ops.log(self._differences(x)), axis=-1)
