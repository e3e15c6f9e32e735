"""LinearOperatorLowRankUpdate: an operator and a product of thin matrices."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import linalg_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.linalg import linear_operator
from braid.tensorflow.python.ops.linalg import linear_operator_diag
from braid.tensorflow.python.ops.linalg import linear_operator_identity
from braid.tensorflow.python.ops.linalg import linear_operator_util as util
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("linalg.LinearOperatorLowRankUpdate")
class LinearOperatorLowRankUpdate(linear_operator.LinearOperator):
    """L + U D V^H, with the operator L, [..., M, N], `u` [..., M, K], `v` [..., N, K], `diag_update`
    [..., K].

    Systems are solved by L's solve and a matrix of K rows (the formula of Woodbury), determinants by the
    lemma of the same matrix. v: u if None. diag_update: ones if None.
    """

    def __init__(
        self,
        base_operator,
        u,
        diag_update=None,
        v=None,
        is_diag_update_positive=None,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name="LinearOperatorLowRankUpdate",
    ):
        implied = util.implied_hint
        dtype = base_operator.dtype
        if diag_update is None:
            is_diag_update_positive = implied(
                True,
                is_diag_update_positive,
                "Default diagonal is the identity, which is positive.  However, user set "
                "'is_diag_update_positive' to False.",
            )
        symmetric = base_operator.is_self_adjoint and v is None
        self._use_cholesky = bool(
            symmetric and base_operator.is_positive_definite and is_diag_update_positive
        )
        if symmetric and not dtype.is_complex:
            is_self_adjoint = implied(
                True,
                is_self_adjoint,
                "A = L + UDU^H, with L self-adjoint and D real diagonal.  Since UDU^H is self-adjoint, this "
                "must be a self-adjoint operator.",
            )
        if self._use_cholesky:
            message = "Arguments imply this is self-adjoint positive-definite operator."
            is_self_adjoint = implied(True, is_self_adjoint, message)
            is_positive_definite = implied(True, is_positive_definite, message)
            is_non_singular = implied(True, is_non_singular, message)
        parents = list(base_operator.graph_parents)
        with ops.name_scope(name, values=parents + [u, diag_update, v]):
            self._u = util.convert_nonref_to_tensor(u, name="u")
            self._v = self._u if v is None else util.convert_nonref_to_tensor(v, name="v")
            self._diag_update = util.convert_nonref_to_tensor(diag_update, name="diag_update")
            self._base_operator = base_operator
            self._is_diag_update_positive = is_diag_update_positive
            super().__init__(
                dtype=dtype,
                graph_parents=parents + [p for p in (self._u, self._diag_update, self._v) if p is not None],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )
            if diag_update is None:
                rank = tensor_shape.dimension_value(self._u.shape[-1])
                self._diag_operator = linear_operator_identity.LinearOperatorIdentity(
                    array_ops.shape(self._u)[-1] if rank is None else rank, dtype=dtype
                )
            else:
                self._diag_operator = linear_operator_diag.LinearOperatorDiag(
                    self._diag_update, is_positive_definite=is_diag_update_positive
                )
            self._check_shapes()

    def _check_shapes(self):
        thin = array_ops.broadcast_static_shape(self._u.shape, self._v.shape)
        batch = array_ops.broadcast_static_shape(self._base_operator.batch_shape, thin[:-2])
        dimension = tensor_shape.dimension_at_index
        self._base_operator.domain_dimension.assert_is_compatible_with(dimension(thin, -2))
        if self._diag_update is not None:
            shape = self._diag_update.shape
            dimension(thin, -1).assert_is_compatible_with(dimension(shape, -1))
            array_ops.broadcast_static_shape(batch, shape[:-1])

    @property
    def u(self):
        return self._u

    @property
    def v(self):
        return self._v

    @property
    def is_diag_update_positive(self):
        return self._is_diag_update_positive

    @property
    def diag_update(self):
        return self._diag_update

    @property
    def diag_operator(self):
        return self._diag_operator

    @property
    def base_operator(self):
        return self._base_operator

    def _shape(self):
        base = self._base_operator
        batch = array_ops.broadcast_static_shape(base.batch_shape, self._u.shape[:-2])
        return batch.concatenate(base.shape[-2:])

    def _shape_tensor(self):
        base = self._base_operator
        batch = array_ops.broadcast_dynamic_shape(base.batch_shape_tensor(), array_ops.shape(self._u)[:-2])
        return array_ops.concat([batch, base.shape_tensor()[-2:]], axis=0)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        of_base = self._base_operator.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        thin = math_ops.matmul(right, x, adjoint_a=True, adjoint_b=adjoint_arg)
        return of_base + math_ops.matmul(left, self._diag_operator.matmul(thin, adjoint=adjoint))

    def _capacitance(self):
        """D^-1 + V^H L^-1 U, [..., K, K]."""
        product = math_ops.matmul(self._v, self._base_operator.solve(self._u), adjoint_a=True)
        return self._diag_operator.inverse().add_to_tensor(product)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        base = self._base_operator
        if base.is_non_singular is False:
            raise ValueError(
                "Solve not implemented unless this is a perturbation of a non-singular LinearOperator."
            )
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        first = base.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        thin = math_ops.matmul(right, first, adjoint_a=True)
        if self._use_cholesky:
            thin = util.cholesky_solve_with_broadcast(linalg_ops.cholesky(self._capacitance()), thin)
        else:
            thin = util.matrix_solve_with_broadcast(self._capacitance(), thin, adjoint=adjoint)
        return first - base.solve(math_ops.matmul(left, thin), adjoint=adjoint)

    def _determinant(self):
        if self.is_positive_definite:
            return math_ops.exp(self.log_abs_determinant())
        return (
            linalg_ops.matrix_determinant(self._capacitance())
            * self._diag_operator.determinant()
            * self._base_operator.determinant()
        )

    def _log_abs_determinant(self):
        if self._use_cholesky:
            diagonal = array_ops.matrix_diag_part(linalg_ops.cholesky(self._capacitance()))
            own = 2 * math_ops.reduce_sum(math_ops.log(diagonal), axis=[-1])
        else:
            determinant = linalg_ops.matrix_determinant(self._capacitance())
            own = math_ops.cast(math_ops.log(math_ops.abs(determinant)), self.dtype)
        return own + self._diag_operator.log_abs_determinant() + self._base_operator.log_abs_determinant()
