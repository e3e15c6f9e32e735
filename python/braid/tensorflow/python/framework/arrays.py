"""Tensors of the engine from numpy's arrays, and back. Memory is shared where the types allow it."""

import numpy as np

from braid import _native
from braid.tensorflow.python.framework import dtypes

_STRING, _RESOURCE, _VARIANT = 7, 20, 21
_SHARED = 64 << 10  # bytes from which a result is not copied: less is copied as fast as shared


def to_native(array, number):
    """A tensor of type `number` over the memory of a C-contiguous array, which must not change meanwhile."""
    if number == _STRING:
        return _native.Tensor.from_strings([_bytes(item) for item in array.ravel().tolist()], array.shape)
    array = np.ascontiguousarray(array).reshape(array.shape)
    if array.dtype.names:  # numbers that numpy does not know
        array = array.view(array.dtype[0])
    if array.ndim == 0:
        array = array.reshape(1)
        return _native.Tensor.from_buffer(array, number, ())
    return _native.Tensor.from_buffer(array, number, array.shape)


def as_type(array, dtype):
    """The array with elements of a DType. Numbers become bfloat16 by rounding to the nearest, ties to even."""
    wanted = np.dtype(dtype.as_numpy_dtype)
    if wanted.names != ("bfloat16",) or array.dtype.kind not in "biuf":
        return array.astype(wanted, copy=False)
    numbers = np.asarray(array, np.float32)
    bits = numbers.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    rounded = np.where(np.isnan(numbers), 0x7FC0, rounded).astype(np.uint16)
    return np.ascontiguousarray(rounded).reshape(array.shape).view(wanted)


def _bytes(item):
    if isinstance(item, bytes):
        return item
    if isinstance(item, str):
        return item.encode()
    raise TypeError(f"Unsupported object type {type(item).__name__}: a string tensor has str or bytes")


def view(tensor):
    """An array over the tensor's memory, which can be written only where nothing else holds it."""
    number = tensor.dtype
    if number == _STRING:
        out = np.empty(tensor.shape, object)
        flat = out.reshape(-1)
        flat[:] = tensor.strings()
        return out
    array = np.asarray(tensor)
    dtype = dtypes.as_dtype(number)
    wanted = dtype.as_numpy_dtype
    if dtype.is_quantized:
        return array  # of plain integers
    if array.dtype == object:
        return array  # handles and variants
    if isinstance(wanted, np.dtype) and wanted.names:
        array = array.view(wanted)
    elif array.dtype.type is np.longlong or array.dtype.type is np.ulonglong:
        array = array.view(wanted)  # numpy has two types of 64 bits: that of its name
    return array


def to_numpy(tensor):
    """What a step returns: an array that can be written, or a scalar of numpy's (bytes of a string).

    A large array has the tensor's memory, unless that is also of a variable, of a constant or of a feed.
    """
    number = tensor.dtype
    if number == _STRING:
        return view(tensor) if tensor.shape else tensor.strings()[0]
    array = view(tensor)
    if not array.shape:
        return array[()]
    return array if array.nbytes >= _SHARED and array.flags.writeable else array.copy()
