"""Weights of values, as losses and metrics take them: a scalar, or of the values' rank with sizes of 1 or theirs."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import sets

_ERROR = "weights can not be broadcast to values."


def _has_valid_dims(weights_shape, values_shape):
    """Whether each size of weights is 1 or that of the values."""
    with ops.name_scope(None, "has_invalid_dims", (weights_shape, values_shape)) as scope:
        sizes = array_ops.expand_dims(values_shape, -1)
        valid = array_ops.concat((sizes, array_ops.ones_like(sizes)), axis=1)
        invalid = sets.set_difference(array_ops.expand_dims(weights_shape, -1), valid)
        count = array_ops.size(invalid.values, name="num_invalid_dims")
        return math_ops.equal(0, count, name=scope)


def _has_valid_nonscalar_shape(weights_rank, weights_shape, values_rank, values_shape):
    with ops.name_scope(None, "has_valid_nonscalar_shape", (weights_rank, values_rank)) as scope:
        is_same_rank = math_ops.equal(values_rank, weights_rank, name="is_same_rank")
        return control_flow_ops.cond(
            is_same_rank,
            lambda: _has_valid_dims(weights_shape, values_shape),
            lambda: is_same_rank,
            name=scope,
        )


def assert_broadcastable(weights, values):
    """An operation that fails if the weights do not fit the values. ValueError: it is known already."""
    with ops.name_scope(None, "assert_broadcastable", (weights, values)) as scope:
        with ops.name_scope(None, "weights", (weights,)) as weights_scope:
            weights = ops.convert_to_tensor(weights, name=weights_scope)
            weights_shape = array_ops.shape(weights, name="shape")
            weights_rank = array_ops.rank(weights, name="rank")
        with ops.name_scope(None, "values", (values,)) as values_scope:
            values = ops.convert_to_tensor(values, name=values_scope)
            values_shape = array_ops.shape(values, name="shape")
            values_rank = array_ops.rank(values, name="rank")
        ranks = weights.get_shape().ndims, values.get_shape().ndims
        if None not in ranks:
            if ranks[0] == 0:
                return control_flow_ops.no_op(name="static_scalar_check_success")
            if ranks[0] != ranks[1]:
                raise ValueError(
                    f"{_ERROR} values.rank={ranks[1]}. weights.rank={ranks[0]}. "
                    f"values.shape={values.shape}. weights.shape={weights.shape}."
                )
            static = tensor_util.constant_value(weights_shape), tensor_util.constant_value(values_shape)
            if static[0] is not None and static[1] is not None:
                if any(w not in (1, v) for w, v in zip(*static)):
                    raise ValueError(f"{_ERROR} values.shape={static[1]}. weights.shape={static[0]}.")
                return control_flow_ops.no_op(name="static_dims_check_success")
        is_scalar = math_ops.equal(0, weights_rank, name="is_scalar")
        data = (
            _ERROR,
            "weights.shape=",
            weights.name,
            weights_shape,
            "values.shape=",
            values.name,
            values_shape,
            "is_scalar=",
            is_scalar,
        )
        is_valid = control_flow_ops.cond(
            is_scalar,
            lambda: is_scalar,
            lambda: _has_valid_nonscalar_shape(weights_rank, weights_shape, values_rank, values_shape),
            name="is_valid_shape",
        )
        return control_flow_ops.Assert(is_valid, data, name=scope)


def broadcast_weights(weights, values):
    """The weights in the shape of the values."""
    with ops.name_scope(None, "broadcast_weights", (weights, values)) as scope:
        values = ops.convert_to_tensor(values, name="values")
        weights = ops.convert_to_tensor(weights, dtype=values.dtype.base_dtype, name="weights")
        shape = weights.get_shape()
        if (
            shape.is_fully_defined()
            and shape.is_compatible_with(values.get_shape())
            and (values.get_shape().is_fully_defined())
        ):
            return weights
        with ops.control_dependencies((assert_broadcastable(weights, values),)):
            return math_ops.multiply(weights, array_ops.ones_like(values), name=scope)
