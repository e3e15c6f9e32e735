"""Putting signals together from frames."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("signal.overlap_and_add")
def overlap_and_add(signal, frame_step, name=None):
    """The sum of frames [..., frames, frame_length], each moved by `frame_step` against the one before."""
    with ops.name_scope(name, "overlap_and_add", [signal, frame_step]):
        signal = ops.convert_to_tensor(signal, name="signal")
        signal.get_shape().with_rank_at_least(2)
        frame_step = ops.convert_to_tensor(frame_step, name="frame_step")
        frame_step.get_shape().assert_has_rank(0)
        if not frame_step.dtype.is_integer:
            raise ValueError("frame_step must be an integer. Got %s" % frame_step.dtype)
        frame_step = math_ops.cast(frame_step, dtypes.int32)
        sizes = array_ops.shape(signal)
        frames, length = sizes[-2], sizes[-1]
        total = length + frame_step * (frames - 1)
        shape, step = signal.get_shape(), tensor_util.constant_value(frame_step)
        if step is not None and shape.ndims is not None and step == shape.dims[-1].value:  # nothing overlaps
            return array_ops.reshape(signal, array_ops.concat([sizes[:-2], [total]], 0), name="fast_path")
        starts = array_ops.expand_dims(math_ops.range(frames) * frame_step, 1)
        places = array_ops.reshape(starts + array_ops.expand_dims(math_ops.range(length), 0), [-1])
        rows = array_ops.transpose(array_ops.reshape(signal, [-1, frames * length]))
        sums = array_ops.transpose(math_ops.unsorted_segment_sum(rows, places, total))
        made = array_ops.reshape(sums, array_ops.concat([sizes[:-2], [total]], 0))
        if shape.ndims is None:
            return made
        known, count = shape.as_list(), None
        if None not in (known[-1], known[-2], step):
            count = known[-1] + int(step) * (known[-2] - 1)
        made.set_shape(known[:-2] + [count])
        return made
