"""Messages of tensors (TensorProto) from Python values and back, and what is known of a tensor's value."""

import numbers

import numpy as np

from braid import protos
from braid.tensorflow.python.framework import arrays, dtypes, ops, tensor_shape
from braid.tensorflow.python.util import compat
from braid.tensorflow.python.util.tf_export import tf_export

# The field of TensorProto with the elements of a type.
_FIELDS = {
    1: "float_val",
    2: "double_val",
    3: "int_val",
    4: "int_val",
    5: "int_val",
    6: "int_val",
    7: "string_val",
    8: "scomplex_val",
    9: "int64_val",
    10: "bool_val",
    11: "int_val",
    12: "int_val",
    13: "int_val",
    14: "half_val",
    15: "int_val",
    16: "int_val",
    17: "int_val",
    18: "dcomplex_val",
    19: "half_val",
    22: "uint32_val",
    23: "uint64_val",
}


# Types whose elements are written as bytes (tensor_content) where there are several.
_CONTENT_TYPES = frozenset(
    dtypes.as_dtype(name)
    for name in (
        "float32 float64 int32 uint8 int16 int8 int64 qint8 quint8 qint16 quint16 qint32 uint32 uint64".split()
    )
)

# ---- From Python ----


def _first_that_fails(values, check):
    if isinstance(values, (list, tuple)):
        for item in values:
            found = _first_that_fails(item, check)
            if found is not None:
                return found
        return None
    return None if check(values) else (values,)


def _is_integer(value):
    return isinstance(value, (numbers.Integral, np.integer, tensor_shape.Dimension)) or _is_array(value, "iu")


def _is_real(value):
    return isinstance(value, (numbers.Real, np.floating, np.integer, tensor_shape.Dimension)) or _is_array(
        value, "iuf"
    )


def _is_number(value):
    return isinstance(value, (numbers.Number, np.number)) or _is_array(value, "iufc")


def _is_string(value):
    return isinstance(value, (str, bytes)) or _is_array(value, "SUO")


def _is_bool(value):
    return isinstance(value, (bool, np.bool_)) or _is_array(value, "b")


def _is_array(value, kinds):
    return isinstance(value, np.ndarray) and value.dtype.kind in kinds


def _check_for(dtype):
    if dtype.is_bool:
        return _is_bool
    if dtype == dtypes.string:
        return _is_string
    if dtype.is_integer:
        return _is_integer
    if dtype.is_floating:
        return _is_real
    return _is_number if dtype.is_complex else None


def _assert_compatible(values, dtype):
    check = _check_for(dtype)
    if check is None:
        return
    found = _first_that_fails(values, check)
    if found is None:
        return
    value = found[0]
    if isinstance(value, ops._TensorLike):
        raise TypeError(f"Expected any non-tensor type, got a tensor instead.")
    raise TypeError(f"Expected {dtype.name}, got {value!r} of type '{type(value).__name__}' instead.")


def _plain(values):
    """Lists with plain numbers in place of dimensions."""
    if isinstance(values, (list, tuple)):
        return [_plain(v) for v in values]
    return values.value if isinstance(values, tensor_shape.Dimension) else values


def _strings(values):
    """An array of bytes, of the shape of nested lists."""
    array = np.array(values, dtype=object)
    out = np.empty(array.shape, object)
    for index, item in np.ndenumerate(array):
        out[index] = compat.as_bytes(item)
    return out


def _is_like_array(values):
    """Whether an object that is no array says how numpy makes one of it (as pandas' columns)."""
    return not isinstance(values, ops._TensorLike) and (
        callable(getattr(values, "__array__", None))
        or isinstance(getattr(values, "__array_interface__", None), dict)
    )


def as_array(values, dtype=None):
    """The array of a Python value, and its DType. `dtype`: the type that it must have."""
    dtype = dtypes.as_dtype(dtype).base_dtype if dtype is not None else None
    if _is_like_array(values):
        values = np.asarray(values)
    if isinstance(values, (np.ndarray, np.generic)):
        if dtype is not None and dtype != dtypes.string:
            return arrays.as_type(np.asarray(values), dtype), dtype
        array = np.asarray(values)
    else:
        array = _array_of_values(values, dtype)
    if array.dtype.kind in "SUO":
        if dtype is not None and dtype != dtypes.string:
            raise TypeError(f"Expected {dtype.name}, got {values!r} instead.")
        return _strings(array), dtypes.string
    found = dtypes.as_dtype(array.dtype)
    if dtype is not None and found != dtype:
        return arrays.as_type(array, dtype), dtype
    return array, found


