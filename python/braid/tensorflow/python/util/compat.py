"""Text and bytes, and the types that count as numbers (tf.compat)."""

import collections.abc as collections_abc  # noqa: F401
import numbers
import os

import numpy as np

from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("compat.as_bytes")
def as_bytes(bytes_or_text, encoding="utf-8"):
    """Bytes of a str, bytes or bytearray. TypeError: it is none of them."""
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError("Expected binary or unicode string, got %r" % (bytes_or_text,))


@tf_export("compat.as_text")
def as_text(bytes_or_text, encoding="utf-8"):
    """A str of a str or bytes. TypeError: it is none of them."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError("Expected binary or unicode string, got %r" % (bytes_or_text,))


as_str = as_text
tf_export("compat.as_str").export_constant(__name__, "as_str")


@tf_export("compat.as_str_any")
def as_str_any(value):
    """A str of bytes, and str() of anything else."""
    return as_text(value) if isinstance(value, bytes) else str(value)


@tf_export("compat.path_to_str")
def path_to_str(path):
    """The path of a pathlib.Path as a str; anything else as it is."""
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else path


def path_to_bytes(path):
    """A path as bytes."""
    return as_bytes(os.fspath(path) if hasattr(path, "__fspath__") else path)


integral_types = (numbers.Integral, np.integer)
tf_export("compat.integral_types").export_constant(__name__, "integral_types")
real_types = (numbers.Real, np.integer, np.floating)
tf_export("compat.real_types").export_constant(__name__, "real_types")
complex_types = (numbers.Complex, np.number)
tf_export("compat.complex_types").export_constant(__name__, "complex_types")
bytes_or_text_types = (bytes, str)
tf_export("compat.bytes_or_text_types").export_constant(__name__, "bytes_or_text_types")
