"""Parts and shapes of ragged tensors."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.ragged import ragged_gather_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("ragged.boolean_mask")
def boolean_mask(data, mask, name=None):
    """What is where the mask is true, row by row: ragged, unless the mask is a vector and data a Tensor."""
    with ops.name_scope(name, "RaggedMask", [data, mask]):
        data = ragged_tensor.convert_to_tensor_or_ragged_tensor(data, name="data")
        mask = ragged_tensor.convert_to_tensor_or_ragged_tensor(mask, dtype=dtypes.bool, name="mask")
        if mask.shape.ndims is None:
            raise ValueError("mask.shape.ndims must be known statically.")
        if mask.shape.ndims == 0:
            raise ValueError("mask cannot be scalar.")
        return _mask(data, mask)


def _mask(data, mask):
    make = ragged_tensor.RaggedTensor
    if mask.shape.ndims == 1:
        if not ragged_tensor.is_ragged(data):
            return array_ops.boolean_mask(data, mask)
        return ragged_gather_ops.gather(data, array_ops.where(mask)[:, 0])
    mask = mask if ragged_tensor.is_ragged(mask) else make.from_tensor(mask)
    data = data if ragged_tensor.is_ragged(data) else make.from_tensor(data)
    kept = _mask(data.values, mask.values)
    if mask.shape.ndims > 2:  # the rows stay, and what is in them is less
        return mask.with_values(kept)
    lengths = math_ops.reduce_sum(mask.with_values(math_ops.cast(mask.values, mask.row_splits.dtype)), axis=1)
    return make.from_row_lengths(kept, lengths)


def expand_dims(input, axis, name=None):
    """tf.expand_dims of a ragged tensor."""
    with ops.name_scope(name, "RaggedExpandDims", [input]):
        input = ragged_tensor.convert_to_tensor_or_ragged_tensor(input, name="input")
        if axis < 0 and input.shape.ndims is not None:
            axis += input.shape.ndims + 1
        return _expand(input, axis)


def _expand(input, axis):
    if not ragged_tensor.is_ragged(input):
        return array_ops.expand_dims(input, axis)
    if axis == 0:
        return ragged_tensor.RaggedTensor.from_row_lengths(input, [input.nrows()])
    if axis == 1:
        return ragged_tensor.RaggedTensor.from_row_splits(input, math_ops.range(input.nrows() + 1))
    return input.with_values(_expand(input.values, axis - 1))
