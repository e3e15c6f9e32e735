"""Rows of ragged tensors, and of tensors at places that are in a ragged tensor."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import gen_ragged_array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor


def gather(params, indices, validate_indices=None, axis=0, batch_dims=0, name=None):
    """tf.gather of the rows of `params`, where that, the indices or both are ragged."""
    if not isinstance(axis, int) or axis != 0:
        raise ValueError("axis != 0 is not supported for ragged gather yet.")
    if not isinstance(batch_dims, int) or batch_dims != 0:
        raise ValueError("batch_dims != 0 is not supported for ragged gather yet.")
    with ops.name_scope(name, "RaggedGather", [params, indices]):
        params = ragged_tensor.convert_to_tensor_or_ragged_tensor(params, name="params")
        indices = ragged_tensor.convert_to_tensor_or_ragged_tensor(indices, name="indices")
        params, indices = ragged_tensor.match_row_splits_dtypes(params, indices)
        return _gather(params, indices)


def _gather(params, indices):
    if ragged_tensor.is_ragged(indices):
        return indices.with_values(_gather(params, indices.values))
    if not ragged_tensor.is_ragged(params):
        return array_ops.gather(params, indices)
    if indices.shape.ndims is None:
        raise ValueError("indices.shape.ndims must be known statically")
    made = gen_ragged_array_ops.ragged_gather(
        params_nested_splits=list(params.nested_row_splits),
        params_dense_values=params.flat_values,
        indices=indices,
        OUTPUT_RAGGED_RANK=indices.shape.ndims + params.ragged_rank - 1,
    )
    flat = made[1]
    flat.set_shape(tensor_shape.TensorShape([None]).concatenate(params.flat_values.shape[1:]))
    splits = made[0]
    if not splits:  # a row
        return flat
    return ragged_tensor.RaggedTensor.from_nested_row_splits(flat, splits, validate=False)


def gather_nd(params, indices, batch_dims=0, name=None):
    """tf.gather_nd, where `params`, the indices or both are ragged."""
    if not isinstance(batch_dims, int) or batch_dims != 0:
        raise ValueError("batch_dims != 0 is not supported for ragged gather yet.")
    with ops.name_scope(name, "RaggedGatherNd", [params, indices]):
        params = ragged_tensor.convert_to_tensor_or_ragged_tensor(params, name="params")
        indices = ragged_tensor.convert_to_tensor_or_ragged_tensor(indices, name="indices")
        params, indices = ragged_tensor.match_row_splits_dtypes(params, indices)
        count = indices.shape.ndims
        if count is None:
            raise ValueError("indices.rank be statically known.")
        if count == 0:
            raise ValueError("indices.rank must be at least 1.")
        size = indices.shape.dims[-1].value
        if ragged_tensor.is_ragged(indices) and indices.ragged_rank >= count - 1:
            raise ValueError("The innermost dimension of indices may not be ragged")
        if size is None:
            raise ValueError("indices.shape[-1] must be statically known.")
        return _gather_nd(params, indices, size)


def _gather_nd(params, indices, size):
    if ragged_tensor.is_ragged(indices):
        return indices.with_values(_gather_nd(params, indices.values, size))
    if not ragged_tensor.is_ragged(params):
        return array_ops.gather_nd(params, indices)
    count = indices.shape.ndims
    if count > 2:
        rows = ragged_tensor.RaggedTensor.from_tensor(
            indices, ragged_rank=count - 2, row_splits_dtype=params.row_splits.dtype
        )
        return _gather_nd(params, rows, size)
    if count == 1:  # one element or part
        return _part(_gather_nd(params, array_ops.expand_dims(indices, 0), size))
    if size == 0:  # all of params, again and again
        from braid.tensorflow.python.ops.ragged import ragged_array_ops

        repeated = ragged_array_ops.expand_dims(params, 0)
        multiples = [array_ops.shape(indices)[0]] + [1] * params.shape.ndims
        return ragged_array_ops.tile(repeated, array_ops.stack(multiples))
    indices = math_ops.cast(indices, params.row_splits.dtype)
    place, used = indices[:, 0], 1
    while used < size and ragged_tensor.is_ragged(params):  # a place in the values of the next level
        begin = array_ops.gather(params.row_splits[:-1], place)
        length = array_ops.gather(params.row_splits[1:], place) - begin
        index = indices[:, used]
        message = "Index out of bounds in a ragged dimension"
        checks = [
            check_ops.assert_less(index, length, message=message),
            check_ops.assert_non_negative(index, message=message),
        ]
        with ops.control_dependencies(checks):
            place = begin + index
        params, used = params.values, used + 1
    if used == size:
        return _gather(params, place)
    rest = array_ops.concat([array_ops.expand_dims(place, 1), indices[:, used:]], axis=1)
    return array_ops.gather_nd(params, rest)


def _part(made):
    return made[0]
