"""Ranges of different lengths."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import gen_ragged_math_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor
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
        return ragged_tensor.RaggedTensor.from_row_splits(values, splits)


def _of_one_type(*tensors):
    """The tensors in the widest of their types."""
    order = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
    widest = max((t.dtype for t in tensors), key=order.index)
    return [math_ops.cast(t, widest) for t in tensors]
