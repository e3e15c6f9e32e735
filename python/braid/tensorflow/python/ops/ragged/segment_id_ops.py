"""Rows as ranges of places (splits), and as the row of each place (segment ids)."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("ragged.row_splits_to_segment_ids")
def row_splits_to_segment_ids(splits, name=None, out_type=None):
    """The row of each value: [0, 3, 4] gives [0, 0, 0, 1]."""
    with ops.name_scope(name, "RaggedSplitsToSegmentIds", [splits]):
        splits = ops.convert_to_tensor(splits, preferred_dtype=dtypes.int64, name="splits")
        if splits.dtype not in (dtypes.int32, dtypes.int64):
            splits = math_ops.cast(splits, dtypes.int64)
        lengths = splits[1:] - splits[:-1]
        count = array_ops.shape(lengths, out_type=splits.dtype)[0]
        made = array_ops.repeat(math_ops.range(count), lengths, axis=0)
        return math_ops.cast(made, splits.dtype if out_type is None else out_type)


@tf_export("ragged.segment_ids_to_row_splits")
def segment_ids_to_row_splits(segment_ids, num_segments=None, out_type=None, name=None):
    """The splits of rows from the row of each value, whose numbers do not fall."""
    with ops.name_scope(name, "SegmentIdsToRaggedSplits", [segment_ids]):
        segment_ids = ops.convert_to_tensor(segment_ids, name="segment_ids")
        out_type = dtypes.int64 if out_type is None else dtypes.as_dtype(out_type)
        ids = math_ops.cast(segment_ids, dtypes.int32)
        if num_segments is not None:
            num_segments = math_ops.cast(num_segments, dtypes.int32)
        counts = math_ops.bincount(ids, minlength=num_segments, maxlength=num_segments, dtype=out_type)
        return array_ops.concat([[0], math_ops.cumsum(math_ops.cast(counts, out_type))], axis=0)
