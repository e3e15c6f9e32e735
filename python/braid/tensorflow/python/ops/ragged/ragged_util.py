"""What several functions of ragged tensors use."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops


def assert_splits_match(nested_splits_lists):
    """Checks that tensors have the same rows: the operations that do. ValueError: the ranks differ."""
    message = "Inputs must have identical ragged splits"
    first = nested_splits_lists[0]
    for other in nested_splits_lists[1:]:
        if len(other) != len(first):
            raise ValueError(message)
    return [
        check_ops.assert_equal(a, b, message=message)
        for other in nested_splits_lists[1:]
        for a, b in zip(first, other)
        if a is not b
    ]


def convert_to_int_tensor(tensor, name, dtype=dtypes.int32):
    """A tensor of integers in a type."""
    tensor = ops.convert_to_tensor(tensor, name=name, preferred_dtype=dtype)
    if not tensor.dtype.is_integer:
        raise TypeError("%s must be an integer tensor; dtype=%s" % (name, tensor.dtype))
    return math_ops.cast(tensor, dtype)


def get_positive_axis(axis, ndims):
    """`axis` counted from the first dimension. ndims: how many there are, None if unknown."""
    if not isinstance(axis, int):
        raise TypeError("axis must be an int; got %s" % type(axis).__name__)
    if ndims is None:
        if axis < 0:
            raise ValueError("axis may only be negative if ndims is statically known.")
        return axis
    if not -ndims <= axis < ndims:
        raise ValueError("axis=%s out of bounds: expected %s<=axis<%s" % (axis, -ndims, ndims))
    return axis % ndims


def lengths_to_splits(lengths):
    """Where rows of these lengths begin, and the last one ends."""
    return array_ops.concat([array_ops.zeros([1], lengths.dtype), math_ops.cumsum(lengths)], axis=0)


def cyclic_places(starts, lengths, wanted):
    """The places that rows of `wanted` lengths take from ranges of `lengths` from `starts`, again and again.

    All are vectors of one integer type. A range without elements gives rows without elements only.
    """
    dtype = wanted.dtype
    splits = lengths_to_splits(wanted)
    row = array_ops.repeat(math_ops.range(array_ops.size(wanted, out_type=dtype)), wanted, axis=0)
    place = math_ops.range(splits[-1]) - array_ops.gather(splits, row)
    size = math_ops.maximum(array_ops.gather(lengths, row), 1)
    return array_ops.gather(starts, row) + math_ops.floormod(place, size)


def repeat_ranges(params, splits, repeats):
    """The rows params[splits[i]:splits[i + 1]], row i repeats[i] times.

    repeats: a number, or one of each row.
    """
    lengths = splits[1:] - splits[:-1]
    repeats = math_ops.cast(repeats, lengths.dtype)
    return array_ops.gather(params, cyclic_places(splits[:-1], lengths, lengths * repeats))


def repeat(data, repeats, axis, name=None):
    """tf.repeat."""
    return array_ops.repeat(data, repeats, axis=axis, name=name)
