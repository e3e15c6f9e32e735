"""LinearOperatorLowerTriangular: a lower triangular matrix."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.linalg import linalg_impl as linalg
from braid.tensorflow.python.ops.linalg import linear_operator
from braid.tensorflow.python.ops.linalg import linear_operator_util as util
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("linalg.LinearOperatorLowerTriangular")
class LinearOperatorLowerTriangular(linear_operator.LinearOperator):
    """The lower triangles of matrices `tril`, of shape [..., N, N]. What is above is not looked at."""

    def __init__(
        self,
        tril,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name="LinearOperatorLowerTriangular",
    ):
        message = "Only square lower triangular operators supported at this time."
        is_square = util.implied_hint(True, is_square, message)
        with ops.name_scope(name, values=[tril]):
            self._tril = util.convert_nonref_to_tensor(tril, name="tril")
            util.check_rank(self._tril, 2, "Argument tril must have at least 2 dimensions.  Found: %s")
            super().__init__(
                dtype=self._tril.dtype,
                graph_parents=[self._tril],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )

    def _shape(self):
        return self._tril.shape

    def _shape_tensor(self):
        return array_ops.shape(self._tril)

    def _get_diag(self):
        return array_ops.matrix_diag_part(self._tril)

    def _assert_non_singular(self):
        return util.assert_no_entries_with_modulus_zero(
            self._get_diag(), message="Singular operator:  Diagonal contained zero values."
        )

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return math_ops.matmul(self._to_dense(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        rhs = linalg.adjoint(rhs) if adjoint_arg else rhs
        return util.matrix_triangular_solve_with_broadcast(self._to_dense(), rhs, lower=True, adjoint=adjoint)

    def _determinant(self):
        return math_ops.reduce_prod(self._get_diag(), axis=[-1])

    def _log_abs_determinant(self):
        return math_ops.reduce_sum(math_ops.log(math_ops.abs(self._get_diag())), axis=[-1])

    def _to_dense(self):
        return array_ops.matrix_band_part(self._tril, -1, 0)
