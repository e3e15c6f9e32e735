"""Operators that are made of a list of others: LinearOperatorComposition, their product."""

import functools
import operator as python_operator

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops.linalg import linear_operator
from braid.tensorflow.python.ops.linalg import linear_operator_util as util
from braid.tensorflow.python.util.tf_export import tf_export


class OperatorOfMany(linear_operator.LinearOperator):
    """The base of such operators. What all operands are, the whole is, of the hints in `_KEPT`."""

    _KEPT, _WHAT, _BETWEEN_NAMES = (), "", ""

    def __init__(self, operators, name, **hints):
        check_ops.assert_proper_iterable(operators)
        self._operators = operators = list(operators)
        if not operators:
            raise ValueError(f"Expected a non-empty list (>=1 operators). Found: {operators}")
        if any(operator.dtype != operators[0].dtype for operator in operators):
            found = "   ".join(str((o.name, o.dtype)) for o in operators)
            raise TypeError(f"Expected all operators to have the same dtype.  Found {found}")
        for hint in self._KEPT:
            if all(getattr(operator, hint) for operator in operators):
                what = hint[len("is_") :].replace("_", "-")
                message = f"The {self._WHAT} of {what} operators is always {what}."
                if hint == "is_positive_definite":
                    message = message.replace("-", " ")
                hints[hint] = util.implied_hint(True, hints[hint], message)
        parents = [parent for operator in operators for parent in operator.graph_parents]
        name = self._BETWEEN_NAMES.join(o.name for o in operators) if name is None else name
        with ops.name_scope(name, values=parents):
            super().__init__(dtype=operators[0].dtype, graph_parents=parents, name=name, **hints)

    @property
    def operators(self):
        return self._operators

    def _all(self, method, combine):
        return functools.reduce(combine, [getattr(operator, method)() for operator in self._operators])

    def _batch_shape(self):
        return functools.reduce(array_ops.broadcast_static_shape, [o.batch_shape for o in self._operators])

    def _whole_shape_tensor(self, rows, columns):
        batch = self._all("batch_shape_tensor", array_ops.broadcast_dynamic_shape)
        return array_ops.concat((batch, array_ops.stack([rows, columns])), 0)


@tf_export("linalg.LinearOperatorComposition")
class LinearOperatorComposition(OperatorOfMany):
    """The product of the operators: of [A, B] it is A B."""

    _KEPT, _WHAT, _BETWEEN_NAMES = ("is_non_singular",), "composition", "_o_"

    def __init__(
        self,
        operators,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name=None,
    ):
        super().__init__(
            operators,
            name,
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=is_square,
        )

    def _shape(self):
        for left, right in zip(self._operators, self._operators[1:]):
            left.domain_dimension.assert_is_compatible_with(right.range_dimension)
        ends = [self._operators[0].range_dimension, self._operators[-1].domain_dimension]
        return self._batch_shape().concatenate(ends)

    def _shape_tensor(self):
        first, last = self._operators[0], self._operators[-1]
        return self._whole_shape_tensor(first.range_dimension_tensor(), last.domain_dimension_tensor())

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        for operator in self._operators if adjoint else reversed(self._operators):
            x, adjoint_arg = operator.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg), False
        return x

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        for operator in reversed(self._operators) if adjoint else self._operators:
            rhs, adjoint_arg = operator.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg), False
        return rhs

    def _determinant(self):
        return self._all("determinant", python_operator.mul)

    def _log_abs_determinant(self):
        return self._all("log_abs_determinant", python_operator.add)
