"""Parts and shapes of ragged tensors."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import sort_ops
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


@tf_export("ragged.stack_dynamic_partitions")
def stack_dynamic_partitions(data, partitions, num_partitions, name=None):
    """Rows of data by the numbers in partitions, which are those of the rows of the result.

    partitions: a prefix of data's shape. num_partitions: above all numbers.
    """
    with ops.name_scope(name, "SegmentStack", [data, partitions, num_partitions]):
        data = ragged_tensor.convert_to_tensor_or_ragged_tensor(data, name="data")
        is_ragged = isinstance(data, ragged_tensor.RaggedTensor)
        partitions = ragged_tensor.convert_to_tensor_or_ragged_tensor(partitions, name="partitions")
        if is_ragged:
            partitions = math_ops.cast(partitions, data.row_splits.dtype)
        num_partitions = math_ops.cast(num_partitions, partitions.dtype)
        rank = partitions.shape.ndims
        if rank is None:
            raise ValueError("partitions must have known rank.")
        num_partitions.shape.assert_has_rank(0)
        partitions.shape.assert_is_compatible_with(data.shape[:rank])
        if rank == 0:
            data, partitions, rank = array_ops.stack([data]), array_ops.stack([partitions]), 1
        if rank > 1:
            # The rows of both are put one after another, and numbered as before.
            of = ragged_tensor.RaggedTensor
            if not is_ragged:
                data = of.from_tensor(data, row_splits_dtype=partitions.dtype)
            if not isinstance(partitions, of):
                partitions = of.from_tensor(
                    partitions, row_splits_dtype=partitions.dtype, ragged_rank=rank - 1
                )
            message = "data and partitions have incompatible ragged shapes"
            check = check_ops.assert_equal(data.row_splits, partitions.row_splits, message=message)
            with ops.control_dependencies([check]):
                return stack_dynamic_partitions(data.values, partitions.values, num_partitions)
        order = sort_ops.argsort(partitions, stable=True)
        rows = array_ops.gather(partitions, order)
        values = ragged_gather_ops.gather(data, order) if is_ragged else array_ops.gather(data, order)
        message = "partitions must be less than num_partitions"
        check = check_ops.assert_less(rows[-1:], num_partitions, message=message)
        with ops.control_dependencies([check]):
            return ragged_tensor.RaggedTensor.from_value_rowids(
                values, rows, nrows=num_partitions, validate=False
            )
