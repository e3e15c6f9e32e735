"""Functions of tensors that take ragged tensors too."""

import functools

RAGGED_TYPES = set()  # those of ops/ragged/ragged_tensor.py, once a program uses it


def _is_ragged(value):
    if isinstance(value, (list, tuple)):
        return any(type(v) in RAGGED_TYPES for v in value)
    return type(value) in RAGGED_TYPES


def _any_ragged(args, kwargs):
    return any(map(_is_ragged, args)) or any(map(_is_ragged, kwargs.values()))


def elementwise(function):
    """A function that makes each element from those at its place; of ragged tensors, from their values."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if RAGGED_TYPES and _any_ragged(args, kwargs):
            from braid.tensorflow.python.ops.ragged import ragged_dispatch

            return ragged_dispatch.elementwise(function, args, kwargs)
        return function(*args, **kwargs)

    return wrapper


def or_ragged(function):
    """A function that is another one of ragged tensors: that of its name in ops/ragged/ragged_dispatch.py."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if RAGGED_TYPES and _any_ragged(args, kwargs):
            from braid.tensorflow.python.ops.ragged import ragged_dispatch

            return ragged_dispatch.apply(function, args, kwargs)
        return function(*args, **kwargs)

    return wrapper
