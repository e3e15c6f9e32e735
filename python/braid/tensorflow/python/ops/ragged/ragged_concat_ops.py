"""Joining ragged tensors, and tensors with them."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.ragged import ragged_gather_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor
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
        raise ValueError("values may not be empty.")
    values = [ragged_tensor.convert_to_tensor_or_ragged_tensor(v, name="values") for v in values]
    ranks = {v.shape.ndims for v in values} - {None}
    if len(ranks) > 1:
        raise ValueError("all values must have the same number of dimensions")
    count = ranks.pop() if ranks else None
    if axis < 0:
        if count is None:
            raise ValueError("axis may only be negative if the number of dimensions is known")
        axis += count + is_stack
    if count is not None and not 0 <= axis < count + is_stack:
        raise ValueError(f"axis={axis} out of bounds: expected 0<=axis<{count + is_stack}")
    if not any(ragged_tensor.is_ragged(v) for v in values):
        if is_stack and count == 1 and axis == 0:  # rows of their own lengths
            lengths = [array_ops.shape(v, out_type="int64")[0] for v in values]
            return ragged_tensor.RaggedTensor.from_row_lengths(array_ops.concat(values, 0), lengths)
        if count is not None and axis >= count - 1:  # the last dimension of the values, or of the result
            return array_ops.stack(values, axis) if is_stack else array_ops.concat(values, axis)
    values = [v if ragged_tensor.is_ragged(v) else ragged_tensor.RaggedTensor.from_tensor(v) for v in values]
    return _join_ragged(values, axis, is_stack)


def _join_ragged(values, axis, is_stack):
    make, first = ragged_tensor.RaggedTensor, values[0]
    dtype = first.row_splits.dtype
    if len(values) == 1 and not is_stack:
        return first
    if axis > 1:  # inside the rows
        return first.with_values(_join([v.values for v in values], axis - 1, is_stack))
    rows = _after_each_other(values)
    if axis == 0:
        if not is_stack:
            return rows
        return make.from_row_lengths(rows, array_ops.stack([v.nrows(out_type=dtype) for v in values]))
    count, each = len(values), first.nrows(out_type=dtype)
    places = array_ops.reshape(math_ops.range(each * count), [count, -1])
    rows = ragged_gather_ops.gather(rows, array_ops.reshape(array_ops.transpose(places), [-1]))
    if is_stack:
        return make.from_row_splits(rows, math_ops.range(each + 1) * count)
    return make.from_row_splits(rows.values, rows.row_splits[::count])


def _after_each_other(values):
    """The rows of all of them."""
    if not all(ragged_tensor.is_ragged(v) for v in values):
        if any(ragged_tensor.is_ragged(v) for v in values):
            values = [
                v if ragged_tensor.is_ragged(v) else ragged_tensor.RaggedTensor.from_tensor(v) for v in values
            ]
        else:
            return array_ops.concat(values, 0)
    inner = _after_each_other([v.values for v in values])
    parts, before = [values[0].row_splits], values[0].row_splits[-1]
    for value in values[1:]:
        splits = math_ops.cast(value.row_splits, before.dtype)
        parts.append(splits[1:] + before)
        before = before + splits[-1]
    return ragged_tensor.RaggedTensor.from_row_splits(inner, array_ops.concat(parts, 0))
