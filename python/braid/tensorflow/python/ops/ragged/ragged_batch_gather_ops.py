"""Gathering within each row of ragged tensors."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.ragged import ragged_gather_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor
from braid.tensorflow.python.ops.ragged import ragged_util
from braid.tensorflow.python.ops.ragged import segment_id_ops


def batch_gather(params, indices, name=None):
    """tf.batch_gather: the last dimension of `indices` are places in rows of `params`."""
    with ops.name_scope(name, "RaggedBatchGather", [params, indices]):
        params = ragged_tensor.convert_to_tensor_or_ragged_tensor(params, name="params")
        indices = ragged_tensor.convert_to_tensor_or_ragged_tensor(indices, name="indices")
        params, indices = ragged_tensor.match_row_splits_dtypes(params, indices)
        count = indices.shape.ndims
        if count is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        if count == 0:
            raise ValueError("indices.rank must be at least 1.")
        return _gather(params, indices)


def rows_of_both(params, indices):
    """Both with a ragged outermost dimension."""
    make = ragged_tensor.RaggedTensor.from_tensor
    for value in (params, indices):
        if not ragged_tensor.is_ragged(value) and (value.shape.ndims or 2) < 2:
            raise ValueError("batch shape from indices does not match params shape")
    dtype, _ = ragged_tensor.match_row_splits_dtypes(params, indices, return_dtype=True)
    if not ragged_tensor.is_ragged(indices):
        indices = make(indices, row_splits_dtype=dtype)
    if not ragged_tensor.is_ragged(params):
        params = make(params, row_splits_dtype=dtype)
    return params, indices


def _gather(params, indices):
    if not (ragged_tensor.is_ragged(params) or ragged_tensor.is_ragged(indices)):
        return array_ops.batch_gather(params, indices)
    if indices.shape.ndims == 1:
        return ragged_gather_ops.gather(params, indices)
    if not ragged_tensor.is_ragged(indices):  # the result has its dimensions if nothing in it is ragged
        made = _gather_rows(*rows_of_both(params, indices))
        if ragged_tensor.is_ragged(made) and not ragged_tensor.is_ragged(made.values):
            shape = array_ops.concat([array_ops.shape(indices), array_ops.shape(made.values)[1:]], axis=0)
            if indices.shape.ndims > 2:
                shape = array_ops.concat(
                    [array_ops.shape(indices)[:1], [-1], array_ops.shape(made.values)[1:]], 0
                )
            inner = made.values.shape[indices.shape.ndims - 1 :]
            made = array_ops.reshape(made.values, shape)
            made.set_shape(indices.shape.concatenate(inner) if made.shape.ndims is None else made.shape)
        return made
    return _gather_rows(*rows_of_both(params, indices))


def _gather_rows(params, indices):
    if indices.shape.ndims > 2:
        if params.shape.ndims is not None and params.shape.ndims < indices.shape.ndims:
            raise ValueError("batch shape from indices does not match params shape")
        of_tensor = not ragged_tensor.is_ragged(params.values)  # whose sizes are known
        if of_tensor and not params.values.shape[:1].is_compatible_with(indices.values.shape[:1]):
            raise ValueError("batch shape from indices does not match params shape")
        checks = ragged_util.assert_splits_match([[params.row_splits], [indices.row_splits]])
        with ops.control_dependencies(checks):
            return indices.with_values(_gather(params.values, indices.values))
    if params.shape.dims and indices.shape.dims:
        params.shape.dims[0].assert_is_compatible_with(indices.shape.dims[0])
    rows = segment_id_ops.row_splits_to_segment_ids(indices.row_splits)
    places = math_ops.cast(indices.values, rows.dtype)
    lengths = array_ops.gather(params.row_lengths(), rows)
    message = "an index is out of bounds of its row"
    checks = [
        check_ops.assert_less(places, lengths, message=message),
        check_ops.assert_non_negative(places, message=message),
    ]
    with ops.control_dependencies(checks):
        places = places + array_ops.gather(params.row_starts(), rows)
    return indices.with_values(ragged_gather_ops.gather(params.values, places))
