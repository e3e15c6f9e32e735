"""Parts of ragged tensors: rt[...]."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_ragged_math_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.ragged import ragged_gather_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor


def ragged_tensor_getitem(self, key):
    """rt[key]: indices of rows, slices, ... and tf.newaxis. An inner ragged dimension takes slices only."""
    keys = list(key) if isinstance(key, (list, tuple)) else [key]
    tensors = [k for k in keys if isinstance(k, ops.Tensor)]
    with ops.name_scope(None, "RaggedGetItem", [self, *tensors]):
        return _item(self, keys)


def _is_all(key):
    return isinstance(key, slice) and (key.start, key.stop, key.step) == (None, None, None)


def _without_ellipsis(keys, dims):
    """The keys, with slices for a ... at their begin. dims: how many dimensions they are for."""
    if dims is None:
        raise ValueError("Ellipsis not supported for unknown shape RaggedTensors")
    others = sum(k is not array_ops.newaxis for k in keys[1:])
    if others > dims:
        raise IndexError("Too many indices for RaggedTensor")
    return [slice(None)] * (dims - others) + keys[1:]


def _item(rt, keys):
    """Applies keys to all dimensions of a ragged tensor."""
    if not keys:
        return rt
    if keys[0] is Ellipsis:
        return _item(rt, _without_ellipsis(keys, rt.shape.ndims))
    key, rest = keys[0], keys[1:]
    if key is array_ops.newaxis:
        inner = _item(rt, rest)
        count = (
            array_ops.shape(inner, out_type=rt.row_splits.dtype)[0] if not _ragged(inner) else inner.nrows()
        )
        return ragged_tensor.RaggedTensor.from_row_splits(inner, array_ops.stack([0, count]), validate=False)
    if isinstance(key, slice):
        return _inner(rt if _is_all(key) else _rows(rt, key), rest)
    start, limit = rt.row_splits[:-1][key], rt.row_splits[1:][key]
    row = rt.values[start:limit]
    if not rest:
        return row
    return _item(row, rest) if _ragged(row) else row[tuple(rest)]


def _inner(rt, keys):
    """Applies keys to the dimensions after the first."""
    if not keys:
        return rt
    if not _ragged(rt):
        return rt[tuple([slice(None), *keys])]
    key, rest = keys[0], keys[1:]
    if key is Ellipsis:
        dims = rt.shape.ndims
        return _inner(rt, _without_ellipsis(keys, None if dims is None else dims - 1))
    if key is array_ops.newaxis:
        inner = _inner(rt, rest)
        if not _ragged(inner):
            return array_ops.expand_dims(inner, 1)
        return ragged_tensor.RaggedTensor.from_row_splits(
            inner, math_ops.range(inner.nrows() + 1), validate=False
        )
    if not isinstance(key, slice):
        raise ValueError("Cannot index into an inner ragged dimension.")
    rows = rt if _is_all(key) else _columns(rt, key)
    return rows.with_values(_inner(rows.values, rest)) if rest else rows


def _rows(rt, key):
    """rt[slice]."""
    starts, limits = rt.row_splits[:-1][key], rt.row_splits[1:][key]
    if key.step is None or (isinstance(key.step, int) and key.step == 1):  # they follow each other
        zero = array_ops.zeros([1], starts.dtype)  # where there are no rows
        first = array_ops.concat([starts[:1], zero], axis=0)[0]
        last = array_ops.concat([zero, limits], axis=0)[-1]
        splits = array_ops.concat([array_ops.expand_dims(first, 0), limits], axis=0)
        values = rt.values[first : math_ops.maximum(first, last)]
        return ragged_tensor.RaggedTensor.from_row_splits(values, splits - first, validate=False)
    return _of_ranges(starts, limits, 1, rt.values)


def _columns(rt, key):
    """The same part of each row: rt[:, slice]."""
    for part in (key.start, key.stop):
        if not _is_integer(part):
            raise TypeError("slice offsets must be integers or None")
    if not _is_integer(key.step):
        raise TypeError("slice strides must be integers or None")
    starts, limits = rt.row_splits[:-1], rt.row_splits[1:]
    begin = starts if key.start is None else _places(key.start, starts, limits)
    end = limits if key.stop is None else _places(key.stop, starts, limits)
    step = 1 if key.step is None else key.step
    return _of_ranges(begin, math_ops.maximum(begin, end), step, rt.values)


def _is_integer(value):
    if isinstance(value, ops.Tensor):
        return value.dtype.is_integer
    return value is None or isinstance(value, int)


def _places(offset, starts, limits):
    """An offset in each row, from its begin or end, and inside it."""
    offset = math_ops.cast(offset, starts.dtype)
    known = tensor_util.constant_value(offset)
    from_begin = math_ops.minimum(starts + offset, limits)
    from_end = math_ops.maximum(limits + offset, starts)
    if known is not None:
        return from_begin if known >= 0 else from_end
    return array_ops.where_v2(offset >= 0, from_begin, from_end)


def _of_ranges(starts, limits, step, values):
    """The ragged tensor of values[start:limit:step]."""
    step = math_ops.cast(step, starts.dtype)
    splits, places = gen_ragged_math_ops.ragged_range(starts, limits, step, Tsplits=starts.dtype)
    values = ragged_gather_ops.gather(values, places)
    return ragged_tensor.RaggedTensor.from_row_splits(values, splits, validate=False)


def _ragged(value):
    return isinstance(value, ragged_tensor.RaggedTensor)
