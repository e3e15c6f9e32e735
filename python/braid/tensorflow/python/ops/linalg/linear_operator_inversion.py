"""LinearOperatorInversion: the inverse of an operator."""

from braid.tensorflow.python.ops.linalg import linear_operator_adjoint
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("linalg.LinearOperatorInversion")
class LinearOperatorInversion(linear_operator_adjoint.OperatorOfOne):
    """The inverse of `operator`: its products are the operator's solutions."""

    _WHAT, _NAME_END = "inverse", "_inv"

    def __init__(
        self,
        operator,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name=None,
    ):
        for hint, given in (("is_non_singular", is_non_singular), ("is_square", is_square)):
            own = getattr(operator, hint)
            if own is False or given is False:
                raise ValueError(
                    f"operator and supplied hints must have `{hint}` equal to `True` or `None`.  "
                    f"Found {own}, {given}"
                )
        super().__init__(operator, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)

    def _shape(self):
        return self._operator.shape

    def _shape_tensor(self):
        return self._operator.shape_tensor()

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self):
        return 1.0 / self._operator.determinant()

    def _log_abs_determinant(self):
        return -self._operator.log_abs_determinant()
