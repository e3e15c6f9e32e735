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
        outer = sizes[:-2]
        outer_rank = array_ops.size(outer)
        length, frames = sizes[-1], sizes[-2]
        total = length + frame_step * (frames - 1)
        shape, step = signal.get_shape(), tensor_util.constant_value(frame_step)

        def shaped(signal, inner, name=None):
            return array_ops.reshape(signal, array_ops.concat([outer, inner], 0), name=name)

        if step is not None and shape.ndims is not None and step == shape.dims[-1].value:  # nothing overlaps
            return shaped(signal, [total], "fast_path")
        # A frame has `segments` segments of frame_step samples. With zeros behind the frames, a row for each
        # place of a segment in its frame, cut short by one, has its segments moved by that place: the rows
        # are added.
        segments = -(-length // frame_step)
        paddings = [[0, segments], [0, segments * frame_step - length]]
        others = array_ops.zeros([outer_rank, 2], dtypes.int32)
        signal = array_ops.pad(signal, array_ops.concat([others, paddings], 0))
        signal = shaped(signal, [frames + segments, segments, frame_step])
        order = array_ops.concat([math_ops.range(outer_rank), outer_rank + [1, 0, 2]], 0)
        signal = array_ops.transpose(signal, order)
        signal = shaped(signal, [(frames + segments) * segments, frame_step])
        signal = signal[..., : (frames + segments - 1) * segments, :]
        signal = shaped(signal, [segments, (frames + segments - 1), frame_step])
        signal = math_ops.reduce_sum(signal, -3)
        signal = shaped(signal, [(frames + segments - 1) * frame_step])
        made = signal[..., :total]
        if shape.ndims is None:
            return made
        known, count = shape.as_list(), None
        if None not in (known[-1], known[-2], step):
            count = known[-1] + int(step) * (known[-2] - 1)
        made.set_shape(known[:-2] + [count])
        return made
