"""StructureCoder: structures of Python as StructuredValue messages, and back."""

import collections

from braid.tensorflow.core.protobuf import struct_pb2
from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.data.ops import iterator_ops
from braid.tensorflow.python.data.ops import optional_ops
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import indexed_slices
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.ops import tensor_array_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor

_Value = struct_pb2.StructuredValue
_CLASSES = {
    struct_pb2.TypeSpecProto.SPARSE_TENSOR_SPEC: sparse_tensor.SparseTensorSpec,
    struct_pb2.TypeSpecProto.INDEXED_SLICES_SPEC: indexed_slices.IndexedSlicesSpec,
    struct_pb2.TypeSpecProto.RAGGED_TENSOR_SPEC: ragged_tensor.RaggedTensorSpec,
    struct_pb2.TypeSpecProto.TENSOR_ARRAY_SPEC: tensor_array_ops.TensorArraySpec,
    struct_pb2.TypeSpecProto.DATA_DATASET_SPEC: dataset_ops.DatasetSpec,
    struct_pb2.TypeSpecProto.DATA_ITERATOR_SPEC: iterator_ops.IteratorSpec,
    struct_pb2.TypeSpecProto.OPTIONAL_SPEC: optional_ops.OptionalSpec,
}
_NUMBERS = {cls: number for number, cls in _CLASSES.items()}


class NotEncodableError(Exception):
    """There is no coder for a value."""


class StructureCoder:
    """Encodes and decodes.

    register_codec adds an object that does so for another class, by can_encode(object), do_encode(object,
    encode), can_decode(message) and do_decode(message, decode).
    """

    _codecs = []

    @classmethod
    def register_codec(cls, x):
        cls._codecs.append(x)

    def encode_structure(self, nested_structure):
        """The StructuredValue of a structure. NotEncodableError: it has a part that none can encode."""
        made = _encode(nested_structure, self.encode_structure)
        if made is not None:
            return made
        for codec in self._codecs:
            if codec.can_encode(nested_structure):
                return codec.do_encode(nested_structure, self.encode_structure)
        raise NotEncodableError(
            f"No encoder for object [{nested_structure}] of type [{type(nested_structure)}]."
        )

    def can_encode(self, nested_structure):
        try:
            self.encode_structure(nested_structure)
        except NotEncodableError:
            return False
        return True

    def decode_proto(self, proto):
        """The structure that a StructuredValue describes; a namedtuple is one of a new class."""
        kind = proto.WhichOneof("kind")
        if kind in _DECODERS:
            return _DECODERS[kind](getattr(proto, kind), self.decode_proto)
        for codec in self._codecs:
            if codec.can_decode(proto):
                return codec.do_decode(proto, self.decode_proto)
        raise NotEncodableError(f"No encoder for object [{proto}] of type [{type(proto)}].")


def _encode(value, encode):
    """The message of a value, None for one of a class that is not known here."""
    if value is None:
        return _Value(none_value=struct_pb2.NoneValue())
    if isinstance(value, list):
        return _Value(list_value=struct_pb2.ListValue(values=[encode(v) for v in value]))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        pairs = [struct_pb2.PairValue(key=name, value=encode(v)) for name, v in zip(value._fields, value)]
        return _Value(named_tuple_value=struct_pb2.NamedTupleValue(name=type(value).__name__, values=pairs))
    if isinstance(value, tuple):
        return _Value(tuple_value=struct_pb2.TupleValue(values=[encode(v) for v in value]))
    if isinstance(value, dict):
        made = _Value(dict_value=struct_pb2.DictValue())
        for key, v in value.items():
            made.dict_value.fields[key].CopyFrom(encode(v))
        return made
    if isinstance(value, bool):
        return _Value(bool_value=value)
    if isinstance(value, int):
        return _Value(int64_value=value)
    if isinstance(value, float):
        return _Value(float64_value=value)
    if isinstance(value, str):
        return _Value(string_value=value)
    if isinstance(value, tensor_shape.TensorShape):
        return _Value(tensor_shape_value=value.as_proto())
    if isinstance(value, dtypes.DType):
        return _Value(tensor_dtype_value=value.as_datatype_enum)
    if isinstance(value, tensor_spec.TensorSpec):
        spec = struct_pb2.TensorSpecProto(
            name=value.name, shape=value.shape.as_proto(), dtype=value.dtype.as_datatype_enum
        )
        return _Value(tensor_spec_value=spec)
    if type(value) in _NUMBERS:
        spec = struct_pb2.TypeSpecProto(
            type_spec_class=_NUMBERS[type(value)],
            type_state=encode(value._serialize()),
            type_spec_class_name=type(value).__name__,
        )
        return _Value(type_spec_value=spec)
    return None


def _named_tuple(value, decode):
    made = collections.namedtuple(value.name, [pair.key for pair in value.values])
    return made(*(decode(pair.value) for pair in value.values))


def _type_spec(value, decode):
    if value.type_spec_class not in _CLASSES:
        raise ValueError(
            f"The type '{value.type_spec_class_name}' is not supported by this version of TensorFlow. (The object "
            "you are loading must have been created with a newer version of TensorFlow.)"
        )
    return _CLASSES[value.type_spec_class](*decode(value.type_state))


_DECODERS = {
    "none_value": lambda value, decode: None,
    "list_value": lambda value, decode: [decode(v) for v in value.values],
    "named_tuple_value": _named_tuple,
    "tuple_value": lambda value, decode: tuple(decode(v) for v in value.values),
    "dict_value": lambda value, decode: {key: decode(v) for key, v in value.fields.items()},
    "bool_value": lambda value, decode: value,
    "int64_value": lambda value, decode: value,
    "float64_value": lambda value, decode: value,
    "string_value": lambda value, decode: value,
    "tensor_shape_value": lambda value, decode: tensor_shape.TensorShape(value),
    "tensor_dtype_value": lambda value, decode: dtypes.as_dtype(value),
    "tensor_spec_value": lambda value, decode: tensor_spec.TensorSpec(
        tensor_shape.TensorShape(value.shape), dtypes.as_dtype(value.dtype), value.name or None
    ),
    "type_spec_value": _type_spec,
}
