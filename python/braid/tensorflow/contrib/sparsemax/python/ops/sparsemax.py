"""sparsemax, by Martins and Astudillo, "From Softmax to Sparsemax", 2016."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops

__all__ = ["sparsemax"]


def sparsemax(logits, name=None):
    """The probabilities nearest to each row of logits [batch, classes]; small ones are 0.

    A row with a NaN gives NaNs.
    """
    with ops.name_scope(name, "sparsemax", [logits]) as name:
        logits = ops.convert_to_tensor(logits, name="logits")
        rows, classes = array_ops.shape(logits)[0], array_ops.shape(logits)[1]
        ordered, _ = nn_ops.top_k(logits, k=classes)
        sums = math_ops.cumsum(ordered, axis=1)
        k = math_ops.range(1, math_ops.cast(classes, logits.dtype) + 1, dtype=logits.dtype)
        count = math_ops.reduce_sum(math_ops.cast(1 + k * ordered > sums, dtypes.int32), axis=1)
        safe_count = math_ops.maximum(count, 1)
        last = array_ops.stack([math_ops.range(0, rows), safe_count - 1], axis=1)
        threshold = (array_ops.gather_nd(sums, last) - 1) / math_ops.cast(count, logits.dtype)
        made = math_ops.maximum(math_ops.cast(0, logits.dtype), logits - threshold[:, array_ops.newaxis])
        is_bad = math_ops.logical_or(math_ops.equal(count, 0), math_ops.is_nan(sums[:, -1]))
        nans = array_ops.fill([rows, classes], math_ops.cast(float("nan"), logits.dtype))
        return array_ops.where(is_bad, nans, made)
