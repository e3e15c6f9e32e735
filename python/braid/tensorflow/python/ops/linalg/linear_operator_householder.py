"""LinearOperatorHouseholder: reflections."""

from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.linalg import linalg_impl as linalg
from braid.tensorflow.python.ops.linalg import linear_operator
from braid.tensorflow.python.ops.linalg import linear_operator_util as util
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("linalg.LinearOperatorHouseholder")
class LinearOperatorHouseholder(linear_operator.LinearOperator):
    """The reflections I - 2 v v^H, where v is `reflection_axis`, of shape [..., N], at length 1."""

    def __init__(
        self,
        reflection_axis,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name="LinearOperatorHouseholder",
    ):
        with ops.name_scope(name, values=[reflection_axis]):
            axis = self._reflection_axis = util.convert_nonref_to_tensor(
                reflection_axis, name="reflection_axis"
            )
            util.check_rank(axis, 1, "Argument reflection_axis must have at least 1 dimension.  Found: %s")
            always = "A Householder operator is always "
            super().__init__(
                dtype=axis.dtype,
                graph_parents=[axis],
                is_non_singular=is_non_singular,
                is_self_adjoint=util.implied_hint(True, is_self_adjoint, always + "self adjoint."),
                is_positive_definite=util.implied_hint(
                    False, is_positive_definite, always + "non-positive definite."
                ),
                is_square=util.implied_hint(True, is_square, always + "square."),
                name=name,
            )

    @property
    def reflection_axis(self):
        return self._reflection_axis

    def _shape(self):
        shape = self._reflection_axis.shape
        return shape.concatenate(shape[-1:])

    def _shape_tensor(self):
        shape = array_ops.shape(self._reflection_axis)
        return array_ops.concat([shape, shape[-1:]], 0)

    def _assert_non_singular(self):
        return control_flow_ops.no_op("assert_non_singular")

    def _assert_positive_definite(self):
        raise errors.InvalidArgumentError(
            None, None, "Householder operators are always non-positive definite."
        )

    def _assert_self_adjoint(self):
        return control_flow_ops.no_op("assert_self_adjoint")

    def _unit(self):
        axis = ops.convert_to_tensor(self._reflection_axis)
        return axis / linalg.norm(axis, axis=-1, keepdims=True)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = linalg.adjoint(x) if adjoint_arg else x
        v = array_ops.expand_dims(self._unit(), -1)
        return x - 2 * v * math_ops.matmul(v, x, adjoint_a=True)

    _solve = _matmul  # a reflection is its own inverse

    def _trace(self):
        return math_ops.cast(self.domain_dimension_tensor() - 2, self.dtype) * self._full(1)

    def _determinant(self):
        return self._full(-1)

    def _log_abs_determinant(self):
        return self._full(0)

    def _to_dense(self):
        v = array_ops.expand_dims(self._unit(), -1)
        product = -2 * math_ops.matmul(v, v, adjoint_b=True)
        return array_ops.matrix_set_diag(product, 1.0 + array_ops.matrix_diag_part(product))

    def _diag_part(self):
        unit = self._unit()
        return 1.0 - 2 * unit * math_ops.conj(unit)
