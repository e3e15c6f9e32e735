"""A shift and a matrix, given as a LinearOperator."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops.distributions import bijector
from braid.tensorflow.python.ops.linalg import linalg


__all__ = ["AffineLinearOperator"]


class AffineLinearOperator(bijector.Bijector):
    """y = scale @ x + shift, for vectors x."""

    def __init__(self, shift=None, scale=None, validate_args=False, name="affine_linear_operator"):
        parents, dtype = [], None
        with ops.name_scope(name, values=[shift]):
            if scale is not None:
                if not isinstance(scale, linalg.LinearOperator):
                    raise TypeError("scale is not an instance of tf.LinearOperator")
                if validate_args and not scale.is_non_singular:
                    raise ValueError("Scale matrix must be non-singular.")
                parents, dtype = list(scale.graph_parents), scale.dtype.base_dtype
            if shift is not None:
                shift = ops.convert_to_tensor(shift, dtype=dtype, name="shift")
                parents, dtype = parents + [shift], shift.dtype.base_dtype
        self._shift, self._scale = shift, scale
        super().__init__(
            forward_min_event_ndims=1,
            graph_parents=parents,
            is_constant_jacobian=True,
            dtype=dtype,
            validate_args=validate_args,
            name=name,
        )

    @property
    def shift(self):
        return self._shift

    @property
    def scale(self):
        return self._scale

    def _forward(self, x):
        y = x if self.scale is None else self.scale.matvec(x)
        return y if self.shift is None else y + self.shift

    def _inverse(self, y):
        x = y if self.shift is None else y - self.shift
        return x if self.scale is None else self.scale.solvevec(x)

    def _forward_log_det_jacobian(self, x):
        if self.scale is None:
            return constant_op.constant(0.0, dtype=x.dtype.base_dtype)
        return self.scale.log_abs_determinant()