def _array_of_values(values, dtype):
    if values is None:
        raise ValueError("None values not supported.")
    if dtype is not None:
        _assert_compatible(values, dtype)
    values = _plain(values)
    first = values
    while isinstance(first, list):
        first = first[0] if first else None
    if isinstance(first, ops._TensorLike):
        raise TypeError("List of Tensors when single Tensor expected")
    if dtype == dtypes.string or isinstance(first, (str, bytes)):
        return _strings(values)
    if dtype is not None and dtype.is_quantized:
        return np.array(_tuples(values, dtype), dtype.as_numpy_dtype)
    if dtype is not None and dtype.is_numpy_compatible and not _is_record(dtype):
        array = np.array(values, dtype=dtype.as_numpy_dtype)
        if array.dtype == object:
            raise ValueError(f"{values!r} is not a tensor: its lists have different lengths")
        return array
    try:
        array = np.array(values)
    except ValueError:
        array = np.array(None)
    if array.dtype == object or array.dtype.kind in "SU":  # numbers and strings: numpy would make strings
        if isinstance(values, list):
            lists = sorted({type(v).__name__ for v in values})
            if "list" in lists:
                raise ValueError(
                    f"Argument must be a dense tensor: {values!r} - got shape of lists with different lengths"
                )
        if dtype is not None:
            raise TypeError(
                f"Expected {dtype.name}, got {values!r} of type '{type(values).__name__}' instead."
            )
        raise TypeError(
            f"Failed to convert object of type {type(values)} to Tensor. Contents: {values}. Consider casting "
            "elements to a supported type."
        )
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype in (np.int64, np.intp):
        small = array.astype(np.int32)
        return small if np.array_equal(small, array) else array
    return array


def _tuples(values, dtype):
    """Nested lists of tuples of one number, which elements of a quantized type are."""
    if isinstance(values, list) and len(values) == 1 and not isinstance(values[0], (list, tuple)):
        return tuple(values)
    if not isinstance(values, list):
        raise TypeError(f"Expected {dtype.name}, got {values!r}: an element is a tuple of one number")
    return [_tuples(v, dtype) for v in values]


def _is_record(dtype):
    return isinstance(dtype.as_numpy_dtype, np.dtype) and dtype.as_numpy_dtype.names is not None


def _flat(array):
    """Python values of the elements, as TensorProto has them."""
    if array.dtype.names:
        array = array.view(array.dtype[0])
    if array.dtype == np.float16:
        array = array.view(np.uint16)
    flat = array.ravel()
    if array.dtype.kind == "c":
        return [part for value in flat.tolist() for part in (value.real, value.imag)]
    return flat.tolist()


def _empty(values, dtype, dims):
    """The array and DType of values for a shape without elements. Python values may be any: none is taken."""
    if values is None or _is_like_array(values) or isinstance(values, (np.ndarray, np.generic)):
        return as_array(values, dtype)
    dtype = dtypes.as_dtype(dtype).base_dtype if dtype is not None else dtypes.float32
    if dtype == dtypes.string:
        _strings(values)  # refuses what is not a string, as TensorFlow does here
    return np.empty(dims, dtype.as_numpy_dtype), dtype


@tf_export(v1=["make_tensor_proto"])
def make_tensor_proto(values, dtype=None, shape=None, verify_shape=False, allow_broadcast=False):
    """A TensorProto of the values. `shape`: theirs, or (one value) the shape that it fills."""
    if isinstance(values, protos.TensorProto):
        return values
    if shape is None or (isinstance(shape, tensor_shape.TensorShape) and shape.ndims is None):
        array, dtype = as_array(values, dtype)
        dims = array.shape
    else:
        dims = tuple(int(d) for d in shape)
        size = int(np.prod(dims, dtype=np.int64))
        array, dtype = _empty(values, dtype, dims) if size == 0 else as_array(values, dtype)
        if (verify_shape and array.shape != dims) or (
            allow_broadcast and array.shape not in ((), (1,)) and array.size != size
        ):
            raise TypeError(f"Expected Tensor's shape: {dims}, got {array.shape}.")
        if allow_broadcast and size == 0:
            array = array[:0] if array.ndim else array.reshape([1])[:0]
        if array.size > size:
            raise ValueError(f"Too many elements provided. Needed at most {size}, but received {array.size}")
    message = protos.TensorProto(
        dtype=dtype.as_datatype_enum, tensor_shape=tensor_shape.as_shape(dims).as_proto()
    )
    if dtype in _CONTENT_TYPES and array.size > 1 and array.size == int(np.prod(dims, dtype=np.int64)):
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        message.tensor_content = np.ascontiguousarray(little).tobytes()
    else:
        getattr(message, _FIELDS[dtype.as_datatype_enum]).extend(_flat(array))
    return message


