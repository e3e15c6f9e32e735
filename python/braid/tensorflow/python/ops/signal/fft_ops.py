"""Fourier's transform (tf.signal.fft and the like), by the engine's ops."""

from braid.tensorflow.python.framework import dtypes, ops, tensor_util
from braid.tensorflow.python.ops import array_ops, gen_spectral_ops, manip_ops, math_ops
from braid.tensorflow.python.util.tf_export import tf_export

fft, fft2d, fft3d = gen_spectral_ops.fft, gen_spectral_ops.fft2d, gen_spectral_ops.fft3d
ifft, ifft2d, ifft3d = gen_spectral_ops.ifft, gen_spectral_ops.ifft2d, gen_spectral_ops.ifft3d


def _lengths_of(x, rank):
    """The sizes of the last `rank` dimensions, as constants where they are known."""
    if x.shape.ndims is not None and x.shape[-rank:].is_fully_defined():
        return ops.convert_to_tensor(x.shape[-rank:].as_list(), dtypes.int32)
    return array_ops.shape(x)[-rank:]


def _padded(x, rank, lengths, is_half):
    """x with zeros behind where its last `rank` dimensions are shorter than a transform of `lengths` needs.

    `is_half`: of the last dimension half a spectrum is needed.
    """
    known = tensor_util.constant_value_as_shape(lengths)
    if x.shape.ndims is not None and any(size.value == 0 for size in x.shape.dims):
        return x
    if known.is_fully_defined() and x.shape.ndims is not None:
        needed = known.as_list()
        if is_half and needed[-1] > 0:
            needed[-1] = needed[-1] // 2 + 1
        have = x.shape[-rank:]
        if all(h.value is not None and h.value >= n for h, n in zip(have, needed)):
            return x
        if have.is_fully_defined():
            pads = [[0, 0]] * (x.shape.ndims - rank) + [
                [0, max(n - h, 0)] for n, h in zip(needed, have.as_list())
            ]
            return array_ops.pad(x, pads)
    count = array_ops.rank(x)
    have = array_ops.shape(x)[-rank:]
    others = array_ops.zeros([math_ops.maximum(0, count - rank)], lengths.dtype)
    if is_half:
        lengths = array_ops.concat([lengths[:-1], lengths[-1:] // 2 + 1], 0)
    missing = array_ops.concat([others, math_ops.maximum(0, lengths - have)], 0)
    return array_ops.pad(x, array_ops.stack([array_ops.zeros_like(missing), missing], axis=1))


def _forward(op, rank, name, input_tensor, fft_length):
    with ops.name_scope(name, op.__name__, [input_tensor, fft_length]) as name:
        x = ops.convert_to_tensor(input_tensor, preferred_dtype=dtypes.float32)
        x.shape.with_rank_at_least(rank)
        wide = dtypes.complex128 if x.dtype == dtypes.float64 else dtypes.complex64
        lengths = (
            _lengths_of(x, rank) if fft_length is None else ops.convert_to_tensor(fft_length, dtypes.int32)
        )
        return op(_padded(x, rank, lengths, False), lengths, Tcomplex=wide, name=name)


def _inverse_lengths(x, rank):
    """How much the inverse transform of half spectra gives: twice the last size less 2."""
    if x.shape.ndims is not None and x.shape[-rank:].is_fully_defined():
        lengths = x.shape[-rank:].as_list()
        lengths[-1] = max(0, 2 * (lengths[-1] - 1))
        return ops.convert_to_tensor(lengths, dtypes.int32)
    lengths = array_ops.unstack(array_ops.shape(x)[-rank:], num=rank)
    lengths[-1] = math_ops.maximum(0, 2 * (lengths[-1] - 1))
    return array_ops.stack(lengths)


def _backward(op, rank, name, input_tensor, fft_length):
    with ops.name_scope(name, op.__name__, [input_tensor, fft_length]) as name:
        x = ops.convert_to_tensor(input_tensor, preferred_dtype=dtypes.complex64)
        x.shape.with_rank_at_least(rank)
        real = dtypes.float64 if x.dtype == dtypes.complex128 else dtypes.float32
        if fft_length is None:
            lengths = _inverse_lengths(x, rank)
        else:
            lengths = ops.convert_to_tensor(fft_length, dtypes.int32)
        return op(_padded(x, rank, lengths, True), lengths, Treal=real, name=name)


@tf_export("signal.rfft", v1=["signal.rfft", "spectral.rfft"])
def rfft(input_tensor, fft_length=None, name=None):
    """The transform of real numbers: `fft_length` [1] // 2 + 1 of them; the others are conjugates of these."""
    return _forward(gen_spectral_ops.rfft, 1, name, input_tensor, fft_length)


@tf_export("signal.rfft2d", v1=["signal.rfft2d", "spectral.rfft2d"])
def rfft2d(input_tensor, fft_length=None, name=None):
    return _forward(gen_spectral_ops.rfft2d, 2, name, input_tensor, fft_length)


@tf_export("signal.rfft3d", v1=["signal.rfft3d", "spectral.rfft3d"])
def rfft3d(input_tensor, fft_length=None, name=None):
    return _forward(gen_spectral_ops.rfft3d, 3, name, input_tensor, fft_length)


@tf_export("signal.irfft", v1=["signal.irfft", "spectral.irfft"])
def irfft(input_tensor, fft_length=None, name=None):
    """The real numbers whose rfft it is: `fft_length` [1] of them, twice the size of the spectrum less 2."""
    return _backward(gen_spectral_ops.irfft, 1, name, input_tensor, fft_length)


@tf_export("signal.irfft2d", v1=["signal.irfft2d", "spectral.irfft2d"])
def irfft2d(input_tensor, fft_length=None, name=None):
    return _backward(gen_spectral_ops.irfft2d, 2, name, input_tensor, fft_length)


@tf_export("signal.irfft3d", v1=["signal.irfft3d", "spectral.irfft3d"])
def irfft3d(input_tensor, fft_length=None, name=None):
    return _backward(gen_spectral_ops.irfft3d, 3, name, input_tensor, fft_length)


def _size(x, axis):
    known = x.shape[axis].value
    return array_ops.shape(x)[axis] if known is None else known


def _axes(x, axes):
    if axes is None:
        return list(range(x.get_shape().ndims))
    return [axes] if isinstance(axes, int) else list(axes)


@tf_export("signal.fftshift")
def fftshift(x, axes=None, name=None):
    """Moves the frequency 0 into the middle of dimensions, all by default."""
    with ops.name_scope(name, "fftshift") as name:
        x = ops.convert_to_tensor(x)
        axes = _axes(x, axes)
        return manip_ops.roll(x, [_size(x, axis) // 2 for axis in axes], axes, name)


@tf_export("signal.ifftshift")
def ifftshift(x, axes=None, name=None):
    """The inverse of tf.signal.fftshift."""
    with ops.name_scope(name, "ifftshift") as name:
        x = ops.convert_to_tensor(x)
        axes = _axes(x, axes)
        return manip_ops.roll(x, [-(_size(x, axis) // 2) for axis in axes], axes, name)
