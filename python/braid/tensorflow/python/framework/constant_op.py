"""Constants, and the conversion of Python values to them."""

import numpy as np

from braid import protos
from braid.tensorflow.python.framework import dtypes, ops, tensor_shape, tensor_util
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["constant"])
def constant_v1(value, dtype=None, shape=None, name="Const", verify_shape=False):
    """A tensor of a value: a number, string, bool, nested lists of these, or an array.

    `shape`: the value's, or what one value fills. `verify_shape`: TypeError when the value has another.
    """
    return _constant(value, dtype, shape, name, verify_shape, False)


def constant(value, dtype=None, shape=None, name="Const"):
    """`tf.constant` as TensorFlow 2 has it: TypeError when more than one value does not fill the shape."""
    return _constant(value, dtype, shape, name, False, True)


def _constant(value, dtype, shape, name, verify_shape, allow_broadcast):
    graph = ops.get_default_graph()
    message = tensor_util.make_tensor_proto(value, dtype, shape, verify_shape, allow_broadcast)
    attrs = {
        "value": protos.AttrValue(tensor=message).SerializeToString(),
        "dtype": protos.AttrValue(type=message.dtype).SerializeToString(),
    }
    return graph._create("Const", [], name, attrs, [message.dtype])._outputs[0]


def is_constant(tensor_or_op):
    op = tensor_or_op.op if isinstance(tensor_or_op, ops.Tensor) else tensor_or_op
    return op.type == "Const"


# Libraries call these functions by TensorFlow's names (TensorLayer 1.11).


def _constant_tensor_conversion_function(value, dtype=None, name=None, as_ref=False):
    return constant(value, dtype, name=name or "Const")


def _tensor_shape_tensor_conversion_function(shape, dtype=None, name=None, as_ref=False):
    if not shape.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape to a Tensor: {shape}")
    dims = shape.as_list()
    if dtype is None:
        dtype = dtypes.int64 if any(d >= 2**31 for d in dims) else dtypes.int32
    elif dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype: {dtype}")
    elif dtype == dtypes.int32 and any(d >= 2**31 for d in dims):
        raise ValueError(
            f"Cannot convert a TensorShape to dtype int32; a dimension is too large ({max(dims)})"
        )
    return constant(dims, dtype, name=name or "shape_as_tensor")


def _dimension_tensor_conversion_function(dimension, dtype=None, name=None, as_ref=False):
    if dimension.value is None:
        raise ValueError(f"Cannot convert an unknown Dimension to a Tensor: {dimension}")
    if dtype not in (None, dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype: {dtype}")
    return constant(dimension.value, dtype or dtypes.int32, name=name or "shape_as_tensor")


ops.register_tensor_conversion_function((list, tuple), _constant_tensor_conversion_function, 100)
ops.register_tensor_conversion_function(np.ndarray, _constant_tensor_conversion_function, 100)
ops.register_tensor_conversion_function(np.generic, _constant_tensor_conversion_function, 100)
ops.register_tensor_conversion_function(
    tensor_shape.TensorShape, _tensor_shape_tensor_conversion_function, 100
)
ops.register_tensor_conversion_function(tensor_shape.Dimension, _dimension_tensor_conversion_function, 100)
ops.register_tensor_conversion_function(object, _constant_tensor_conversion_function, 200)