@tf_export("make_ndarray")
def MakeNdarray(tensor):
    """The array of a TensorProto."""
    dims = [d.size for d in tensor.tensor_shape.dim]
    count = int(np.prod(dims, dtype=np.int64))
    dtype = dtypes.as_dtype(tensor.dtype)
    if dtype == dtypes.string:
        values = list(tensor.string_val)
        array = np.empty(count, object)
        for i in range(count):
            array[i] = values[i] if i < len(values) else (values[-1] if values else b"")
        return array.reshape(dims)
    kind = np.dtype(dtype.as_numpy_dtype)
    if tensor.tensor_content:
        return np.frombuffer(tensor.tensor_content, kind).copy().reshape(dims)
    values = list(getattr(tensor, _FIELDS[int(tensor.dtype)]))
    if dtype.is_complex:
        values = [complex(a, b) for a, b in zip(values[::2], values[1::2])]
    if dtype == dtypes.float16:
        array = np.array(values, np.uint16).view(np.float16)
    elif kind.names:
        array = np.array(values, kind[0]).view(kind)
    else:
        array = np.array(values).astype(kind)
    if len(array) < count:  # the last one fills the rest
        fill = array[-1:] if len(array) else np.zeros(1, kind)
        array = np.concatenate([array, np.repeat(fill, count - len(array))])
    return array.reshape(dims)


def ShapeEquals(tensor_proto, shape):
    """Whether a TensorProto has a shape: a TensorShapeProto or a list."""
    if not isinstance(tensor_proto, protos.TensorProto):
        raise TypeError("tensor_proto is not a tensor_pb2.TensorProto object")
    if isinstance(shape, protos.TensorShapeProto):
        shape = [d.size for d in shape.dim]
    elif not isinstance(shape, (list, tuple)):
        raise TypeError("shape is not a list or tuple")
    return [d.size for d in tensor_proto.tensor_shape.dim] == list(shape)


# ---- What is known of a value ----


# The ops whose value TensorFlow's Python knows before a step; the engine knows more.
_FOLDED = frozenset(
    [
        "Shape",
        "Size",
        "Rank",
        "Range",
        "Cast",
        "Concat",
        "ConcatV2",
        "ConcatOffset",
        "Fill",
        "Equal",
        "NotEqual",
    ]
)


_ENABLE_MAYBE_SET_STATIC_SHAPE = True  # TensorFlow's tests set it


def constant_value(tensor, partial=False):
    """The value that a tensor always has, as an array; None: it is not known before a step.

    `partial`: of a tf.stack, unknown elements are None.
    """
    if not isinstance(tensor, ops.Tensor):
        return None if is_tensor(tensor) else tensor
    value = _constant_value(tensor, partial)
    if value is not None:
        tensor.graph.prevent_feeding(tensor)
    return value


def _constant_value(tensor, partial):
    op = tensor.op
    if op.type == "Const":
        return MakeNdarray(op.get_attr("value"))
    if op.type == "Pack":
        return _packed_value(op, partial)
    if op.type not in _FOLDED:
        return None
    known = op._native.constant(tensor.value_index)
    return None if known is None else np.asarray(arrays.view(known))


def _packed_value(op, partial):
    if not op.inputs or op.get_attr("axis") != 0:
        return None
    values = [constant_value(item, partial) for item in op.inputs]
    if any(v is None for v in values):
        if not partial or all(v is None for v in values):
            return None
        out = np.empty(len(values), object)
        for i, value in enumerate(values):
            out[i] = value.item() if value is not None and value.ndim == 0 else value
        return out
    return np.array(values)


def constant_value_as_shape(tensor):
    """The TensorShape that an integer vector is, as far as it is known."""
    if isinstance(tensor, (list, tuple)):
        return tensor_shape.TensorShape(list(tensor))
    dims = tensor.op._native.constant_shape(tensor.value_index)
    if dims is not None:
        return tensor_shape.TensorShape([None if d < 0 else d for d in dims])
    rank = tensor.shape.with_rank(1)[0].value
    return tensor_shape.unknown_shape(rank)


@tf_export("is_tensor")
def is_tensor(x):
    """Whether it is a tensor, or what converts to one without a copy: a variable, a sparse tensor."""
    return isinstance(x, (ops._TensorLike, *ops._dense_types)) or hasattr(x, "_as_graph_element")


def shape_tensor(shape):
    """A tensor of a shape; int32 unless it says otherwise."""
    dtype = None
    if isinstance(shape, (tuple, list)):
        if not shape:
            dtype = dtypes.int32
        else:
            shape = [d.value if isinstance(d, tensor_shape.Dimension) else d for d in shape]
    return ops.convert_to_tensor(shape, dtype=dtype, name="shape")


def maybe_set_static_shape(tensor, shape):
    """Sets what a shape tensor says of `tensor`'s shape."""
    known = (
        constant_value_as_shape(ops.convert_to_tensor(shape))
        if not isinstance(shape, tensor_shape.TensorShape)
        else shape
    )
    tensor.set_shape(known)


tf_export("get_static_value").export_constant(__name__, "constant_value")
