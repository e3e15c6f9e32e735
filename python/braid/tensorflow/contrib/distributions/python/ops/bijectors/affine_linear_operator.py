"""A shift and a matrix, given as a LinearOperator."""

from braid.tensorflow.contrib.distributions.python.ops import shape
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops.distributions import bijector
from braid.tensorflow.python.ops.linalg import linalg


__all__ = ["AffineLinearOperator"]


class AffineLinearOperator(bijector.Bijector):
    """y = scale @ x + shift, for vectors x."""

    def __init__(self, shift=None, scale=None, validate_args=False, name="affine_linear_operator"):
        parents, dtype = [], dtypes.float32
        with self._init_scope(name, values=[shift]):
            if shift is not None:
                shift = ops.convert_to_tensor(shift, name="shift")
                parents.append(shift)
                dtype = shift.dtype.base_dtype
            batch_ndims = 0
            if scale is not None:
                if shift is not None and shift.dtype.base_dtype != scale.dtype.base_dtype:
                    raise TypeError(
                        "shift.dtype({}) is incompatible with scale.dtype({}).".format(
                            shift.dtype, scale.dtype
                        )
                    )
                if not isinstance(scale, linalg.LinearOperator):
                    raise TypeError("scale is not an instance of tf.LinearOperator")
                if validate_args and not scale.is_non_singular:
                    raise ValueError("Scale matrix must be non-singular.")
                parents += scale.graph_parents
                if scale.tensor_rank is not None:
                    batch_ndims = scale.tensor_rank - 2
                else:
                    batch_ndims = scale.tensor_rank_tensor() - 2
                    parents.append(batch_ndims)
                if scale.dtype is not None:
                    dtype = scale.dtype.base_dtype
            self._shift, self._scale = shift, scale
            self._shaper = shape._DistributionShape(
                batch_ndims=batch_ndims, event_ndims=1, validate_args=validate_args
            )
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
        y = x if self.scale is None else self._of_matrices(x, self.scale.matmul, self._checks)
        return y if self.shift is None else y + self.shift

    def _inverse(self, y):
        x = y if self.shift is None else y - self.shift
        return x if self.scale is None else self._of_matrices(x, self.scale.solve)

    def _forward_log_det_jacobian(self, x):
        if self.scale is None:
            return constant_op.constant(0.0, dtype=x.dtype.base_dtype)
        with ops.control_dependencies(self._checks()):
            return self.scale.log_abs_determinant()

    def _of_matrices(self, x, function, checks=lambda: []):
        """function of matrices, in whose columns the vectors x are."""
        x, samples = self._shaper.make_batch_of_event_sample_matrices(x, expand_batch_dim=False)
        with ops.control_dependencies(checks()):
            x = function(x)
        return self._shaper.undo_make_batch_of_event_sample_matrices(x, samples, expand_batch_dim=False)

    def _checks(self):
        """Checks of the scale in the step, if arguments are validated and it has any."""
        try:
            return [self.scale.assert_non_singular()] if self.validate_args else []
        except NotImplementedError:
            return []
