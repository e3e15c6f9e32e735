"""Elements in another order."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops.distributions import bijector


__all__ = ["Permute"]


class Permute(bijector.Bijector):
    """y[..., i] = x[..., permutation[i]]."""

    def __init__(self, permutation, validate_args=False, name=None):
        message = "Permutation over `d` must contain exactly one of each of `{0, 1, ..., d}`."
        with ops.name_scope(name, "permute", values=[permutation]):
            permutation = ops.convert_to_tensor(permutation, name="permutation")
            if not permutation.dtype.is_integer:
                raise TypeError(f"permutation.dtype ({permutation.dtype.name}) should be `int`-like.")
            known = tensor_util.constant_value(permutation)
            if known is not None:
                if sorted(known) != list(range(known.size)):
                    raise ValueError(message)
            elif validate_args:
                size = array_ops.size(permutation)
                in_order = -nn_ops.top_k(-permutation, k=size)[0]
                check = check_ops.assert_equal(in_order, math_ops.range(size), message=message)
                permutation = control_flow_ops.with_dependencies([check], permutation)
        self._permutation = permutation
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name or "permute",
        )

    @property
    def permutation(self):
        return self._permutation

    def _forward(self, x):
        return array_ops.gather(x, self.permutation, axis=-1)

    def _inverse(self, y):
        return array_ops.gather(y, array_ops.invert_permutation(self.permutation), axis=-1)

    def _forward_log_det_jacobian(self, x):
        return constant_op.constant(0.0, dtype=x.dtype.base_dtype)

    def _inverse_log_det_jacobian(self, y):
        return constant_op.constant(0.0, dtype=y.dtype.base_dtype)
