"""Fourier's transform, as products with matrices of roots of unity.

A length n1 * n2 is transformed in two steps, of the lengths n1 and n2 (Cooley and Tukey 1965); the products
have gradients, and the nodes are those of products, not TensorFlow's FFT. The length must be known when the
graph is built.
"""

import functools
import math

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import manip_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import tf_export

_WHOLE = 64  # a shorter transform is one product: two steps would not be less work
_PRIME_MAX = 4096  # the greatest matrix of a length without divisors: 128 MiB


def _roots(rows, columns, n, sign, dtype):
    """exp(sign * 2 pi i j k / n) for j < rows and k < columns."""
    products = np.outer(np.arange(rows), np.arange(columns)) % n
    return np.exp(sign * 2j * np.pi * products / n).astype(dtype.as_numpy_dtype)


def _divisor(n):
    """The divisor of n that is nearest to its root from below."""
    return next(d for d in range(int(math.isqrt(n)), 0, -1) if n % d == 0)


def _transform(x, n, sign):
    """The transform of the last dimension, whose size is n, without a factor."""
    first = _divisor(n) if n > _WHOLE else 1
    if first == 1:
        if n > _PRIME_MAX:
            raise NotImplementedError(
                f"Fourier's transform of length {n}: Braid has it for lengths whose prime factors are at "
                f"most "
                f"{_PRIME_MAX}; pad to a power of two"
            )
        return _product(x, _roots(n, n, n, sign, x.dtype))
    second = n // first
    outer = array_ops.shape(x)[:-1]
    x = array_ops.reshape(x, array_ops.concat([outer, [first, second]], 0))
    x = array_ops.matrix_transpose(_transform(array_ops.matrix_transpose(x), first, sign))
    x = x * _roots(first, second, n, sign, x.dtype)
    x = array_ops.matrix_transpose(_transform(x, second, sign))
    return array_ops.reshape(x, array_ops.concat([outer, [n]], 0))


def _product(x, matrix):
    """x times a matrix, along its last dimension."""
    n = matrix.shape[0]
    flat = math_ops.matmul(array_ops.reshape(x, [-1, n]), matrix)
    return array_ops.reshape(flat, array_ops.concat([array_ops.shape(x)[:-1], [matrix.shape[1]]], 0))


def _size(x, axis):
    size = None if x.get_shape().ndims is None else x.get_shape().dims[axis].value
    if size is None:
        raise NotImplementedError(
            "Fourier's transform: Braid needs to know the length when the graph is built"
        )
    return size


def _along(x, axis, transform):
    """transform(x) for the dimension `axis` in place of the last one."""
    if axis == -1:
        return transform(x)
    rank = x.get_shape().ndims
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return array_ops.transpose(transform(array_ops.transpose(x, order)), order)


def _complex_fft(name, rank, sign):
    """fft or ifft over the last `rank` dimensions."""

    def build(input, name=None):
        with ops.name_scope(name, default_name, [input]) as scope:
            x = ops.convert_to_tensor(input, name="input")
            if not x.dtype.is_complex:
                raise TypeError(f"{default_name} takes complex64 and complex128, not {x.dtype}")
            known = x.get_shape().with_rank_at_least(rank)
            count = 1
            for axis in range(-1, -rank - 1, -1):
                n = _size(x, axis)
                x = _along(x, axis, functools.partial(_transform, n=n, sign=sign))
                count *= n
            if sign > 0:
                x = x * np.array(1.0 / count, dtype=x.dtype.as_numpy_dtype)
            x.set_shape(known)
            return array_ops.identity(x, name=scope)

    default_name = name
    return build


_fft, _fft2d, _fft3d = (_complex_fft(n, r, -1) for n, r in (("FFT", 1), ("FFT2D", 2), ("FFT3D", 3)))
_ifft, _ifft2d, _ifft3d = (_complex_fft(n, r, 1) for n, r in (("IFFT", 1), ("IFFT2D", 2), ("IFFT3D", 3)))


