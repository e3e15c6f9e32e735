"""LinearOperatorToeplitz: matrices whose diagonals are constant."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.linalg import linalg_impl as linalg
from braid.tensorflow.python.ops.linalg import linear_operator
from braid.tensorflow.python.ops.linalg import linear_operator_circulant
from braid.tensorflow.python.ops.linalg import linear_operator_util as util
from braid.tensorflow.python.ops.signal import fft_ops
from braid.tensorflow.python.util.tf_export import tf_export

_to_complex = linear_operator_circulant._to_complex


@tf_export("linalg.LinearOperatorToeplitz")
class LinearOperatorToeplitz(linear_operator.LinearOperator):
    """The matrices with the first columns `col` and the first rows `row`, both [..., N].

    col[..., 0] is the diagonal. Products are those of a circulant matrix of twice the size.
    """

    def __init__(
        self,
        col,
        row,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name="LinearOperatorToeplitz",
    ):
        with ops.name_scope(name, values=[row, col]):
            self._row = ops.convert_to_tensor(row, name="row")
            self._col = ops.convert_to_tensor(col, name="col")
            for what, tensor in (("row", self._row), ("col", self._col)):
                message = f"Argument {what} must have at least 1 dimension.  Found: %s"
                util.check_rank(tensor, 1, message)
            sizes = [tensor_shape.dimension_at_index(t.shape, -1) for t in (self._row, self._col)]
            if not sizes[0].is_compatible_with(sizes[1]):
                raise ValueError("Expected square matrix, got row and col with mismatched dimensions.")
            column = array_ops.concat(
                [
                    self._col,
                    array_ops.zeros_like(self._col[..., 0:1]),
                    array_ops.reverse(self._row[..., 1:], axis=[-1]),
                ],
                axis=-1,
            )
            self._circulant = linear_operator_circulant.LinearOperatorCirculant(
                fft_ops.fft(_to_complex(column)), input_output_dtype=self._row.dtype
            )
            super().__init__(
                dtype=self._row.dtype,
                graph_parents=[self._row, self._col],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=util.implied_hint(
                    True, is_square, "Only square Toeplitz operators currently supported."
                ),
                name=name,
            )

    @property
    def col(self):
        return self._col

    @property
    def row(self):
        return self._row

    def _shape(self):
        shape = array_ops.broadcast_static_shape(self._row.shape, self._col.shape)
        return shape.concatenate(shape[-1:])

    def _shape_tensor(self):
        shape = array_ops.broadcast_dynamic_shape(array_ops.shape(self._row), array_ops.shape(self._col))
        return array_ops.concat((shape, shape[-1:]), 0)

    def _assert_self_adjoint(self):
        return check_ops.assert_equal(
            self._row,
            self._col,
            message="row and col are not the same, and so this operator is not self-adjoint.",
        )

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = linalg.adjoint(x) if adjoint_arg else x
        twice = array_ops.concat([x, array_ops.zeros_like(x)], axis=-2)
        return self._circulant.matmul(twice, adjoint=adjoint)[..., : array_ops.shape(x)[-2], :]

    def _trace(self):
        return math_ops.cast(self.domain_dimension_tensor(), dtype=self.dtype) * self._col[..., 0]

    def _diag_part(self):
        return self._col[..., 0:1] * self._full(1, (self._diagonal_size(),))
