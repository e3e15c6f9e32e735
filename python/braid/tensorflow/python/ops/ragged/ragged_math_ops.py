"""Ranges of different lengths, and sums and the like of ragged tensors."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_ragged_math_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor
from braid.tensorflow.python.ops.ragged import ragged_util
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("ragged.range")
def range(starts, limits=None, deltas=1, dtype=None, name=None, row_splits_dtype=dtypes.int64):
    """A row of numbers from each start to before its limit in steps of its delta; range(n) begins at 0."""
    if limits is None:
        starts, limits = 0, starts
    with ops.name_scope(name, "RaggedRange", [starts, limits, deltas]) as name:
        starts = ops.convert_to_tensor(starts, dtype=dtype, name="starts")
        limits = ops.convert_to_tensor(limits, dtype=dtype, name="limits")
        deltas = ops.convert_to_tensor(deltas, dtype=dtype, name="deltas")
        if dtype is None:
            starts, limits, deltas = _of_one_type(starts, limits, deltas)
        splits, values = gen_ragged_math_ops.ragged_range(
            starts, limits, deltas, Tsplits=dtypes.as_dtype(row_splits_dtype), name=name
        )
        return ragged_tensor.RaggedTensor.from_row_splits(values, splits, validate=False)


def _of_one_type(*tensors):
    """The tensors in the widest of their types."""
    order = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
    widest = max((t.dtype for t in tensors), key=order.index)
    return [math_ops.cast(t, widest) for t in tensors]


# ---- Segments ----


def segment_sum(data, segment_ids, num_segments, name=None):
    """tf.math.unsorted_segment_sum of ragged tensors. segment_ids: a number of each row, or of each value."""
    return _segment(
        math_ops.unsorted_segment_sum, data, segment_ids, num_segments, name or "RaggedSegmentSum"
    )


def segment_prod(data, segment_ids, num_segments, name=None):
    return _segment(
        math_ops.unsorted_segment_prod, data, segment_ids, num_segments, name or "RaggedSegmentProd"
    )


def segment_min(data, segment_ids, num_segments, name=None):
    return _segment(
        math_ops.unsorted_segment_min, data, segment_ids, num_segments, name or "RaggedSegmentMin"
    )


def segment_max(data, segment_ids, num_segments, name=None):
    return _segment(
        math_ops.unsorted_segment_max, data, segment_ids, num_segments, name or "RaggedSegmentMax"
    )


def segment_mean(data, segment_ids, num_segments, name=None):
    """Their mean: sums divided by how many there are."""
    with ops.name_scope(name, "RaggedSegmentMean", [data, segment_ids, num_segments]):
        total, count = _sums_and_counts(data, segment_ids, num_segments)
        if ragged_tensor.is_ragged(total):
            return total.with_flat_values(total.flat_values / count.flat_values)
        return total / count


def segment_sqrt_n(data, segment_ids, num_segments, name=None):
    """Sums divided by the square root of how many there are."""
    with ops.name_scope(name, "RaggedSegmentSqrtN", [data, segment_ids, num_segments]):
        total, count = _sums_and_counts(data, segment_ids, num_segments)
        if ragged_tensor.is_ragged(total):
            return total.with_flat_values(total.flat_values / math_ops.sqrt(count.flat_values))
        return total / math_ops.sqrt(count)


def _sums_and_counts(data, segment_ids, num_segments):
    data = ragged_tensor.convert_to_tensor_or_ragged_tensor(data, name="data")
    if ragged_tensor.is_ragged(data):
        ones = data.with_flat_values(array_ops.ones_like(data.flat_values))
    else:
        ones = array_ops.ones_like(data)
    return segment_sum(data, segment_ids, num_segments), segment_sum(ones, segment_ids, num_segments)


def _segment(function, data, segment_ids, num_segments, name):
    """The function of tf.math.unsorted_segment_* of ragged tensors."""
    if not (ragged_tensor.is_ragged(data) or ragged_tensor.is_ragged(segment_ids)):
        return function(data, segment_ids, num_segments, name)
    with ops.name_scope(name, "RaggedSegment", [data, segment_ids, num_segments]):
        data = ragged_tensor.convert_to_tensor_or_ragged_tensor(data, name="data")
        segment_ids = ragged_tensor.convert_to_tensor_or_ragged_tensor(segment_ids, name="segment_ids")
        data, segment_ids = ragged_tensor.match_row_splits_dtypes(data, segment_ids)
        if segment_ids.dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError("segment_ids must have dtype int32 or int64.")
        return _segment_rows(function, data, segment_ids, num_segments)


def _segment_rows(function, data, ids, count):
    if ragged_tensor.is_ragged(ids):
        if not ragged_tensor.is_ragged(data):
            raise ValueError(
                "segment_ids.shape must be a prefix of data.shape, but segment_ids is ragged and data is not."
            )
        message = "segment_ids.shape must be a prefix of data.shape"
        from braid.tensorflow.python.ops import check_ops

        same = check_ops.assert_equal(ids.row_splits, data.row_splits, message=message)
        with ops.control_dependencies([same]):
            return _segment_rows(function, data.values, ids.values, count)
    if not ragged_tensor.is_ragged(data):
        return function(data, ids, count)
    # A row of the result is as long as the longest of its rows; values at the same place go together.
    ids = math_ops.cast(ids, data.row_splits.dtype)
    lengths = math_ops.maximum(math_ops.unsorted_segment_max(data.row_lengths(), ids, count), 0)
    splits = ragged_util.lengths_to_splits(lengths)
    starts = array_ops.gather(splits[:-1], ids)
    rows = data.value_rowids()
    nvals = data.row_splits[-1]
    places = math_ops.range(nvals) - array_ops.gather(data.row_splits, rows) + array_ops.gather(starts, rows)
    values = _segment_rows(function, data.values, places, splits[-1])
    return ragged_tensor.RaggedTensor.from_row_splits(values, splits, validate=False)


# ---- Reductions ----


def _reduce(reduce_op, segment_op, rt_input, axis, keepdims, name=None):
    """reduce_op(tensor, axis=) of a ragged tensor, of which segment_op is the one of segments."""
    if not ragged_tensor.is_ragged(rt_input):
        return reduce_op(rt_input, axis=axis, keepdims=keepdims, name=name)
    if isinstance(axis, ops.Tensor):
        known = tensor_util.constant_value(axis)
        if known is None:
            raise ValueError("axis must be known at graph construction time.")
        axis = known.tolist()
    rt_input = ragged_tensor.convert_to_tensor_or_ragged_tensor(rt_input, name="rt_input")
    if axis is None:
        made = reduce_op(rt_input.flat_values, axis=None, keepdims=False, name=name)
        if keepdims:
            for _ in rt_input.shape.dims:
                made = array_ops.expand_dims(made, 0)
        return made
    with ops.name_scope(name, "RaggedReduce", [rt_input, axis]):
        axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
        axes = {ragged_util.get_positive_axis(a, rt_input.shape.ndims) for a in axes}
        made = rt_input
        for one in sorted(axes, reverse=True):
            if ragged_tensor.is_ragged(made):
                made = _reduce_one(reduce_op, segment_op, made, one)
            else:
                made = reduce_op(made, axis=one)
            if keepdims:
                from braid.tensorflow.python.ops.ragged import ragged_array_ops

                made = ragged_array_ops.expand_dims(made, one)
        return made


def _reduce_one(reduce_op, segment_op, rt, axis):
    if axis > 1:
        if ragged_tensor.is_ragged(rt.values):
            return rt.with_values(_reduce_one(reduce_op, segment_op, rt.values, axis - 1))
        return rt.with_values(reduce_op(rt.values, axis=axis - 1))
    rows = rt.value_rowids()
    if axis == 1:
        return segment_op(rt.values, rows, rt.nrows())
    places = math_ops.range(rt.row_splits[-1]) - array_ops.gather(rt.row_splits, rows)
    longest = math_ops.maximum(math_ops.reduce_max(rt.row_lengths()), 0)
    return segment_op(rt.values, places, longest)


def reduce_sum(input_tensor, axis=None, keepdims=None, name=None):
    """tf.reduce_sum of ragged tensors. axis: known while the graph is built."""
    return _reduce(math_ops.reduce_sum, segment_sum, input_tensor, axis, keepdims, name or "RaggedReduceSum")


def reduce_prod(input_tensor, axis=None, keepdims=None, name=None):
    return _reduce(
        math_ops.reduce_prod, segment_prod, input_tensor, axis, keepdims, name or "RaggedReduceProd"
    )


def reduce_min(input_tensor, axis=None, keepdims=None, name=None):
    return _reduce(math_ops.reduce_min, segment_min, input_tensor, axis, keepdims, name or "RaggedReduceMin")


def reduce_max(input_tensor, axis=None, keepdims=None, name=None):
    return _reduce(math_ops.reduce_max, segment_max, input_tensor, axis, keepdims, name or "RaggedReduceMax")


def reduce_mean(input_tensor, axis=None, keepdims=None, name=None):
    """Sums divided by how many values there are."""
    with ops.name_scope(name, "RaggedReduceMean", [input_tensor, axis]):
        input_tensor = ragged_tensor.convert_to_tensor_or_ragged_tensor(input_tensor)
        total = reduce_sum(input_tensor, axis, keepdims)
        if ragged_tensor.is_ragged(input_tensor):
            ones = input_tensor.with_flat_values(array_ops.ones_like(input_tensor.flat_values))
        else:
            ones = array_ops.ones_like(input_tensor)
        count = reduce_sum(ones, axis, keepdims)
        if ragged_tensor.is_ragged(total):
            return total.with_flat_values(total.flat_values / count.flat_values)
        return total / count


def _of_numbers(reduction, input_tensor, axis, keepdims):
    """A reduction of truth values as numbers."""
    input_tensor = ragged_tensor.convert_to_tensor_or_ragged_tensor(input_tensor)
    made = reduction(math_ops.cast(input_tensor, dtypes.int32), axis, keepdims)
    return math_ops.cast(made, dtypes.bool)


def reduce_all(input_tensor, axis=None, keepdims=None, name=None):
    with ops.name_scope(name, "RaggedReduceAll", [input_tensor, axis]):
        return _of_numbers(reduce_prod, input_tensor, axis, keepdims)


def reduce_any(input_tensor, axis=None, keepdims=None, name=None):
    with ops.name_scope(name, "RaggedReduceAny", [input_tensor, axis]):
        return _of_numbers(reduce_sum, input_tensor, axis, keepdims)
