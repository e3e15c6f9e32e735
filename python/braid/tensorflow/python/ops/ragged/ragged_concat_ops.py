"""Joining ragged tensors, and tensors with them."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.ragged import ragged_gather_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor
from braid.tensorflow.python.ops.ragged import ragged_util
from braid.tensorflow.python.util.tf_export import tf_export


def concat(values, axis, name=None):
    """tf.concat, where some of the values may be ragged."""
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    with ops.name_scope(name, "RaggedConcat", values):
        return _join(values, axis, is_stack=False)


@tf_export("ragged.stack")
def stack(values, axis=0, name=None):
    """tf.stack, where the values may be ragged and their shapes may differ: the result is ragged."""
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    with ops.name_scope(name, "RaggedConcat", values):
        return _join(values, axis, is_stack=True)


def _join(values, axis, is_stack):
    if not values:
        raise ValueError("rt_inputs may not be empty.")
    values = [ragged_tensor.convert_to_tensor_or_ragged_tensor(v, name="rt_input") for v in values]
    dtype, values = ragged_tensor.match_row_splits_dtypes(*values, return_dtype=True)
    values = list(values)
    if len(values) == 1 and not is_stack:
        return values[0]
    count = None
    for value in values:
        if count is None:
            count = value.shape.ndims
        else:
            value.shape.assert_has_rank(count)
    axis = ragged_util.get_positive_axis(axis, None if count is None else count + is_stack)
    if not any(ragged_tensor.is_ragged(v) for v in values):
        if count == 1 and not is_stack:
            return array_ops.concat(values, axis=0)
        if is_stack and count == 1 and axis == 0:  # rows of their own lengths
            lengths = [array_ops.shape(v, out_type=dtype)[0] for v in values]
            return ragged_tensor.RaggedTensor.from_row_lengths(
                array_ops.concat(values, axis=0), lengths, validate=False
            )
        if is_stack and count is not None and axis == count:  # one element of each, at the same place
            return array_ops.stack(values, axis)
    rank = max([v.ragged_rank for v in values if ragged_tensor.is_ragged(v)] + [0])
    rank = max(rank, 1)  # dimensions that all have as uniform ones stay so
    if count is not None:
        rank = min(rank, count - 1)
    values = [_with_ragged_rank(v, rank, dtype) for v in values]
    if rank < 1:  # vectors or scalars
        return array_ops.stack(values, axis) if is_stack else array_ops.concat(values, axis)
    return _join_ragged(values, axis, is_stack)


def _with_ragged_rank(value, rank, dtype):
    if rank < 1:
        return value
    make = ragged_tensor.RaggedTensor.from_tensor
    if not ragged_tensor.is_ragged(value):
        return make(value, ragged_rank=rank, row_splits_dtype=dtype)
    missing = rank - value.ragged_rank
    if missing > 0:
        return value.with_flat_values(make(value.flat_values, ragged_rank=missing, row_splits_dtype=dtype))
    return value


def _join_ragged(values, axis, is_stack):
    """Joins tensors of the same rank and ragged rank."""
    if not ragged_tensor.is_ragged(values[0]):  # what is left inside the rows
        return array_ops.stack(values, axis) if is_stack else array_ops.concat(values, axis)
    if axis > 1:
        first = values[0]
        checks = ragged_util.assert_splits_match([[v.row_splits] for v in values])
        with ops.control_dependencies(checks):
            return first.with_values(_join_ragged([v.values for v in values], axis - 1, is_stack))
    return (_join_rows if axis == 0 else _join_in_rows)(values, is_stack)


def _join_rows(values, is_stack):
    """The rows of all of them after each other; of a stack, those of each as one row."""
    make = ragged_tensor.RaggedTensor
    rows = _after_each_other(values)
    if not is_stack:
        return rows
    counts = array_ops.stack([v.nrows() for v in values])
    return make.from_row_lengths(rows, counts, validate=False)


def _after_each_other(values):
    if not ragged_tensor.is_ragged(values[0]):
        return array_ops.concat(values, axis=0)
    inner = _after_each_other([v.values for v in values])
    parts, before = [values[0].row_splits], values[0].row_splits[-1]
    for value in values[1:]:
        parts.append(value.row_splits[1:] + before)
        before = before + value.row_splits[-1]
    return ragged_tensor.RaggedTensor.from_row_splits(inner, array_ops.concat(parts, axis=0), validate=False)


def _join_in_rows(values, is_stack):
    """Row i of the result is made of the rows i of all of them."""
    make = ragged_tensor.RaggedTensor
    each = values[0].nrows()
    for value in values[1:]:
        values[0].shape[:1].assert_is_compatible_with(value.shape[:1])
    message = "Input tensors have incompatible shapes."
    checks = [check_ops.assert_equal(v.nrows(), each, message=message) for v in values[1:]]
    with ops.control_dependencies(checks):
        count = len(values)
        rows = _after_each_other(values)
        places = array_ops.reshape(math_ops.range(each * count), [count, -1])
        rows = ragged_gather_ops.gather(rows, array_ops.reshape(array_ops.transpose(places), [-1]))
    if is_stack:
        splits = math_ops.range(each + 1) * count
        _set_known_rows(splits, values)
        return make.from_row_splits(rows, splits, validate=False)
    splits = rows.row_splits[::count]
    _set_known_rows(splits, values)
    return make.from_row_splits(rows.values, splits, validate=False)


def _set_known_rows(splits, values):
    sizes = [v.shape.dims[0].value for v in values if v.shape.dims]
    known = next((n for n in sizes if n is not None), None)
    if known is not None:
        splits.set_shape([known + 1])