@tf_export("signal.fft", v1=["signal.fft", "spectral.fft", "fft"])
def fft(input, name=None):
    """Fourier's transform of the last dimension of complex numbers."""
    return _fft(input, name)


@tf_export("signal.fft2d", v1=["signal.fft2d", "spectral.fft2d", "fft2d"])
def fft2d(input, name=None):
    """Fourier's transform of the last two dimensions of complex numbers."""
    return _fft2d(input, name)


@tf_export("signal.fft3d", v1=["signal.fft3d", "spectral.fft3d", "fft3d"])
def fft3d(input, name=None):
    """Fourier's transform of the last three dimensions of complex numbers."""
    return _fft3d(input, name)


@tf_export("signal.ifft", v1=["signal.ifft", "spectral.ifft", "ifft"])
def ifft(input, name=None):
    """The inverse of tf.signal.fft."""
    return _ifft(input, name)


@tf_export("signal.ifft2d", v1=["signal.ifft2d", "spectral.ifft2d", "ifft2d"])
def ifft2d(input, name=None):
    """The inverse of tf.signal.fft2d."""
    return _ifft2d(input, name)


@tf_export("signal.ifft3d", v1=["signal.ifft3d", "spectral.ifft3d", "ifft3d"])
def ifft3d(input, name=None):
    """The inverse of tf.signal.fft3d."""
    return _ifft3d(input, name)


def _fitted(x, lengths):
    """x with its last dimensions cut or padded with zeros to these lengths."""
    rank = len(lengths)
    before = x.get_shape().ndims - rank
    paddings = [[0, 0]] * before
    for axis, n in zip(range(-rank, 0), lengths):
        size = _size(x, axis)
        if size > n:
            x = x[(Ellipsis, slice(0, n)) + (slice(None),) * (-axis - 1)]
        paddings = paddings + [[0, max(0, n - size)]]
    return array_ops.pad(x, paddings) if any(p[1] for p in paddings) else x


def _lengths(fft_length, x, rank):
    """The lengths of the transform as numbers; None: there are none given."""
    if fft_length is None:
        return None
    known = tensor_util.constant_value(ops.convert_to_tensor(fft_length, dtypes.int32))
    if known is None:
        raise NotImplementedError("fft_length: Braid needs to know it when the graph is built")
    if known.shape != (rank,):
        raise ValueError("fft_length must have %d elements, not the shape %s" % (rank, known.shape))
    return [int(n) for n in known]


def _rfft_wrapper(default_name, rank):
    def build(input_tensor, fft_length=None, name=None):
        with ops.name_scope(name, default_name, [input_tensor, fft_length]) as scope:
            x = ops.convert_to_tensor(input_tensor, dtypes.float32)
            x.get_shape().with_rank_at_least(rank)
            lengths = _lengths(fft_length, x, rank) or [_size(x, axis) for axis in range(-rank, 0)]
            x = _fitted(x, lengths)
            z = math_ops.complex(x, array_ops.zeros_like(x))
            half = lengths[-1] // 2 + 1
            z = _transform(z, lengths[-1], -1)[..., :half]
            for axis, n in zip(range(-rank, -1), lengths):
                z = _along(z, axis, functools.partial(_transform, n=n, sign=-1))
            z.set_shape(x.get_shape()[:-1].concatenate([half]))
            return array_ops.identity(z, name=scope)

    return build


