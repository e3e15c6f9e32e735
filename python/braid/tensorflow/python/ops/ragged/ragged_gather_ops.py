"""Rows of ragged tensors, and of tensors at places that are in a ragged tensor."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_ragged_math_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor


def gather(params, indices, name=None):
    """tf.gather of the rows of `params`, where that, the indices or both are ragged."""
    with ops.name_scope(name, "RaggedGather", [params, indices]):
        params = ragged_tensor.convert_to_tensor_or_ragged_tensor(params, name="params")
        indices = ragged_tensor.convert_to_tensor_or_ragged_tensor(indices, name="indices")
        return _gather(params, indices)


def _gather(params, indices):
    if ragged_tensor.is_ragged(indices):
        return indices.with_values(_gather(params, indices.values))
    if not ragged_tensor.is_ragged(params):
        return array_ops.gather(params, indices)
    count = indices.get_shape().ndims
    if count is None:
        raise ValueError("indices.shape.ndims must be known statically")
    if count == 0:
        return params[indices]
    if count > 1:
        return _gather(params, ragged_tensor.RaggedTensor.from_tensor(indices))
    splits = params.row_splits
    starts, limits = array_ops.gather(splits[:-1], indices), array_ops.gather(splits[1:], indices)
    one = ops.convert_to_tensor(1, dtype=splits.dtype)
    splits, places = gen_ragged_math_ops.ragged_range(starts, limits, one, Tsplits=splits.dtype)
    return ragged_tensor.RaggedTensor.from_row_splits(_gather(params.values, places), splits)
