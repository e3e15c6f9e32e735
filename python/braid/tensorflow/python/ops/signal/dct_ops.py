"""The discrete cosine transform, as the product with a matrix of cosines."""

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import tf_export


def _matrix(type, n, norm):
    """The matrix [n, n] by which rows are multiplied."""
    if type == 1:
        k, j = np.arange(n), np.arange(n)[:, None]
        matrix = 2 * np.cos(np.pi * j * k / (n - 1))
        matrix[[0, -1]] /= 2
        return matrix
    k, j = np.arange(n), np.arange(n)[:, None]
    if type == 2:
        matrix = 2 * np.cos(np.pi * (2 * j + 1) * k / (2 * n))
        if norm == "ortho":
            matrix *= np.sqrt(0.5 / n)
            matrix[:, 0] *= np.sqrt(0.5)
        return matrix
    matrix = 2 * np.cos(np.pi * j * (2 * k + 1) / (2 * n))
    matrix[0] = 1
    if norm == "ortho":
        matrix *= np.sqrt(0.5 / n)
        matrix[0] = np.sqrt(1.0 / n)
    return matrix


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
    if size is None:
        raise NotImplementedError("dct: Braid needs to know the length when the graph is built")
    if type == 1:
        if norm == "ortho":
            raise ValueError("Normalization is not supported for the Type-I DCT.")
        if size < 2:
            raise ValueError("Type-I DCT requires the dimension to be greater than one.")
    return size


@tf_export("signal.dct", v1=["signal.dct", "spectral.dct"])
def dct(input, type=2, n=None, axis=-1, norm=None, name=None):
    """The cosine transform of the last dimension, of type 1, 2 or 3, as scipy.fftpack.dct.

    n: the length to which the dimension is cut or padded with zeros. norm: None or "ortho".
    """
    with ops.name_scope(name, "dct", [input]):
        input = ops.convert_to_tensor(input, dtype=None if hasattr(input, "dtype") else dtypes.float32)
        n = _validate(input, type, n, axis, norm)
        size = input.get_shape().dims[-1].value
        if size is None or size > n:
            input = input[..., :n]
            size = input.get_shape().dims[-1].value
        if size is not None and size < n:
            rank = input.get_shape().ndims
            input = array_ops.pad(input, [[0, 0]] * (rank - 1) + [[0, n - size]])
        matrix = _matrix(type, n, norm).astype(input.dtype.as_numpy_dtype)
        flat = math_ops.matmul(array_ops.reshape(input, [-1, n]), matrix)
        made = array_ops.reshape(flat, array_ops.concat([array_ops.shape(input)[:-1], [n]], 0))
        made.set_shape(input.get_shape()[:-1].concatenate([n]))
        return made


@tf_export("signal.idct", v1=["signal.idct", "spectral.idct"])
def idct(input, type=2, n=None, axis=-1, norm=None, name=None):
    """The inverse of tf.signal.dct, without a factor unless norm is "ortho": as scipy.fftpack.idct."""
    if n is not None:
        raise NotImplementedError("n must be None. Got: %s" % n)
    return dct(input, type={1: 1, 2: 3, 3: 2}.get(type, type), axis=axis, norm=norm, name=name)
