"""LinearOperatorBlockDiag: operators along the diagonal of a matrix."""

import operator as python_operator

from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops.linalg import linear_operator_composition
from braid.tensorflow.python.ops.linalg import linear_operator_util as util
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("linalg.LinearOperatorBlockDiag")
class LinearOperatorBlockDiag(linear_operator_composition.OperatorOfMany):
    """The matrix with square operators along its diagonal, and zeros elsewhere."""

    _KEPT = ("is_non_singular", "is_self_adjoint", "is_positive_definite")
    _WHAT, _BETWEEN_NAMES = "direct sum", "_ds_"

    def __init__(
        self,
        operators,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=True,
        name=None,
    ):
        super().__init__(
            operators,
            name,
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=True,
        )
        if not (is_square and all(operator.is_square for operator in self._operators)):
            raise ValueError("Can only represent a block diagonal of square matrices.")

    def _shape(self):
        sizes = [tensor_shape.dimension_value(o.domain_dimension) for o in self._operators]
        size = None if None in sizes else sum(sizes)
        return self._batch_shape().concatenate([size, size])

    def _shape_tensor(self):
        size = self._all("domain_dimension_tensor", python_operator.add)
        return self._whole_shape_tensor(size, size)

    def _blocks(self, method, x, adjoint, adjoint_arg):
        """What a method of the operators makes of their parts of x."""
        sizes = [tensor_shape.dimension_value(o.domain_dimension) for o in self._operators]
        if None in sizes:
            sizes = array_ops.stack([o.domain_dimension_tensor() for o in self._operators])
        parts = array_ops.split(x, sizes, axis=-1 if adjoint_arg else -2, num=len(self._operators))
        made = [
            getattr(operator, method)(part, adjoint=adjoint, adjoint_arg=adjoint_arg)
            for operator, part in zip(self._operators, parts)
        ]
        return array_ops.concat(util.broadcast_matrix_batch_dims(made), axis=-2)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._blocks("matmul", x, adjoint, adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._blocks("solve", rhs, adjoint, adjoint_arg)

    def _determinant(self):
        return self._all("determinant", python_operator.mul)

    def _log_abs_determinant(self):
        return self._all("log_abs_determinant", python_operator.add)

    def _trace(self):
        return self._all("trace", python_operator.add)

    def _diag_part(self):
        columns = [array_ops.expand_dims(operator.diag_part(), -1) for operator in self._operators]
        whole = array_ops.concat(util.broadcast_matrix_batch_dims(columns), axis=-2)
        return array_ops.squeeze(whole, axis=-1)

    def _group(self, method):
        return control_flow_ops.group([getattr(operator, method)() for operator in self._operators])

    def _assert_non_singular(self):
        return self._group("assert_non_singular")

    def _assert_self_adjoint(self):
        return self._group("assert_self_adjoint")

    def _assert_positive_definite(self):
        return self._group("assert_positive_definite")
