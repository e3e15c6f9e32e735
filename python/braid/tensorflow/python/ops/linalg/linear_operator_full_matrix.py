"""LinearOperatorFullMatrix: a matrix as it is."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.linalg import linear_operator
from braid.tensorflow.python.ops.linalg import linear_operator_util as util
from braid.tensorflow.python.util.tf_export import tf_export

_TYPES = [dtypes.float16, dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128]


@tf_export("linalg.LinearOperatorFullMatrix")
class LinearOperatorFullMatrix(linear_operator.LinearOperator):
    """The matrices `matrix`, of shape [..., M, N]."""

    def __init__(
        self,
        matrix,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name="LinearOperatorFullMatrix",
    ):
        with ops.name_scope(name, values=[matrix]):
            self._matrix = util.convert_nonref_to_tensor(matrix, name="matrix")
            if self._matrix.dtype.base_dtype not in _TYPES:
                raise TypeError(f"Argument matrix must have dtype in {_TYPES}.  Found: {self._matrix.dtype}")
            util.check_rank(self._matrix, 2, "Argument matrix must have at least 2 dimensions.  Found: %s")
            super().__init__(
                dtype=self._matrix.dtype,
                graph_parents=[self._matrix],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )

    def _shape(self):
        return self._matrix.shape

    def _shape_tensor(self):
        return array_ops.shape(self._matrix)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return math_ops.matmul(self._matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _to_dense(self):
        return ops.convert_to_tensor(self._matrix)
