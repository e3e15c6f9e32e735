"""LinearOperatorZeros: a matrix of zeros."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops.linalg import linear_operator_identity
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("linalg.LinearOperatorZeros")
class LinearOperatorZeros(linear_operator_identity.SizedOperator):
    """Zeros of shape batch_shape + [num_rows, num_columns]."""

    def __init__(
        self,
        num_rows,
        num_columns=None,
        batch_shape=None,
        dtype=None,
        is_non_singular=False,
        is_self_adjoint=True,
        is_positive_definite=False,
        is_square=True,
        assert_proper_shapes=False,
        name="LinearOperatorZeros",
    ):
        self._assert_proper_shapes = assert_proper_shapes
        with ops.name_scope(name):
            if not is_self_adjoint and is_square:
                raise ValueError("A zero operator is always self adjoint.")
            if is_non_singular:
                raise ValueError("A zero operator is always singular.")
            if is_positive_definite:
                raise ValueError("A zero operator is always not positive-definite.")
            super().__init__(
                dtype=dtypes.as_dtype(dtype or dtypes.float32),
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )
            self._set_sizes(num_rows, num_rows if num_columns is None else num_columns, batch_shape)
            known = self._known_rows, self._known_columns
            if is_square and None not in known and known[0] != known[1]:
                raise ValueError(
                    f"LinearOperatorZeros initialized as is_square=True, but got num_rows({known[0]}) != "
                    f"num_columns({known[1]})"
                )

    def _never(self, what):
        return errors.InvalidArgumentError(None, None, f"Zero operators are always {what}.")

    def _assert_non_singular(self):
        raise self._never("non-invertible")

    def _assert_positive_definite(self):
        raise self._never("non-positive definite")

    def _assert_self_adjoint(self):
        return control_flow_ops.no_op("assert_self_adjoint")

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        shape = array_ops.shape(self._checked(x, adjoint_arg))
        rows = self._num_columns if adjoint else self._num_rows
        shape = array_ops.concat([shape[:-2], [rows], shape[-1:]], axis=0)
        return self._in_batch(array_ops.zeros(shape, dtype=x.dtype))

    def _determinant(self):
        return self._full(0)

    _trace = _determinant

    def _diag_part(self):
        return self._full(0, (self._diagonal_size(),))

    def _add_to_tensor(self, x):
        return self._in_batch(x)
