"""LinearOperatorKronecker: products of Kronecker."""

import functools
import operator as python_operator

from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.linalg import linalg_impl as linalg
from braid.tensorflow.python.ops.linalg import linear_operator_composition
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("linalg.LinearOperatorKronecker")
class LinearOperatorKronecker(linear_operator_composition.OperatorOfMany):
    """The product of Kronecker of the operators."""

    _KEPT = ("is_non_singular", "is_self_adjoint", "is_positive_definite")
    _WHAT, _BETWEEN_NAMES = "Kronecker product", "_x_"

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
        return self._batch_shape().concatenate([self._size("range"), self._size("domain")])

    def _size(self, which):
        sizes = [tensor_shape.dimension_value(getattr(o, f"{which}_dimension")) for o in self._operators]
        return None if None in sizes else functools.reduce(python_operator.mul, sizes)

    def _shape_tensor(self):
        return self._whole_shape_tensor(
            self._all("range_dimension_tensor", python_operator.mul),
            self._all("domain_dimension_tensor", python_operator.mul),
        )

    def _each(self, method, x, adjoint, adjoint_arg):
        """Applies a method of each operator along its axis of x, [..., N1 * N2 * ..., M].

        The axes take turns: the first is the rows for its operator, and goes to the end.
        """
        x = linalg.adjoint(x) if adjoint_arg else x
        x += self._full(0, (1, 1))
        columns = array_ops.shape(x)[-1]
        domain = (method == "matmul") != adjoint
        sizes = [
            o.domain_dimension_tensor() if domain else o.range_dimension_tensor() for o in self._operators
        ]
        known = x.shape
        x = self._with_rows(x, sizes[0])
        for operator, following in zip(self._operators, sizes[1:] + [columns]):
            x = array_ops.matrix_transpose(getattr(operator, method)(x, adjoint=adjoint))
            x = self._with_rows(x, following)
        x = array_ops.matrix_transpose(x)
        rows = self._size("range" if domain == (method == "matmul") and not adjoint else "domain")
        if known.ndims is not None:
            x.set_shape(known[:-2].concatenate([rows, known[-1]]))
        return x

    def _with_rows(self, x, rows):
        batch = array_ops.shape(x)[:-2]
        return array_ops.reshape(x, array_ops.concat([batch, [rows, -1]], 0))

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._each("matmul", x, adjoint, adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._each("solve", rhs, adjoint, adjoint_arg)

    def _powers(self):
        """How often each operator is in the product."""
        total = self.domain_dimension_tensor()
        return [math_ops.cast(total / o.domain_dimension_tensor(), self.dtype) for o in self._operators]

    def _determinant(self):
        parts = [o.determinant() ** power for o, power in zip(self._operators, self._powers())]
        return functools.reduce(python_operator.mul, parts)

    def _log_abs_determinant(self):
        parts = [o.log_abs_determinant() * power for o, power in zip(self._operators, self._powers())]
        return functools.reduce(python_operator.add, parts)

    def _trace(self):
        return self._all("trace", python_operator.mul)

    def _diag_part(self):
        whole = self._operators[0].diag_part()
        for operator in self._operators[1:]:
            product = array_ops.expand_dims(whole, -1) * array_ops.expand_dims(operator.diag_part(), -2)
            whole = array_ops.reshape(product, array_ops.concat([array_ops.shape(product)[:-2], [-1]], 0))
        sizes = self._size("range"), self._size("domain")
        whole.set_shape(self.batch_shape.concatenate([None if None in sizes else min(sizes)]))
        return whole

    def _group(self, method, what):
        if not all(operator.is_square for operator in self._operators):
            raise errors.InvalidArgumentError(
                None, None, f"All Kronecker factors must be square for the product to be {what}."
            )
        return control_flow_ops.group([getattr(operator, method)() for operator in self._operators])

    def _assert_non_singular(self):
        return self._group("assert_non_singular", "invertible")

    def _assert_self_adjoint(self):
        return self._group("assert_self_adjoint", "self adjoint")
