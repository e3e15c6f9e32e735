"""Objects as JSON."""

import collections.abc

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import tensor_shape


def get_json_type(obj):
    """What json.dumps(default=get_json_type) writes for objects that JSON does not know.

    TypeError: nothing.
    """
    if hasattr(obj, "get_config"):
        return {"class_name": type(obj).__name__, "config": obj.get_config()}
    if type(obj).__module__ == np.__name__:
        return obj.tolist() if isinstance(obj, np.ndarray) else obj.item()
    if callable(obj) or isinstance(obj, type):
        return obj.__name__
    if isinstance(obj, tensor_shape.Dimension):
        return obj.value
    if isinstance(obj, tensor_shape.TensorShape):
        return obj.as_list()
    if isinstance(obj, dtypes.DType):
        return obj.name
    if isinstance(obj, collections.abc.Mapping):
        return dict(obj)
    raise TypeError("Not JSON Serializable:", obj)
