"""Matrices whose diagonal changes."""

from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops.distributions import bijector


__all__ = ["TransformDiagonal"]


class TransformDiagonal(bijector.Bijector):
    """Applies a bijector of vectors or numbers to the diagonals of matrices."""

    def __init__(self, diag_bijector, validate_args=False, name="transform_diagonal"):
        self._diag_bijector = diag_bijector
        super().__init__(forward_min_event_ndims=2, validate_args=validate_args, name=name)

    def _forward(self, x):
        return array_ops.matrix_set_diag(x, self._diag_bijector.forward(array_ops.matrix_diag_part(x)))

    def _inverse(self, y):
        return array_ops.matrix_set_diag(y, self._diag_bijector.inverse(array_ops.matrix_diag_part(y)))

    def _forward_log_det_jacobian(self, x):
        return self._diag_bijector.forward_log_det_jacobian(array_ops.matrix_diag_part(x), event_ndims=1)

    def _inverse_log_det_jacobian(self, y):
        return self._diag_bijector.inverse_log_det_jacobian(array_ops.matrix_diag_part(y), event_ndims=1)
