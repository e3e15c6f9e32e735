"""The softplus function."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops.distributions import bijector
from braid.tensorflow.python.ops.distributions import util


__all__ = ["Softplus"]


class Softplus(bijector.Bijector):
    """y = c * log(1 + exp(x / c)), with the softness c at 0; 1 by default."""

    def __init__(self, hinge_softness=None, validate_args=False, name="softplus"):
        with ops.name_scope(name, values=[hinge_softness]):
            if hinge_softness is not None:
                hinge_softness = ops.convert_to_tensor(hinge_softness, name="hinge_softness")
                if validate_args:
                    check = check_ops.assert_none_equal(
                        array_ops.zeros([], hinge_softness.dtype),
                        hinge_softness,
                        message="hinge_softness must be non-zero",
                    )
                    hinge_softness = control_flow_ops.with_dependencies([check], hinge_softness)
        self._hinge_softness = hinge_softness
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def hinge_softness(self):
        return self._hinge_softness

    def _scaled(self, function, value):
        """c * function(value / c)"""
        if self.hinge_softness is None:
            return function(value)
        softness = math_ops.cast(self.hinge_softness, value.dtype)
        return softness * function(value / softness)

    def _divided(self, value):
        if self.hinge_softness is None:
            return value
        return value / math_ops.cast(self.hinge_softness, value.dtype)

    def _forward(self, x):
        return self._scaled(nn_ops.softplus, x)

    def _inverse(self, y):
        return self._scaled(util.softplus_inverse, y)

    def _inverse_log_det_jacobian(self, y):
        return -math_ops.log(-math_ops.expm1(-self._divided(y)))

    def _forward_log_det_jacobian(self, x):
        return -nn_ops.softplus(-self._divided(x))
