"""A shift and a factor for each element."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import bijector


__all__ = ["AffineScalar"]


class AffineScalar(bijector.Bijector):
    """y = scale * x + shift, for each element."""

    def __init__(self, shift=None, scale=None, validate_args=False, name="affine_scalar"):
        with self._init_scope(name, values=[scale, shift]):
            if shift is not None:
                shift = ops.convert_to_tensor(shift, name="shift")
            if scale is not None:
                scale = ops.convert_to_tensor(scale, name="scale")
                if validate_args:
                    check = check_ops.assert_none_equal(scale, array_ops.zeros([], scale.dtype))
                    scale = control_flow_ops.with_dependencies([check], scale)
            self._shift, self._scale = shift, scale
            super().__init__(
                forward_min_event_ndims=0, is_constant_jacobian=True, validate_args=validate_args, name=name
            )

    @property
    def shift(self):
        return self._shift

    @property
    def scale(self):
        return self._scale

    def _forward(self, x):
        y = array_ops.identity(x)
        y = y if self.scale is None else y * self.scale
        return y if self.shift is None else y + self.shift

    def _inverse(self, y):
        x = array_ops.identity(y)
        x = x if self.shift is None else x - self.shift
        return x if self.scale is None else x / self.scale

    def _forward_log_det_jacobian(self, x):
        if self.scale is None:
            return constant_op.constant(0.0, dtype=x.dtype.base_dtype)
        return math_ops.log(math_ops.abs(self.scale))
