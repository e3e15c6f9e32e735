"""LinearOperatorDiag: a diagonal matrix."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.linalg import linalg_impl as linalg
from braid.tensorflow.python.ops.linalg import linear_operator
from braid.tensorflow.python.ops.linalg import linear_operator_util as util
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("linalg.LinearOperatorDiag")
class LinearOperatorDiag(linear_operator.LinearOperator):
    """The matrices with the diagonals `diag`, of shape [..., N]."""

    def __init__(
        self,
        diag,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name="LinearOperatorDiag",
    ):
        with ops.name_scope(name, values=[diag]):
            self._diag = util.convert_nonref_to_tensor(diag, name="diag")
            util.check_rank(self._diag, 1, "Argument diag must have at least 1 dimension.  Found: %s")
            if not self._diag.dtype.is_complex:
                message = "A real diagonal operator is always self adjoint."
                is_self_adjoint = util.implied_hint(True, is_self_adjoint, message)
            super().__init__(
                dtype=self._diag.dtype,
                graph_parents=[self._diag],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=util.implied_hint(
                    True, is_square, "Only square diagonal operators currently supported."
                ),
                name=name,
            )

    @property
    def diag(self):
        return self._diag

    def _shape(self):
        return self._diag.shape.concatenate(self._diag.shape[-1:])

    def _shape_tensor(self):
        shape = array_ops.shape(self._diag)
        return array_ops.concat([shape, shape[-1:]], 0)

    def _assert_non_singular(self):
        return util.assert_no_entries_with_modulus_zero(
            self._diag, message="Singular operator:  Diagonal contained zero values."
        )

    def _assert_positive_definite(self):
        return check_ops.assert_positive(
            math_ops.real(self._diag),
            message="Diagonal operator had diagonal entries with non-positive real part, "
            "thus was not positive definite.",
        )

    def _assert_self_adjoint(self):
        return util.assert_zero_imag_part(
            self._diag,
            message="This diagonal operator contained non-zero imaginary values.  "
            "Thus it was not self-adjoint.",
        )

    def _factor(self, adjoint):
        return math_ops.conj(self._diag) if adjoint else self._diag

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        factor = self._factor(adjoint)
        x = linalg.adjoint(x) if adjoint_arg else x
        return array_ops.expand_dims(factor, -1) * x

    def _matvec(self, x, adjoint=False):
        return self._factor(adjoint) * x

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        factor = self._factor(adjoint)
        rhs = linalg.adjoint(rhs) if adjoint_arg else rhs
        return rhs * array_ops.expand_dims(1.0 / factor, -1)

    def _determinant(self):
        return math_ops.reduce_prod(self._diag, axis=[-1])

    def _log_abs_determinant(self):
        made = math_ops.reduce_sum(math_ops.log(math_ops.abs(self._diag)), axis=[-1])
        return math_ops.cast(made, dtype=self.dtype) if self.dtype.is_complex else made

    def _to_dense(self):
        return array_ops.matrix_diag(self._diag)

    def _diag_part(self):
        return self.diag

    def _add_to_tensor(self, x):
        diagonal = array_ops.matrix_diag_part(x)
        return array_ops.matrix_set_diag(x, self._diag + diagonal)
