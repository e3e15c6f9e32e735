"""The discrete cosine transform: of float32 by a Fourier transform, otherwise by a matrix of cosines."""

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.signal import fft_ops
from braid.tensorflow.python.util.tf_export import tf_export


def _matrix(type, norm, n, index, first, cos, sqrt):
    """The matrix [n, n] by which rows are multiplied, in numpy's or in the graph's arithmetic of doubles.

    index: 0 to n - 1. first: 1 and n - 1 zeros.
    """
    j, k = index[:, None], index
    if type == 1:
        last = first[::-1]
        return cos(np.pi * j * k / (n - 1)) * (2 - first - last)[:, None]
    scale = sqrt(0.5 / n) if norm == "ortho" else 1.0
    if type == 2:
        columns = 1 - first * (1 - np.sqrt(0.5)) if norm == "ortho" else 1.0
        return 2 * cos(np.pi * (2 * j + 1) * k / (2 * n)) * (scale * columns)
    rows = 2 - first * (2 - np.sqrt(2.0)) if norm == "ortho" else 2 - first
    return cos(np.pi * j * (2 * k + 1) / (2 * n)) * (scale * rows)[:, None]


def _lengthened(x, n):
    """The first n elements of the last dimension, or x with zeros behind where that is shorter than n."""
    known = x.get_shape().ndims is not None
    size = x.get_shape().dims[-1].value if known else None
    if size is not None and size >= n:
        return x[..., 0:n]
    if size is None:
        x = x[..., 0:n]
    missing = math_ops.maximum(n - array_ops.shape(x)[-1], 0) if size is None else n - size
    if known:
        paddings = [[0, 0]] * (x.get_shape().ndims - 1) + [[0, missing]]
        return array_ops.pad(x, paddings=ops.convert_to_tensor(paddings, dtype=dtypes.int32))
    others = array_ops.zeros([array_ops.rank(x) - 1, 2], dtypes.int32)
    return array_ops.pad(x, array_ops.concat([others, [[0, missing]]], 0))


def _by_fourier(x, type, norm):
    """The transform of float32 by a Fourier transform of twice the length."""
    size = x.get_shape().dims[-1].value if x.get_shape().ndims is not None else None
    n = size or array_ops.shape(x)[-1]
    count = math_ops.cast(n, dtypes.float32)
    if type == 1:
        return math_ops.real(fft_ops.rfft(array_ops.concat([x, x[..., -2:0:-1]], axis=-1)))

    def turns(index):
        return 2.0 * math_ops.exp(math_ops.complex(0.0, index * np.pi * 0.5 / count))

    def weights(first, factor):
        """first, and n - 1 times first * sqrt(factor)."""
        others = first * math_ops.sqrt(factor)
        first = array_ops.expand_dims(first, 0)
        return array_ops.pad(first, [[0, n - 1]], constant_values=others)

    if type == 2:
        scale = turns(-math_ops.range(count))
        made = math_ops.real(fft_ops.rfft(x, fft_length=[2 * n])[..., :n] * scale)
        return made * weights(0.5 * math_ops.rsqrt(count), 2.0) if norm == "ortho" else made
    x = x * (weights(math_ops.sqrt(count), 0.5) if norm == "ortho" else count)
    scale = turns(math_ops.range(count))
    spectrum = scale * math_ops.complex(x, 0.0)
    return math_ops.real(fft_ops.irfft(spectrum, fft_length=[2 * n]))[..., :n]


def _validate(x, type, n, axis, norm):
    if axis != -1:
        raise NotImplementedError("axis must be -1. Got: %s" % axis)
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if type not in (1, 2, 3):
        raise ValueError("Types I, II and III (I)DCT are supported.")
    if norm not in (None, "ortho"):
        raise ValueError("Unknown normalization. Expected None or 'ortho', got: %s" % norm)
    size = n
    if size is None:
        size = x.get_shape().dims[-1].value if x.get_shape().ndims is not None else None
    if type == 1:
        if norm == "ortho":
            raise ValueError("Normalization is not supported for the Type-I DCT.")
        if size is not None and size < 2:
            raise ValueError("Type-I DCT requires the dimension to be greater than one.")
    return size


@tf_export("signal.dct", v1=["signal.dct", "spectral.dct"])
def dct(input, type=2, n=None, axis=-1, norm=None, name=None):
    """The cosine transform of the last dimension, of type 1, 2 or 3, as scipy.fftpack.dct.

    n: the length to which the dimension is cut or padded with zeros. norm: None or "ortho".
    """
    with ops.name_scope(name, "dct", [input]):
        input = ops.convert_to_tensor(input, dtype=None if hasattr(input, "dtype") else dtypes.float32)
        size = _validate(input, type, n, axis, norm)
        if n is not None:
            input = _lengthened(input, n)
        if input.dtype == dtypes.float32:
            return _by_fourier(input, type, norm)
        sizes = array_ops.shape(input)
        if size is not None:
            n, index = size, np.arange(size, dtype=np.float64)
            matrix = _matrix(type, norm, n, index, np.eye(1, n)[0], np.cos, np.sqrt)
            matrix = matrix.astype(input.dtype.as_numpy_dtype)
        else:
            n = sizes[-1]
            index, first = math_ops.range(n), array_ops.one_hot(0, n, dtype=dtypes.float64)
            index, count = math_ops.cast(index, dtypes.float64), math_ops.cast(n, dtypes.float64)
            matrix = _matrix(type, norm, count, index, first, math_ops.cos, math_ops.sqrt)
            matrix = math_ops.cast(matrix, input.dtype)
        flat = math_ops.matmul(array_ops.reshape(input, [-1, n]), matrix)
        made = array_ops.reshape(flat, array_ops.concat([sizes[:-1], [n]], 0))
        if input.get_shape().ndims is not None:
            made.set_shape(input.get_shape()[:-1].concatenate([size]))
        return made


@tf_export("signal.idct", v1=["signal.idct", "spectral.idct"])
def idct(input, type=2, n=None, axis=-1, norm=None, name=None):
    """The inverse of tf.signal.dct, without a factor unless norm is "ortho": as scipy.fftpack.idct."""
    if n is not None:
        raise NotImplementedError("n must be None. Got: %s" % n)
    return dct(input, type={1: 1, 2: 3, 3: 2}.get(type, type), axis=axis, norm=norm, name=name)
