"""Parts and shapes of ragged tensors."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import data_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import sort_ops
from braid.tensorflow.python.ops.ragged import ragged_gather_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor
from braid.tensorflow.python.ops.ragged import ragged_util
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("ragged.boolean_mask")
def boolean_mask(data, mask, name=None):
    """What is where the mask is true, row by row: ragged, unless the mask is a vector and data a Tensor."""
    with ops.name_scope(name, "RaggedMask", [data, mask]):
        data = ragged_tensor.convert_to_tensor_or_ragged_tensor(data, name="data")
        mask = ragged_tensor.convert_to_tensor_or_ragged_tensor(mask, dtype=dtypes.bool, name="mask")
        dtype, (data, mask) = ragged_tensor.match_row_splits_dtypes(data, mask, return_dtype=True)
        if mask.shape.ndims is None:
            raise ValueError("mask.shape.ndims must be known statically.")
        if mask.shape.ndims == 0:
            raise ValueError("mask cannot be scalar.")
        return _mask(data, mask, dtype)


def _mask(data, mask, dtype):
    make = ragged_tensor.RaggedTensor
    if mask.shape.ndims == 1:
        if not ragged_tensor.is_ragged(data):
            return array_ops.boolean_mask(data, mask)
        return ragged_gather_ops.gather(data, math_ops.cast(array_ops.where(mask)[:, 0], dtype))
    if not (ragged_tensor.is_ragged(mask) or ragged_tensor.is_ragged(data)):
        data.shape[: mask.shape.ndims].assert_is_compatible_with(mask.shape)
    if not ragged_tensor.is_ragged(mask):
        mask = make.from_tensor(mask, ragged_rank=mask.shape.ndims - 1, row_splits_dtype=dtype)
    elif mask.ragged_rank < mask.shape.ndims - 1:
        flat = make.from_tensor(
            mask.flat_values, ragged_rank=mask.shape.ndims - 1 - mask.ragged_rank, row_splits_dtype=dtype
        )
        mask = mask.with_flat_values(flat)
    if not ragged_tensor.is_ragged(data):
        data = make.from_tensor(data, row_splits_dtype=dtype)
    checks = ragged_util.assert_splits_match([[data.row_splits], [mask.row_splits]])
    with ops.control_dependencies(checks):
        kept = _mask(data.values, mask.values, dtype)
        if mask.shape.ndims > 2:  # the rows stay, and what is in them is less
            return mask.with_values(kept)
        counts = mask.with_values(math_ops.cast(mask.values, dtype))
        from braid.tensorflow.python.ops.ragged import ragged_math_ops

        lengths = ragged_math_ops.reduce_sum(counts, axis=1)
        return make.from_row_lengths(kept, lengths, validate=False)


def tile(input, multiples, name=None):
    """tf.tile of a ragged tensor. multiples: of each dimension."""
    with ops.name_scope(name, "RaggedTile", [input, multiples]):
        input = ragged_tensor.convert_to_tensor_or_ragged_tensor(input, name="input")
        if not ragged_tensor.is_ragged(input):
            return array_ops.tile(input, multiples, name)
        dtype = input.row_splits.dtype
        multiples = ragged_util.convert_to_int_tensor(multiples, name="multiples", dtype=dtype)
        multiples.shape.assert_has_rank(1)
        known = tensor_util.constant_value(multiples)
        if known is not None and (known == 1).all():
            return input.with_flat_values(array_ops.identity(input.flat_values))
        zero = array_ops.zeros([1], dtype)
        rows = array_ops.expand_dims(input.nrows(), 0)
        places = ragged_util.cyclic_places(zero, rows, rows * multiples[0])
        nested = []
        for i, splits in enumerate(input.nested_row_splits):
            starts = array_ops.gather(splits[:-1], places)
            lengths = array_ops.gather(splits[1:], places) - starts
            nested.append(lengths * multiples[i + 1])
            places = ragged_util.cyclic_places(starts, lengths, nested[-1])
        inner = array_ops.concat([[1], multiples[input.ragged_rank + 1 :]], axis=0)
        flat = array_ops.tile(array_ops.gather(input.flat_values, places), inner)
        made = ragged_tensor.RaggedTensor.from_nested_row_lengths(flat, nested, validate=False)
        if known is not None and input.shape.dims[0].value is not None:
            made.row_splits.set_shape([input.shape.dims[0].value * int(known[0]) + 1])
        return made


def expand_dims(input, axis, name=None):
    """tf.expand_dims of a ragged tensor."""
    with ops.name_scope(name, "RaggedExpandDims", [input]):
        input = ragged_tensor.convert_to_tensor_or_ragged_tensor(input, name="input")
        count = input.shape.ndims
        return _expand(input, ragged_util.get_positive_axis(axis, None if count is None else count + 1))


def _expand(input, axis):
    if not ragged_tensor.is_ragged(input):
        return array_ops.expand_dims(input, axis)
    make = ragged_tensor.RaggedTensor
    if axis == 0:
        splits = array_ops.stack([0, input.nrows()])
        return make.from_row_splits(input, splits, validate=False)
    if axis == 1:
        splits = math_ops.range(input.nrows() + 1)
        known = input.shape.dims[0].value
        if known is not None:
            splits.set_shape([known + 1])
        return make.from_row_splits(input, splits, validate=False)
    return input.with_values(_expand(input.values, axis - 1))


def size(input, out_type=dtypes.int32, name=None):
    """How many innermost values there are."""
    if ragged_tensor.is_ragged(input):
        return array_ops.size(input.flat_values, out_type=out_type, name=name)
    return array_ops.size(input, out_type=out_type, name=name)


def rank(input, name=None):
    """How many dimensions there are."""
    with ops.name_scope(name, "RaggedRank", [input]) as name:
        if not ragged_tensor.is_ragged(input):
            return array_ops.rank(input, name)
        return input.ragged_rank + array_ops.rank(input.flat_values)


def ragged_one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None):
    """tf.one_hot of the innermost values. `axis` is one of theirs and at least the ragged rank."""
    with ops.name_scope(name, "RaggedOneHot", [indices]):
        indices = ragged_tensor.convert_to_tensor_or_ragged_tensor(indices, name="indices")
        if axis is not None:
            axis = ragged_util.get_positive_axis(axis, indices.shape.ndims)
            if axis < indices.ragged_rank:
                raise ValueError("axis may not be less than indices.ragged_rank.")
        flat = array_ops.one_hot(indices.flat_values, depth, on_value, off_value, axis, dtype)
        return indices.with_flat_values(flat)


@tf_export("ragged.stack_dynamic_partitions")
def stack_dynamic_partitions(data, partitions, num_partitions, name=None):
    """Row i holds the parts of `data` whose partition is i, in their order. Both may be ragged."""
    with ops.name_scope(name, "SegmentStack", [data, partitions, num_partitions]):
        num_partitions = ops.convert_to_tensor(
            num_partitions, preferred_dtype=dtypes.int64, name="num_partitions"
        )
        num_partitions.shape.assert_has_rank(0)
        partitions = ragged_tensor.convert_to_tensor_or_ragged_tensor(partitions, name="partitions")
        data = ragged_tensor.convert_to_tensor_or_ragged_tensor(data, name="data")
        if not partitions.dtype.is_integer and partitions.shape.num_elements() == 0:
            partitions = math_ops.cast(partitions, dtypes.int64)  # [] is a tensor of floats
        dtype = num_partitions.dtype
        for value in (data, partitions):
            if ragged_tensor.is_ragged(value):
                dtype = value.row_splits.dtype
        partitions, num_partitions = math_ops.cast(partitions, dtype), math_ops.cast(num_partitions, dtype)
        return _stack_partitions(data, partitions, num_partitions)


def _stack_partitions(data, partitions, count):
    make = ragged_tensor.RaggedTensor
    if partitions.shape.ndims is None:
        raise ValueError("partitions must have known rank.")
    if ragged_tensor.is_ragged(partitions):
        if not ragged_tensor.is_ragged(data):
            data = make.from_tensor(data, row_splits_dtype=partitions.row_splits.dtype)
        message = "data and partitions have incompatible ragged shapes"
        same = check_ops.assert_equal(data.row_splits, partitions.row_splits, message=message)
        with ops.control_dependencies([same]):
            return _stack_partitions(data.values, partitions.values, count)
    if partitions.shape.ndims == 0:
        if ragged_tensor.is_ragged(data):
            values = _expand(data, 0)
        else:
            values = array_ops.expand_dims(data, 0)
        return make.from_value_rowids(values, array_ops.expand_dims(partitions, 0), count)
    if partitions.shape.ndims > 1:
        if not ragged_tensor.is_ragged(data):
            shape = array_ops.concat([[-1], array_ops.shape(data)[partitions.shape.ndims :]], axis=0)
            partitions.shape.assert_is_compatible_with(data.shape[: partitions.shape.ndims])
            return _stack_partitions(
                array_ops.reshape(data, shape), array_ops.reshape(partitions, [-1]), count
            )
        partitions = make.from_tensor(partitions, row_splits_dtype=data.row_splits.dtype)
        return _stack_partitions(data, partitions, count)
    if not ragged_tensor.is_ragged(data):
        partitions.shape.assert_is_compatible_with(data.shape[:1])
    order = sort_ops.argsort(partitions, stable=True)
    checks = [
        check_ops.assert_non_negative(partitions, message="partitions must be non-negative"),
        check_ops.assert_less(partitions, count, message="partitions must be less than num_partitions"),
    ]
    with ops.control_dependencies(checks):
        rows = array_ops.gather(partitions, order)
    values = ragged_gather_ops.gather(data, order)
    return make.from_value_rowids(values, rows, count, validate=False)


def dynamic_partition(data, partitions, num_partitions, name=None):
    """tf.dynamic_partition of ragged data: a list."""
    if not (ragged_tensor.is_ragged(data) or ragged_tensor.is_ragged(partitions)):
        return data_flow_ops.dynamic_partition(data, partitions, num_partitions, name)
    if not isinstance(num_partitions, int) or num_partitions < 0:
        raise ValueError("num_partitions must be a non-negative integer")
    stacked = stack_dynamic_partitions(data, partitions, num_partitions, name)
    return [stacked[i] for i in range(num_partitions)]
