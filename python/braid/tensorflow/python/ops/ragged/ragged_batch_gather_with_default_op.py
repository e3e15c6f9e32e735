"""Gathering within each row, with a value for places outside of the row."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.ragged import ragged_batch_gather_ops
from braid.tensorflow.python.ops.ragged import ragged_concat_ops
from braid.tensorflow.python.ops.ragged import ragged_gather_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor
from braid.tensorflow.python.ops.ragged import ragged_util
from braid.tensorflow.python.ops.ragged import segment_id_ops


def batch_gather_with_default(params, indices, default_value="", name=None):
    """batch_gather, where an index that is not in its row gives `default_value`.

    default_value: a scalar, or a tensor of the shape of what an index stands for.
    """
    with ops.name_scope(name, "RaggedBatchGatherWithDefault"):
        params = ragged_tensor.convert_to_tensor_or_ragged_tensor(params, name="params")
        indices = ragged_tensor.convert_to_tensor_or_ragged_tensor(indices, name="indices")
        default_value = ragged_tensor.convert_to_tensor_or_ragged_tensor(
            default_value, dtype=params.dtype, name="default_value"
        )
        dense = not (ragged_tensor.is_ragged(params) or ragged_tensor.is_ragged(indices))
        if indices.shape.ndims == 1:  # the rows are those of one tensor
            from braid.tensorflow.python.ops.ragged import ragged_array_ops

            params = ragged_array_ops.expand_dims(params, 0)
            params, indices = ragged_tensor.match_row_splits_dtypes(params, indices)
            made = _gather(params, ragged_array_ops.expand_dims(indices, 0), default_value)
            return made.values if ragged_tensor.is_ragged(made) else made[0]
        if not dense and not ragged_tensor.is_ragged(
            params.values if ragged_tensor.is_ragged(params) else params
        ):
            if default_value.shape.ndims != params.shape.ndims - indices.shape.ndims:
                raise ValueError("default_value has not the shape of what an index stands for")
        return _gather(params, indices, default_value)


def _gather(params, indices, default):
    as_tensor = not (ragged_tensor.is_ragged(params) or ragged_tensor.is_ragged(indices))
    sizes = array_ops.shape(indices) if as_tensor else None
    params, indices = ragged_batch_gather_ops.rows_of_both(params, indices)
    if as_tensor:
        made = _gather_rows(params, indices, default)
        if ragged_tensor.is_ragged(made.values):
            return made
        return array_ops.reshape(
            made.values, array_ops.concat([sizes, array_ops.shape(made.values)[1:]], axis=0)
        )
    return _gather_rows(params, indices, default)


def _gather_rows(params, indices, default):
    count = indices.shape.ndims
    if params.shape.ndims < count:
        raise ValueError("params must have at least as many dimensions as indices")
    if count > 2:
        checks = ragged_util.assert_splits_match([[params.row_splits], [indices.row_splits]])
        with ops.control_dependencies(checks):
            return indices.with_values(_gather(params.values, indices.values, default))
    values = params.values
    if default.shape.ndims > values.shape.ndims - 1:
        raise ValueError("default_value has more dimensions than what an index stands for")
    rows = segment_id_ops.row_splits_to_segment_ids(indices.row_splits)
    places = math_ops.cast(indices.values, rows.dtype)
    lengths = array_ops.gather(params.row_lengths(), rows)
    places_of_values = places + array_ops.gather(params.row_starts(), rows)
    inside = math_ops.logical_and(places >= 0, places < lengths)
    if ragged_tensor.is_ragged(values):
        last = values.nrows()
        extra = array_ops.reshape(default, [1] * (values.shape.ndims - 1) + [-1])
        values = ragged_concat_ops.concat([values, extra], axis=0)
    else:
        last = array_ops.shape(values, out_type=rows.dtype)[0]
        shape = array_ops.concat([[1], array_ops.shape(values)[1:]], axis=0)
        values = array_ops.concat([values, array_ops.broadcast_to(default, shape)], axis=0)
    places = array_ops.where_v2(inside, places_of_values, last)
    return indices.with_values(ragged_gather_ops.gather(values, places))
