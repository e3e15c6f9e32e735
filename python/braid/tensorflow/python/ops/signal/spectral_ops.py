"""Spectra of short parts of signals."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.signal import dct_ops
from braid.tensorflow.python.ops.signal import fft_ops
from braid.tensorflow.python.ops.signal import reconstruction_ops
from braid.tensorflow.python.ops.signal import shape_ops
from braid.tensorflow.python.ops.signal import window_ops
from braid.tensorflow.python.util.tf_export import tf_export


def _number(value, name):
    known = tensor_util.constant_value(ops.convert_to_tensor(value, name=name))
    if known is None:
        raise NotImplementedError(f"{name}: Braid needs to know it when the graph is built")
    return int(known)


def _enclosing_power_of_two(value):
    """The least power of two that is not less."""
    return 1 << max(0, int(value) - 1).bit_length()


@tf_export("signal.stft")
def stft(
    signals,
    frame_length,
    frame_step,
    fft_length=None,
    window_fn=window_ops.hann_window,
    pad_end=False,
    name=None,
):
    """Fourier's transform of frames of signals [..., samples]: [..., frames, fft_length / 2 + 1].

    fft_length: None is the next power of two. window_fn: of the window for frames, window_fn(length,
    dtype=...).
    """
    with ops.name_scope(name, "stft", [signals, frame_length, frame_step]):
        signals = ops.convert_to_tensor(signals, name="signals")
        signals.get_shape().with_rank_at_least(1)
        frame_length = _number(frame_length, "frame_length")
        frame_step = _number(frame_step, "frame_step")
        if fft_length is None:
            fft_length = _enclosing_power_of_two(frame_length)
        else:
            fft_length = _number(fft_length, "fft_length")
        frames = shape_ops.frame(signals, frame_length, frame_step, pad_end=pad_end)
        if window_fn is not None:
            frames = frames * window_fn(frame_length, dtype=frames.dtype)
        return fft_ops.rfft(frames, [fft_length])


@tf_export("signal.inverse_stft_window_fn")
def inverse_stft_window_fn(frame_step, forward_window_fn=window_ops.hann_window, name=None):
    """The window with which tf.signal.inverse_stft undoes an stft with the forward window."""
    with ops.name_scope(name, "inverse_stft_window_fn", [forward_window_fn]):
        step = _number(frame_step, "frame_step")

        def inverse_stft_window_fn_inner(frame_length, dtype):
            with ops.name_scope(None, "inverse_stft_window_fn", [forward_window_fn]):
                length = _number(frame_length, "frame_length")
                window = forward_window_fn(length, dtype=dtype)
                overlaps = -(-length // step)
                squares = array_ops.pad(math_ops.square(window), [[0, overlaps * step - length]])
                squares = array_ops.reshape(squares, [overlaps, step])
                total = math_ops.reduce_sum(squares, 0, keepdims=True)
                total = array_ops.reshape(array_ops.tile(total, [overlaps, 1]), [overlaps * step])
                return window / total[:length]

        return inverse_stft_window_fn_inner


@tf_export("signal.inverse_stft")
def inverse_stft(
    stfts, frame_length, frame_step, fft_length=None, window_fn=window_ops.hann_window, name=None
):
    """Signals [..., samples] from what tf.signal.stft makes; see tf.signal.inverse_stft_window_fn."""
    with ops.name_scope(name, "inverse_stft", [stfts]):
        stfts = ops.convert_to_tensor(stfts, name="stfts")
        stfts.get_shape().with_rank_at_least(2)
        frame_length = _number(frame_length, "frame_length")
        frame_step = _number(frame_step, "frame_step")
        if fft_length is None:
            fft_length = _enclosing_power_of_two(frame_length)
        else:
            fft_length = _number(fft_length, "fft_length")
        frames = fft_ops.irfft(stfts, [fft_length])
        if frame_length > fft_length:
            frames = dct_ops._lengthened(frames, frame_length)
        else:
            frames = frames[..., :frame_length]
        if window_fn is not None:
            frames = frames * window_fn(frame_length, dtype=frames.dtype)
        return reconstruction_ops.overlap_and_add(frames, frame_step)