def _irfft_wrapper(default_name, rank):
    def build(input_tensor, fft_length=None, name=None):
        with ops.name_scope(name, default_name, [input_tensor, fft_length]) as scope:
            z = ops.convert_to_tensor(input_tensor, dtypes.complex64)
            z.get_shape().with_rank_at_least(rank)
            lengths = _lengths(fft_length, z, rank)
            if lengths is None:
                lengths = [_size(z, axis) for axis in range(-rank, 0)]
                lengths[-1] = max(0, 2 * (lengths[-1] - 1))
            n = lengths[-1]
            z = _fitted(z, lengths[:-1] + [n // 2 + 1])
            count = 1
            for axis, size in zip(range(-rank, -1), lengths):
                z = _along(z, axis, functools.partial(_transform, n=size, sign=1))
                count *= size
            # x[j] = sum of w[k] * (Re z[k] cos - Im z[k] sin), where all k but the first and the middle count
            # twice.
            angles = 2 * np.pi * (np.outer(np.arange(n // 2 + 1), np.arange(n)) % n) / n
            weights = np.full((n // 2 + 1, 1), 2.0)
            weights[0] = 1
            if n % 2 == 0:
                weights[-1] = 1
            scale = weights / (count * n)
            dtype = z.dtype.real_dtype.as_numpy_dtype
            if n > _PRIME_MAX:
                raise NotImplementedError(f"the inverse of length {n}: Braid has it up to {_PRIME_MAX}")
            x = _product(math_ops.real(z), (scale * np.cos(angles)).astype(dtype))
            x = x - _product(math_ops.imag(z), (scale * np.sin(angles)).astype(dtype))
            x.set_shape(z.get_shape()[:-1].concatenate([n]))
            return array_ops.identity(x, name=scope)

    return build


_rfft, _rfft2d, _rfft3d = (_rfft_wrapper(n, r) for n, r in (("rfft", 1), ("rfft2d", 2), ("rfft3d", 3)))
_irfft, _irfft2d, _irfft3d = (_irfft_wrapper(n, r) for n, r in (("irfft", 1), ("irfft2d", 2), ("irfft3d", 3)))


@tf_export("signal.rfft", v1=["signal.rfft", "spectral.rfft"])
def rfft(input_tensor, fft_length=None, name=None):
    """Fourier's transform of the last dimension of real numbers, [..., n / 2 + 1].

    fft_length: [n], to which the dimension is cut or padded with zeros.
    """
    return _rfft(input_tensor, fft_length, name)


@tf_export("signal.rfft2d", v1=["signal.rfft2d", "spectral.rfft2d"])
def rfft2d(input_tensor, fft_length=None, name=None):
    """Fourier's transform of the last two dimensions of real numbers; see tf.signal.rfft."""
    return _rfft2d(input_tensor, fft_length, name)


@tf_export("signal.rfft3d", v1=["signal.rfft3d", "spectral.rfft3d"])
def rfft3d(input_tensor, fft_length=None, name=None):
    """Fourier's transform of the last three dimensions of real numbers; see tf.signal.rfft."""
    return _rfft3d(input_tensor, fft_length, name)


@tf_export("signal.irfft", v1=["signal.irfft", "spectral.irfft"])
def irfft(input_tensor, fft_length=None, name=None):
    """The inverse of tf.signal.rfft."""
    return _irfft(input_tensor, fft_length, name)


@tf_export("signal.irfft2d", v1=["signal.irfft2d", "spectral.irfft2d"])
def irfft2d(input_tensor, fft_length=None, name=None):
    """The inverse of tf.signal.rfft2d."""
    return _irfft2d(input_tensor, fft_length, name)


@tf_export("signal.irfft3d", v1=["signal.irfft3d", "spectral.irfft3d"])
def irfft3d(input_tensor, fft_length=None, name=None):
    """The inverse of tf.signal.rfft3d."""
    return _irfft3d(input_tensor, fft_length, name)


def _axes(x, axes):
    if axes is None:
        return list(range(x.get_shape().ndims))
    return [axes] if isinstance(axes, int) else list(axes)


@tf_export("signal.fftshift")
def fftshift(x, axes=None, name=None):
    """Moves the frequency 0 into the middle of dimensions, all by default."""
    with ops.name_scope(name, "fftshift"):
        x = ops.convert_to_tensor(x)
        axes = _axes(x, axes)
        return manip_ops.roll(x, [_size(x, axis) // 2 for axis in axes], axes)


@tf_export("signal.ifftshift")
def ifftshift(x, axes=None, name=None):
    """The inverse of tf.signal.fftshift."""
    with ops.name_scope(name, "ifftshift"):
        x = ops.convert_to_tensor(x)
        axes = _axes(x, axes)
        return manip_ops.roll(x, [-(_size(x, axis) // 2) for axis in axes], axes)
