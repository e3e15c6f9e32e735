"""Linear operators of a given size: the identity, and its multiples."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.linalg import linalg_impl as linalg
from braid.tensorflow.python.ops.linalg import linear_operator
from braid.tensorflow.python.ops.linalg import linear_operator_util as util
from braid.tensorflow.python.util.tf_export import tf_export


class SizedOperator(linear_operator.LinearOperator):
    """The base of operators that have their numbers of rows and columns, and their batch's shape, as
    arguments.
    """

    def _set_sizes(self, num_rows, num_columns=None, batch_shape=None):
        """Takes the sizes over, and checks them. num_columns: None for num_rows."""
        proper = self._assert_proper_shapes
        self._num_rows, self._known_rows = util.checked_size(num_rows, "num_rows", 0, proper)
        self._num_columns, self._known_columns = self._num_rows, self._known_rows
        if num_columns is not None:
            self._num_columns, self._known_columns = util.checked_size(num_columns, "num_columns", 0, proper)
        self._batch_shape_arg = self._known_batch = None
        if batch_shape is not None:
            self._batch_shape_arg, self._known_batch = util.checked_size(
                batch_shape, "batch_shape", 1, proper
            )

    def add_to_tensor(self, mat, name="add_to_tensor"):
        """The sum of the matrix and a tensor."""
        return super().add_to_tensor(mat, name)

    def _shape(self):
        matrix = tensor_shape.TensorShape((self._known_rows, self._known_columns))
        if self._batch_shape_arg is None:
            return matrix
        return tensor_shape.TensorShape(self._known_batch).concatenate(matrix)

    def _shape_tensor(self):
        matrix = array_ops.stack((self._num_rows, self._num_columns), axis=0)
        return (
            matrix if self._batch_shape_arg is None else array_ops.concat((self._batch_shape_arg, matrix), 0)
        )

    def _checked(self, x, adjoint_arg=False):
        """An argument of a product, with an assertion if the sizes are not trusted."""
        x = linalg.adjoint(x) if adjoint_arg else x
        if not self._assert_proper_shapes:
            return x
        return control_flow_ops.with_dependencies([util.assert_compatible_matrix_dimensions(self, x)], x)

    def _known_diagonal_size(self):
        if None in (self._known_rows, self._known_columns):
            return None
        return int(min(self._known_rows, self._known_columns))

    def _ones_diag(self):
        """Ones in the shape of the diagonal."""
        if self.shape.is_fully_defined():
            shape = self.batch_shape.concatenate([self._known_diagonal_size()])
        else:
            size = math_ops.reduce_min(self.shape_tensor()[-2:])
            shape = array_ops.concat([self.batch_shape_tensor(), [size]], axis=0)
        return array_ops.ones(shape=shape, dtype=self.dtype)

    def _trace_of_ones(self, factor=None):
        """The size of the diagonal in the shape of the batch; times a factor, if there is one."""
        known = self.batch_shape.is_fully_defined()
        ones = array_ops.ones(self.batch_shape if known else self.batch_shape_tensor(), dtype=self.dtype)
        size = self._known_diagonal_size()
        if size is None:
            size = math_ops.cast(math_ops.reduce_min(self.shape_tensor()[-2:]), self.dtype)
        return (size if factor is None else factor * size) * ones

    def _in_batch(self, x):
        """x, broadcast to the batch's shape."""
        return x if self._batch_shape_arg is None else x + self._full(0, (1, 1))


BaseLinearOperatorIdentity = SizedOperator


