"""Outputs of layers in collections, under an alias."""

import collections

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.layers.utils import constant_value, smart_cond

__all__ = [
    "collect_named_outputs",
    "constant_value",
    "static_cond",
    "smart_cond",
    "get_variable_collections",
    "two_element_tuple",
    "n_positive_integers",
    "channel_dimension",
    "last_dimension",
]

NamedOutputs = collections.namedtuple("NamedOutputs", ["name", "outputs"])


def collect_named_outputs(collections, alias, outputs):
    """The outputs, added to the collections with their alias."""
    if collections:
        append_tensor_alias(outputs, alias)
        ops.add_to_collections(collections, outputs)
    return outputs


def append_tensor_alias(tensor, alias):
    """The tensor with one more name."""
    if alias[-1] == "/":
        alias = alias[:-1]
    tensor.aliases = [*getattr(tensor, "aliases", ()), alias]
    return tensor


def gather_tensors_aliases(tensors):
    """The names of tensors."""
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


def get_tensor_aliases(tensor):
    """The names that a tensor has beside its own, or its own."""
    if getattr(tensor, "aliases", None):
        return tensor.aliases
    name = tensor.name
    return [name[:-2] if name[-2:] == ":0" else name]


def convert_collection_to_dict(collection, clear_collection=False):
    """{alias: output} of a collection."""
    result = {
        alias: output for output in ops.get_collection(collection) for alias in get_tensor_aliases(output)
    }
    if clear_collection:
        ops.get_default_graph().clear_collection(collection)
    return result


def static_cond(pred, fn1, fn2):
    """fn1() or fn2() for a bool."""
    if not callable(fn1):
        raise TypeError("fn1 must be callable.")
    if not callable(fn2):
        raise TypeError("fn2 must be callable.")
    return fn1() if pred else fn2()


def get_variable_collections(variables_collections, name):
    """The collections for a variable: those of its name where they are a dict."""
    if isinstance(variables_collections, dict):
        return variables_collections.get(name, None)
    return variables_collections


def _get_dimension(shape, dim, min_rank=1):
    if not isinstance(shape, tensor_shape.TensorShape):
        shape = tensor_shape.TensorShape(shape)
    if shape.ndims is None:
        raise ValueError("dims of shape must be known but is None")
    if shape.ndims < min_rank:
        raise ValueError(f"rank of shape must be at least {min_rank} not: {shape.ndims}")
    value = tensor_shape.dimension_value(shape.dims[dim])
    if value is None:
        raise ValueError(f"dimension {dim} of shape must be known but is None: {shape}")
    return value


def channel_dimension(shape, data_format, min_rank=1):
    """The number of channels: the second size for "NC...", the last otherwise."""
    return _get_dimension(shape, 1 if data_format.startswith("NC") else -1, min_rank)


def last_dimension(shape, min_rank=1):
    return _get_dimension(shape, -1, min_rank)


def two_element_tuple(int_or_tuple):
    """An integer twice, or two integers, as a tuple."""
    if isinstance(int_or_tuple, (list, tuple)):
        if len(int_or_tuple) != 2:
            raise ValueError(f"Must be a list with 2 elements: {int_or_tuple}")
        return int(int_or_tuple[0]), int(int_or_tuple[1])
    if isinstance(int_or_tuple, int):
        return int_or_tuple, int_or_tuple
    if isinstance(int_or_tuple, tensor_shape.TensorShape) and len(int_or_tuple) == 2:
        return tuple(int_or_tuple.as_list())
    raise ValueError("Must be an int, a list with 2 elements or a TensorShape of length 2")


def n_positive_integers(n, value):
    """n positive integers: one n times, or n of them."""
    if not isinstance(n, int) or n < 1:
        raise ValueError(f"n must be a positive integer: {n}")
    if isinstance(value, (list, tuple)):
        values = tuple(int(v) for v in value)
    elif isinstance(value, tensor_shape.TensorShape):
        values = tuple(value.as_list())
    else:
        values = (int(value),) * n
    if len(values) != n or any(v is None or v < 1 for v in values):
        raise ValueError(f"value must be {n} positive integers: {value}")
    return values
