"""Rows as ranges of places (splits), and as the row of each place (segment ids)."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_math_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("ragged.row_splits_to_segment_ids")
def row_splits_to_segment_ids(splits, name=None, out_type=None):
    """The row of each value: [0, 3, 4] gives [0, 0, 0, 1]."""
    with ops.name_scope(name, "RaggedSplitsToSegmentIds", [splits]):
        splits = ops.convert_to_tensor(splits, preferred_dtype=dtypes.int64, name="splits")
        if splits.dtype not in (dtypes.int32, dtypes.int64):
            if splits.shape.num_elements() == 0:
                raise ValueError("Invalid row_splits: []")
            raise ValueError("splits must have dtype int32 or int64")
        splits.shape.assert_has_rank(1)
        if splits.shape.num_elements() == 0:
            raise ValueError("Invalid row_splits: []")
        lengths = splits[1:] - splits[:-1]
        out_type = splits.dtype if out_type is None else dtypes.as_dtype(out_type)
        count = array_ops.shape(splits, out_type=out_type)[-1] - 1
        return array_ops.repeat_with_axis(math_ops.range(count), lengths, axis=0)


@tf_export("ragged.segment_ids_to_row_splits")
def segment_ids_to_row_splits(segment_ids, num_segments=None, out_type=None, name=None):
    """The splits of rows from the row of each value, whose numbers do not fall."""
    with ops.name_scope(name, "SegmentIdsToRaggedSplits", [segment_ids]):
        if out_type is None:
            given = next((v for v in (segment_ids, num_segments) if isinstance(v, ops.Tensor)), None)
            out_type = dtypes.int64 if given is None else given.dtype
        segment_ids = ops.convert_to_tensor(segment_ids, name="segment_ids")
        if not segment_ids.dtype.is_integer:
            if segment_ids.shape.num_elements() != 0:
                raise TypeError("segment_ids must be an integer tensor; dtype=%s" % segment_ids.dtype)
            segment_ids = math_ops.cast(segment_ids, dtypes.int32)  # [] is a tensor of floats
        segment_ids.shape.assert_has_rank(1)
        out_type = dtypes.as_dtype(out_type)
        ids = gen_math_ops.cast(segment_ids, dtypes.int32)
        known = None
        if num_segments is not None:
            num_segments = ops.convert_to_tensor(num_segments, name="num_segments")
            num_segments.shape.assert_has_rank(0)
            num_segments = gen_math_ops.cast(num_segments, dtypes.int32)
            known = tensor_util.constant_value(num_segments)
        counts = math_ops.bincount(ids, minlength=num_segments, maxlength=num_segments, dtype=out_type)
        made = array_ops.concat([[0], math_ops.cumsum(counts)], axis=0)
        if known is not None:
            made.set_shape([known + 1])
        return made