@tf_export("linalg.LinearOperatorIdentity")
class LinearOperatorIdentity(SizedOperator):
    """The identity of `num_rows` rows, in a batch of shape `batch_shape`."""

    def __init__(
        self,
        num_rows,
        batch_shape=None,
        dtype=None,
        is_non_singular=True,
        is_self_adjoint=True,
        is_positive_definite=True,
        is_square=True,
        assert_proper_shapes=False,
        name="LinearOperatorIdentity",
    ):
        self._assert_proper_shapes = assert_proper_shapes
        with ops.name_scope(name):
            for hint, what in (
                (is_self_adjoint, "self adjoint"),
                (is_non_singular, "non-singular"),
                (is_positive_definite, "positive-definite"),
                (is_square, "square"),
            ):
                if not hint:
                    raise ValueError(f"An identity operator is always {what}.")
            super().__init__(
                dtype=dtypes.as_dtype(dtype or dtypes.float32),
                is_non_singular=True,
                is_self_adjoint=True,
                is_positive_definite=True,
                is_square=True,
                name=name,
            )
            self._set_sizes(num_rows, batch_shape=batch_shape)

    def _assert_non_singular(self):
        return control_flow_ops.no_op("assert_non_singular")

    def _assert_positive_definite(self):
        return control_flow_ops.no_op("assert_positive_definite")

    def _assert_self_adjoint(self):
        return control_flow_ops.no_op("assert_self_adjoint")

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._in_batch(self._checked(x, adjoint_arg))

    _solve = _matmul

    def _determinant(self):
        return array_ops.ones(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _log_abs_determinant(self):
        return array_ops.zeros(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _trace(self):
        return self._trace_of_ones()

    def _diag_part(self):
        return self._ones_diag()

    def _add_to_tensor(self, x):
        return array_ops.matrix_set_diag(x, 1 + array_ops.matrix_diag_part(x))


@tf_export("linalg.LinearOperatorScaledIdentity")
class LinearOperatorScaledIdentity(SizedOperator):
    """The identity of `num_rows` rows, times `multiplier`, of the batch's shape."""

    def __init__(
        self,
        num_rows,
        multiplier,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=True,
        assert_proper_shapes=False,
        name="LinearOperatorScaledIdentity",
    ):
        self._assert_proper_shapes = assert_proper_shapes
        with ops.name_scope(name, values=[multiplier, num_rows]):
            self._multiplier = util.convert_nonref_to_tensor(multiplier, name="multiplier")
            if not self._multiplier.dtype.is_complex:
                message = "A real diagonal operator is always self adjoint."
                is_self_adjoint = util.implied_hint(True, is_self_adjoint, message)
            if not is_square:
                raise ValueError("A ScaledIdentity operator is always square.")
            super().__init__(
                dtype=self._multiplier.dtype.base_dtype,
                graph_parents=[self._multiplier],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=True,
                name=name,
            )
            self._set_sizes(num_rows)
            self._num_rows_cast_to_dtype = math_ops.cast(self._num_rows, self.dtype)
            self._num_rows_cast_to_real_dtype = math_ops.cast(self._num_rows, self.dtype.real_dtype)

    @property
    def multiplier(self):
        return self._multiplier

    def _shape(self):
        return self._multiplier.shape.concatenate([self._known_rows, self._known_rows])

    def _shape_tensor(self):
        matrix = array_ops.stack((self._num_rows, self._num_rows), axis=0)
        return array_ops.concat((array_ops.shape(self._multiplier), matrix), 0)

    def _assert_non_singular(self):
        return check_ops.assert_positive(
            math_ops.abs(self._multiplier), message="LinearOperator was singular"
        )

    def _assert_positive_definite(self):
        return check_ops.assert_positive(
            math_ops.real(self._multiplier), message="LinearOperator was not positive definite."
        )

    def _assert_self_adjoint(self):
        return util.assert_zero_imag_part(self._multiplier, message="LinearOperator was not self-adjoint")

    def _factor(self, adjoint):
        factor = array_ops.expand_dims(array_ops.expand_dims(self._multiplier, -1), -1)
        return math_ops.conj(factor) if adjoint else factor

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._checked(x, adjoint_arg) * self._factor(adjoint)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._checked(rhs, adjoint_arg) / self._factor(adjoint)

    def _determinant(self):
        return self._multiplier**self._num_rows_cast_to_dtype

    def _log_abs_determinant(self):
        return self._num_rows_cast_to_real_dtype * math_ops.log(math_ops.abs(self._multiplier))

    def _trace(self):
        return self._trace_of_ones(self._multiplier)

    def _diag_part(self):
        return self._ones_diag() * self._multiplier[..., array_ops.newaxis]

    def _add_to_tensor(self, x):
        diagonal = array_ops.expand_dims(self._multiplier, -1) + array_ops.matrix_diag_part(x)
        return array_ops.matrix_set_diag(x, diagonal)
