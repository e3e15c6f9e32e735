"""Cutting signals into frames."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import tf_export


def _number(value):
    return tensor_util.constant_value(value) if tensor_util.is_tensor(value) else value


@tf_export("signal.frame")
def frame(signal, frame_length, frame_step, pad_end=False, pad_value=0, axis=-1, name=None):
    """The frames of a signal: the dimension `axis` becomes two, [frames, frame_length].

    A frame begins `frame_step` after the one before. pad_end: frames that reach beyond the end are there too,
    with `pad_value` in them. The rank may be unknown, and `axis` a tensor.
    """
    with ops.name_scope(name, "frame", [signal, frame_length, frame_step, pad_value]):
        signal = ops.convert_to_tensor(signal, name="signal")
        signal.get_shape().with_rank_at_least(1)
        frame_length = ops.convert_to_tensor(frame_length, name="frame_length")
        frame_step = ops.convert_to_tensor(frame_step, name="frame_step")
        for number in (frame_length, frame_step):
            number.get_shape().assert_has_rank(0)
        shape, known, place = signal.get_shape(), None, _number(axis)
        is_known = shape.ndims is not None and place is not None
        if is_known:
            rank = shape.ndims
            if not -rank <= place < rank:
                raise ValueError("axis must be between -%d and %d, not %d" % (rank, rank - 1, place))
            axis = place % rank
            known = shape.dims[axis].value
        else:
            axis = math_ops.range(array_ops.rank(signal))[axis]
        length = array_ops.shape(signal)[axis]
        if pad_end:
            frames = -(-length // frame_step)  # rounded up
            missing = math_ops.maximum(0, frame_length + frame_step * (frames - 1) - length)
            behind = missing * array_ops.one_hot(axis, array_ops.rank(signal), dtype=missing.dtype)
            pad_value = ops.convert_to_tensor(pad_value, dtype=signal.dtype)
            pad_value.get_shape().assert_has_rank(0)
            paddings = array_ops.stack([array_ops.zeros_like(behind), behind], 1)
            signal = array_ops.pad(signal, paddings, constant_values=pad_value)
        else:
            frames = math_ops.maximum(0, 1 + (length - frame_length) // frame_step)
        signal = array_ops.reshape(
            signal, array_ops.shape(signal)
        )  # whose gradient is dense, unlike gather's
        starts = array_ops.expand_dims(math_ops.range(frames) * frame_step, 1)
        places = starts + array_ops.expand_dims(math_ops.range(frame_length), 0)
        made = array_ops.gather(signal, places, axis=axis)
        if not is_known:
            return made
        size, step = _number(frame_length), _number(frame_step)
        count = None
        if None not in (known, size, step):
            count = -(-known // int(step)) if pad_end else max(0, 1 + (known - int(size)) // int(step))
        made.set_shape(
            shape[:axis]
            .concatenate([count, None if size is None else int(size)])
            .concatenate(shape[axis + 1 :])
        )
        return made
