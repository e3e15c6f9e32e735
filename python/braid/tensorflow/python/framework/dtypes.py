"""Element types of tensors (tf.DType)."""

import builtins

import numpy as np

from braid.tensorflow.python.util.tf_export import tf_export

_REF = 100  # what a reference type's number has more than its base type's


def _record(name, bits):
    """A numpy type of its own for numbers that numpy does not know, over the integer with their bits."""
    return np.dtype([(name, bits)])


# Number, name, numpy's type (None: it has none), kind.
_TABLE = (
    (1, "float32", np.float32, "floating"),
    (2, "float64", np.float64, "floating"),
    (3, "int32", np.int32, "integer"),
    (4, "uint8", np.uint8, "integer"),
    (5, "int16", np.int16, "integer"),
    (6, "int8", np.int8, "integer"),
    (7, "string", np.object_, ""),
    (8, "complex64", np.complex64, "complex"),
    (9, "int64", np.int64, "integer"),
    (10, "bool", np.bool_, ""),
    (11, "qint8", _record("qint8", np.int8), "quantized"),
    (12, "quint8", _record("quint8", np.uint8), "quantized"),
    (13, "qint32", _record("qint32", np.int32), "quantized"),
    (14, "bfloat16", _record("bfloat16", np.uint16), "floating"),
    (15, "qint16", _record("qint16", np.int16), "quantized"),
    (16, "quint16", _record("quint16", np.uint16), "quantized"),
    (17, "uint16", np.uint16, "integer"),
    (18, "complex128", np.complex128, "complex"),
    (19, "float16", np.float16, "floating"),
    (20, "resource", _record("resource", np.ubyte), ""),
    (21, "variant", None, ""),
    (22, "uint32", np.uint32, "integer"),
    (23, "uint64", np.uint64, "integer"),
)
_ROWS = {row[0]: row for row in _TABLE}
_BFLOAT16_MAX = float.fromhex("0x1.FEp127")


# What as_numpy_dtype is for numpy's own names of Python's types.
_PYTHON_TYPES = {np.object_: builtins.object, np.bool_: builtins.bool}


@tf_export("dtypes.DType", "DType")
class DType:
    """The type of the elements of a tensor. There is one object of each: compare with `==` or `is`."""

    __slots__ = ("_number", "_name", "_numpy", "_kind")

    def __init__(self, type_enum):
        number = int(type_enum)
        row = _ROWS.get(number - _REF if number > _REF else number)
        if row is None:
            raise TypeError(f"type_enum is not a valid types_pb2.DataType: {type_enum}")
        self._number = number
        self._name = row[1] + ("_ref" if number > _REF else "")
        self._numpy = row[2]
        self._kind = row[3]

    @property
    def as_datatype_enum(self):
        return self._number

    @property
    def name(self):
        return self._name

    @property
    def _is_ref_dtype(self):
        return self._number > _REF

    @property
    def _as_ref(self):
        return self if self._is_ref_dtype else _BY_NUMBER[self._number + _REF]

    @property
    def base_dtype(self):
        return _BY_NUMBER[self._number - _REF] if self._is_ref_dtype else self

    @property
    def real_dtype(self):
        """The type of the real part: of a complex type's numbers, and the base type of others."""
        return {8: float32, 18: float64}.get(self.base_dtype._number, self.base_dtype)

    @property
    def as_numpy_dtype(self):
        """The type of an array with these elements: a class, or a numpy.dtype where numpy has no such number."""
        if self._numpy is None:
            raise TypeError(f"numpy has no type for {self!r}")
        return _PYTHON_TYPES.get(self._numpy, self._numpy)

    @property
    def is_numpy_compatible(self):
        return self._numpy is not None and self.base_dtype not in (resource, variant)

    @property
    def is_bool(self):
        return self.base_dtype == bool

    @property
    def is_integer(self):
        return self._kind == "integer"

    @property
    def is_floating(self):
        return self._kind == "floating"

    @property
    def is_complex(self):
        return self._kind == "complex"

    @property
    def is_quantized(self):
        return self._kind == "quantized"

    @property
    def is_unsigned(self):
        """Whether it is an integer that is never negative."""
        return self.is_integer and np.issubdtype(self._numpy, np.unsignedinteger)

    def _range(self):
        if self.is_integer:
            info = np.iinfo(self._numpy)
            return info.min, info.max
        if self.is_floating and self.base_dtype != bfloat16:
            info = np.finfo(self._numpy)
            return info.min, info.max
        if self.is_floating:
            return -_BFLOAT16_MAX, _BFLOAT16_MAX
        return None

    @property
    def min(self):
        """The lowest number. TypeError: the type's values are no plain numbers."""
        if self._range() is None:
            raise TypeError(f"Cannot find minimum value of {self}.")
        return self._range()[0]

    @property
    def max(self):
        """The highest number. TypeError: the type's values are no plain numbers."""
        if self._range() is None:
            raise TypeError(f"Cannot find maximum value of {self}.")
        return self._range()[1]

    @property
    def limits(self):
        """The range of values of an image of this type: (0, 1) for floating-point numbers."""
        if self.is_floating:
            return 0, 1
        if self.is_bool:
            return False, True
        if self._range() is None:
            raise ValueError(f"{self!r} has no limits")
        return 0, self.max

    @property
    def size(self):
        """The bytes of an element of an array; 1 for handles of resources and variants."""
        if self.base_dtype in (resource, variant):
            return 1
        return np.dtype(self._numpy).itemsize

    def is_compatible_with(self, other):
        """Whether a tensor of type `other` may stand for one of this type: they differ in reference at most."""
        return self._number in (as_dtype(other)._number, as_dtype(other).base_dtype._number)

    def __eq__(self, other):
        if other is None:
            return False
        if type(other) is not DType:
            try:
                other = as_dtype(other)
            except TypeError:
                return False
        return self._number == other._number

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return self._number

    def __int__(self):
        return self._number

    def __reduce__(self):
        return as_dtype, (self._name,)

    def __str__(self):
        return f"<dtype: {self._name!r}>"

    def __repr__(self):
        return f"tf.{self._name}"


