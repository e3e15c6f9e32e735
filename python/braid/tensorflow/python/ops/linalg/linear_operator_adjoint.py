"""Operators that are made of one other: LinearOperatorAdjoint, its conjugate transpose."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.linalg import linalg_impl as linalg
from braid.tensorflow.python.ops.linalg import linear_operator
from braid.tensorflow.python.ops.linalg import linear_operator_util as util
from braid.tensorflow.python.util.tf_export import tf_export


class OperatorOfOne(linear_operator.LinearOperator):
    """The base of such operators. Each hint holds of both, or of none."""

    _WHAT, _NAME_END = "", ""

    def __init__(
        self,
        operator,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name=None,
    ):
        self._operator = operator
        hints = {
            "is_square": is_square,
            "is_non_singular": is_non_singular,
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
        }
        for hint, given in hints.items():
            what = hint[len("is_") :].replace("_", "-")
            hints[hint] = util.use_operator_or_provided_hint_unless_contradicting(
                operator, hint, given, f"An operator is {what} if and only if its {self._WHAT} is {what}."
            )
        name = operator.name + self._NAME_END if name is None else name
        with ops.name_scope(name, values=operator.graph_parents):
            super().__init__(dtype=operator.dtype, graph_parents=operator.graph_parents, name=name, **hints)

    @property
    def operator(self):
        return self._operator

    def _assert_non_singular(self):
        return self._operator.assert_non_singular()

    def _assert_positive_definite(self):
        return self._operator.assert_positive_definite()

    def _assert_self_adjoint(self):
        return self._operator.assert_self_adjoint()


@tf_export("linalg.LinearOperatorAdjoint")
class LinearOperatorAdjoint(OperatorOfOne):
    """The conjugate transpose of `operator`."""

    _WHAT, _NAME_END = "adjoint", "_adjoint"

    def _shape(self):
        shape = self._operator.shape
        return shape[:-2].concatenate([self._operator.domain_dimension, self._operator.range_dimension])

    def _shape_tensor(self):
        shape = self._operator.shape_tensor()
        return array_ops.concat([shape[:-2], shape[-1:], shape[-2:-1]], axis=0)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _matvec(self, x, adjoint=False):
        return self._operator.matvec(x, adjoint=not adjoint)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs, adjoint=False):
        return self._operator.solvevec(rhs, adjoint=not adjoint)

    def _determinant(self):
        return math_ops.conj(self._operator.determinant())

    def _log_abs_determinant(self):
        return self._operator.log_abs_determinant()

    def _trace(self):
        return math_ops.conj(self._operator.trace())

    def _to_dense(self):
        return linalg.adjoint(self._operator.to_dense())
