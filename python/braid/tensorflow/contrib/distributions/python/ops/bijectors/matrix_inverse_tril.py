"""The inverses of triangular matrices."""

from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import linalg_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import bijector


__all__ = ["MatrixInverseTriL"]


class MatrixInverseTriL(bijector.Bijector):
    """The inverse of a lower triangular matrix.

    The determinant of the Jacobian is TensorFlow 1.15's, which is that of all elements of the matrix, not of
    those of the triangle.
    """

    def __init__(self, validate_args=False, name="matrix_inverse_tril"):
        super().__init__(forward_min_event_ndims=2, validate_args=validate_args, name=name)

    def _checked(self, x):
        if not self.validate_args:
            return x
        is_matrix = check_ops.assert_rank_at_least(x, 2, message="Input must have rank at least 2.")
        shape = array_ops.shape(x)
        is_square = check_ops.assert_equal(shape[-1], shape[-2], message="Input must be a square matrix.")
        above = array_ops.matrix_band_part(x, 0, -1) - array_ops.matrix_band_part(x, 0, 0)
        message = "Input must be lower triangular."
        is_lower = check_ops.assert_equal(above, array_ops.zeros_like(x), message=message)
        message = "Input must have all diagonal entries nonzero."
        diagonal = array_ops.matrix_diag_part(x)
        is_regular = check_ops.assert_none_equal(diagonal, array_ops.zeros([], x.dtype), message=message)
        return control_flow_ops.with_dependencies([is_matrix, is_square, is_lower, is_regular], x)

    def _forward(self, x):
        x = self._checked(x)
        size = array_ops.shape(x)[-1]
        identity = linalg_ops.eye(size, batch_shape=array_ops.shape(x)[:-2], dtype=x.dtype)
        made = linalg_ops.matrix_triangular_solve(x, identity)
        made.set_shape(x.get_shape())
        return made

    def _inverse(self, y):
        return self._forward(y)

    def _forward_log_det_jacobian(self, x):
        x = self._checked(x)
        size = math_ops.cast(array_ops.shape(x)[-1], x.dtype.base_dtype)
        diagonal = array_ops.matrix_diag_part(x)
        return -2 * size * math_ops.reduce_sum(math_ops.log(math_ops.abs(diagonal)), -1)

    def _inverse_log_det_jacobian(self, y):
        return self._forward_log_det_jacobian(y)