_BY_NUMBER = {n + ref: DType(n + ref) for n in _ROWS for ref in (0, _REF)}
_BY_NAME = {d.name: d for d in _BY_NUMBER.values()}
globals().update(_BY_NAME)  # float32, float32_ref, ...
for _other, _name in (("half", "float16"), ("float", "float32"), ("double", "float64")):
    _BY_NAME[_other] = _BY_NAME[_name]
    _BY_NAME[_other + "_ref"] = _BY_NAME[_name + "_ref"]
half = _BY_NAME["half"]
double = _BY_NAME["double"]
half_ref = _BY_NAME["half_ref"]
double_ref = _BY_NAME["double_ref"]
tf_export("dtypes.float32", "float32").export_constant(__name__, "float32")
tf_export("dtypes.float64", "float64").export_constant(__name__, "float64")
tf_export("dtypes.int32", "int32").export_constant(__name__, "int32")
tf_export("dtypes.uint8", "uint8").export_constant(__name__, "uint8")
tf_export("dtypes.int16", "int16").export_constant(__name__, "int16")
tf_export("dtypes.int8", "int8").export_constant(__name__, "int8")
tf_export("dtypes.string", "string").export_constant(__name__, "string")
tf_export("dtypes.complex64", "complex64").export_constant(__name__, "complex64")
tf_export("dtypes.int64", "int64").export_constant(__name__, "int64")
tf_export("dtypes.bool", "bool").export_constant(__name__, "bool")
tf_export("dtypes.qint8", "qint8").export_constant(__name__, "qint8")
tf_export("dtypes.quint8", "quint8").export_constant(__name__, "quint8")
tf_export("dtypes.qint32", "qint32").export_constant(__name__, "qint32")
tf_export("dtypes.bfloat16", "bfloat16").export_constant(__name__, "bfloat16")
tf_export("dtypes.qint16", "qint16").export_constant(__name__, "qint16")
tf_export("dtypes.quint16", "quint16").export_constant(__name__, "quint16")
tf_export("dtypes.uint16", "uint16").export_constant(__name__, "uint16")
tf_export("dtypes.complex128", "complex128").export_constant(__name__, "complex128")
tf_export("dtypes.float16", "float16").export_constant(__name__, "float16")
tf_export("dtypes.half", "half").export_constant(__name__, "half")
tf_export("dtypes.double", "double").export_constant(__name__, "double")
tf_export("dtypes.resource", "resource").export_constant(__name__, "resource")
tf_export("dtypes.variant", "variant").export_constant(__name__, "variant")
tf_export("dtypes.uint32", "uint32").export_constant(__name__, "uint32")
tf_export("dtypes.uint64", "uint64").export_constant(__name__, "uint64")
_TYPE_TO_STRING = {number: dtype.name for number, dtype in _BY_NUMBER.items()}
QUANTIZED_DTYPES = frozenset(d for d in _BY_NUMBER.values() if d.is_quantized)
tf_export("dtypes.QUANTIZED_DTYPES", "QUANTIZED_DTYPES").export_constant(__name__, "QUANTIZED_DTYPES")
_BY_PYTHON = {builtins.float: _BY_NAME["float32"], builtins.bool: _BY_NAME["bool"]}
_BY_NUMPY = {
    np.dtype(row[2]): _BY_NUMBER[row[0]] for row in _TABLE if row[2] is not None and row[1] != "resource"
}


def _of_numpy(value):
    try:
        dtype = np.dtype(value)
    except (TypeError, ValueError):  # numpy 2 raises the second for objects with a dtype of their own
        return None
    if dtype.kind in "SU":  # strings of any length
        return _BY_NAME["string"]
    return _BY_NUMPY.get(dtype.newbyteorder("="))


@tf_export("dtypes.as_dtype", "as_dtype")
def as_dtype(type_value):
    """The DType for a DType, its number or name, a type of numpy's, or Python's float, bool or int.

    TypeError: there is none.
    """
    if type(type_value) is DType:
        return type_value
    if isinstance(type_value, str) and type_value in _BY_NAME:
        return _BY_NAME[type_value]
    if isinstance(type_value, int) and not isinstance(type_value, builtins.bool) and type_value in _BY_NUMBER:
        return _BY_NUMBER[type_value]
    made = None
    if isinstance(type_value, type) and type_value in _BY_PYTHON:
        made = _BY_PYTHON[type_value]
    elif type_value is not None and not isinstance(type_value, (int, builtins.float, str)):
        made = _of_numpy(type_value)
    if made is None:
        raise TypeError(f"Cannot convert value {type_value!r} to a TensorFlow DType.")
    return made
