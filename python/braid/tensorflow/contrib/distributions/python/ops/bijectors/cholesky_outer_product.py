"""Matrices from their Cholesky factors."""

import numpy as np

from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import linalg_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import bijector


__all__ = ["CholeskyOuterProduct"]


class CholeskyOuterProduct(bijector.Bijector):
    """Y = X @ X^T, for lower triangular X with a positive diagonal."""

    def __init__(self, validate_args=False, name="cholesky_outer_product"):
        super().__init__(forward_min_event_ndims=2, validate_args=validate_args, name=name)

    def _checked(self, x):
        if not self.validate_args:
            return x
        is_matrix = check_ops.assert_rank_at_least(x, 2, message="Input must be a (batch of) matrix.")
        shape = array_ops.shape(x)
        square = "Input must be a (batch of) square matrix."
        is_square = check_ops.assert_equal(shape[-2], shape[-1], message=square)
        return control_flow_ops.with_dependencies([is_matrix, is_square], x)

    def _forward(self, x):
        x = array_ops.matrix_band_part(self._checked(x), -1, 0)
        return math_ops.matmul(x, x, adjoint_b=True)

    def _inverse(self, y):
        return linalg_ops.cholesky(y)

    def _forward_log_det_jacobian(self, x):
        diagonal = array_ops.matrix_diag_part(self._checked(x))
        if self.validate_args:
            check = check_ops.assert_positive(diagonal, message="Input must be positive definite.")
            diagonal = control_flow_ops.with_dependencies([check], diagonal)
        # 2^n times the product of x_ii^(n - i), with i from 0.
        size = array_ops.shape(diagonal)[-1]
        exponents = math_ops.cast(math_ops.range(size, 0, -1), x.dtype)
        weighted = math_ops.reduce_sum(exponents * math_ops.log(diagonal), -1)
        return math_ops.cast(size, x.dtype) * np.log(2.0).astype(x.dtype.as_numpy_dtype) + weighted
