"""Functions of tensors that take ragged tensors too."""

import functools

RAGGED_TYPES = set()  # those of ops/ragged/ragged_tensor.py, once a program uses it


def elementwise(function):
    """A function that makes each element from those at its place; of ragged tensors, from their values."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if RAGGED_TYPES and not RAGGED_TYPES.isdisjoint(map(type, (*args, *kwargs.values()))):
            from braid.tensorflow.python.ops.ragged import ragged_tensor

            return ragged_tensor.map_flat_values(function, *args, **kwargs)
        return function(*args, **kwargs)

    return wrapper
