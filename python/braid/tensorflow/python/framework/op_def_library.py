"""Makes nodes from Python values: what all generated functions of ops (gen_*_ops) share.

The definitions of the ops, their arguments, attributes and defaults are those of the engine's registry.
"""

import collections
import contextlib
import functools
import numbers

import numpy as np

from braid import _native, protos
from braid.tensorflow.python.framework import dtypes, ops, tensor_shape
from braid.tensorflow.python.util import compat

# ---- Definitions ----


@functools.lru_cache(maxsize=None)
def op_def_or_none(op_type):
    """The OpDef of an op; None: the engine does not have it."""
    try:
        return protos.OpDef.FromString(_native.op_def(op_type))
    except _native.Error:
        return None


class _Argument:
    """An input of an op."""

    __slots__ = ("name", "type", "type_attr", "number_attr", "type_list_attr", "is_ref", "key")

    def __init__(self, arg, key):
        self.name, self.key = arg.name, key
        self.type = dtypes.as_dtype(arg.type) if arg.type else None
        self.type_attr, self.number_attr = arg.type_attr, arg.number_attr
        self.type_list_attr, self.is_ref = arg.type_list_attr, arg.is_ref


class _Attribute:
    """An attribute of an op."""

    __slots__ = ("name", "type", "default", "allowed", "allowed_strings", "minimum", "key")

    def __init__(self, attr, key):
        self.name, self.type, self.key = attr.name, attr.type, key
        self.default = attr.default_value if attr.HasField("default_value") else None
        allowed = attr.allowed_values.list
        self.allowed = frozenset(allowed.type) if attr.HasField("allowed_values") else None
        self.allowed_strings = frozenset(allowed.s) if allowed.s else None
        self.minimum = attr.minimum if attr.has_minimum else None

    @property
    def default_type(self):
        """The type that values get which have none of their own; None: there is no default."""
        return (
            dtypes.as_dtype(self.default.type) if self.default is not None and self.type == "type" else None
        )


class Definition:
    """An op as Python calls it. `names`: what the arguments are called where not as in the OpDef, by that."""

    def __init__(self, op_def, names=None):
        names = names or {}
        self.name = op_def.name
        self.op_def = op_def
        self.inputs = [_Argument(a, names.get(a.name, a.name)) for a in op_def.input_arg]
        self.attrs = {a.name: _Attribute(a, names.get(a.name, a.name)) for a in op_def.attr}
        self.inferred = {
            name
            for arg in self.inputs
            for name in (arg.type_attr, arg.number_attr, arg.type_list_attr)
            if name
        }
        self.given = [a for a in self.attrs.values() if a.name not in self.inferred]
        self.outputs = [
            (a.name, bool(a.number_attr or a.type_list_attr), a.number_attr, a.type_list_attr)
            for a in op_def.output_arg
        ]
        self.result = None
        if len(self.outputs) > 1:
            self.result = collections.namedtuple(self.name, [name for name, *_ in self.outputs], rename=True)

    def parameters(self):
        """The arguments in order: inputs, attributes without a default, attributes with one."""
        required = [a.key for a in self.inputs] + [a.key for a in self.given if a.default is None]
        return required, [a.key for a in self.given if a.default is not None]


@functools.lru_cache(maxsize=None)
def definition(op_type):
    op_def = op_def_or_none(op_type)
    return None if op_def is None else Definition(op_def)


# ---- Attributes ----

_types = {}  # encoded AttrValues of types, by number


def _encode_type(number):
    data = _types.get(number)
    if data is None:
        data = _types[number] = protos.AttrValue(type=number).SerializeToString()
    return data


@functools.lru_cache(maxsize=None)
def _encode_int(value):
    return protos.AttrValue(i=value).SerializeToString()


def _int(value, name):
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Integral, np.integer)):
        if isinstance(value, tensor_shape.Dimension) and value.value is not None:
            return value.value
        if not (isinstance(value, (float, np.ndarray)) and int(value) == value):
            if not isinstance(value, (bool, np.bool_)):
                raise TypeError(f"Expected int for argument '{name}' not {value!r}.")
    return int(value)


def _float(value, name):
    if not isinstance(value, (numbers.Real, np.ndarray, np.generic)):
        raise TypeError(f"Expected float for argument '{name}' not {value!r}.")
    return float(value)


def _bool(value, name):
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"Expected bool for argument '{name}' not {value!r}.")
    return bool(value)


def _string(value, name):
    if not isinstance(value, (str, bytes)):
        raise TypeError(f"Expected string for argument '{name}' not {value!r}.")
    return compat.as_bytes(value)


def _type(value, name):
    try:
        return dtypes.as_dtype(value).base_dtype.as_datatype_enum
    except TypeError as error:
        raise TypeError(f"Expected DataType for argument '{name}' not {value!r}.") from error


def _shape(value, name):
    if isinstance(value, protos.TensorShapeProto):
        return value
    try:
        return tensor_shape.as_shape(value).as_proto()
    except (TypeError, ValueError) as error:
        raise type(error)(f"Error converting {name} to a TensorShape: {error}") from error


def _tensor(value, name):
    if isinstance(value, protos.TensorProto):
        return value
    from google.protobuf import text_format

    if isinstance(value, (str, bytes)):
        return text_format.Parse(compat.as_str(value), protos.TensorProto())
    raise TypeError(f"Don't know how to convert {value!r} to a TensorProto for argument '{name}'.")


def _function(value, name):
    if isinstance(value, protos.NameAttrList):
        return value
    if isinstance(value, (str, bytes)):
        return protos.NameAttrList(name=compat.as_str(value))
    if hasattr(value, "add_to_graph"):
        value.add_to_graph(ops.get_default_graph())
        return protos.NameAttrList(name=compat.as_str(value.name))
    raise TypeError(f"Don't know how to convert {value!r} to a func for argument {name}")


# Of each type of attribute: the field of AttrValue, and the conversion.
_KINDS = {
    "int": ("i", _int),
    "float": ("f", _float),
    "bool": ("b", _bool),
    "string": ("s", _string),
    "type": ("type", _type),
    "shape": ("shape", _shape),
    "tensor": ("tensor", _tensor),
    "func": ("func", _function),
}
_MESSAGES = ("shape", "tensor", "func")


def attr_value(kind, value, name):
    """An AttrValue of an attribute of type `kind`, as "list(int)". TypeError names the argument."""
    message = protos.AttrValue()
    if not kind.startswith("list("):
        field, convert = _KINDS[kind]
        converted = convert(value, name)
        if field in _MESSAGES:
            getattr(message, field).CopyFrom(converted)
        else:
            setattr(message, field, converted)
        return message
    field, convert = _KINDS[kind[5:-1]]
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise TypeError(f"Expected list for attr {name}")
    message.list.SetInParent()
    getattr(message.list, field).extend(convert(item, name) for item in value)
    return message


def _encode_attr(op_type, attr, value):
    if attr.type == "type":
        number = _type(value, attr.key)
        if attr.allowed is not None and number not in attr.allowed:
            _raise_not_allowed(f"Value passed to parameter '{attr.key}'", number, attr)
        return _encode_type(number)
    if attr.type == "int":
        number = _int(value, attr.key)
        if attr.minimum is not None and number < attr.minimum:
            raise ValueError(
                f"Attr '{attr.key}' of '{op_type}' Op passed {number} less than minimum {attr.minimum}."
            )
        return _encode_int(number)
    message = attr_value(attr.type, value, attr.key)
    if attr.type == "list(type)" and attr.allowed is not None:
        for number in message.list.type:
            if number not in attr.allowed:
                _raise_not_allowed(f"Value passed to parameter '{attr.key}'", number, attr)
    if attr.minimum is not None and attr.type.startswith("list(") and len(value) < attr.minimum:
        raise ValueError(
            f"Attr '{attr.key}' of '{op_type}' Op passed list of length {len(value)} less than minimum "
            f"{attr.minimum}."
        )
    if attr.allowed_strings is not None:
        for text in message.list.s if attr.type == "list(string)" else [message.s]:
            if text not in attr.allowed_strings:
                allowed = '", "'.join(sorted(compat.as_str(s) for s in attr.allowed_strings))
                raise ValueError(
                    f"Attr '{attr.key}' of '{op_type}' Op passed string '{compat.as_str(text)}' not in: "
                    f'"{allowed}".'
                )
    return message.SerializeToString()


def _raise_not_allowed(what, number, attr):
    allowed = ", ".join(dtypes.as_dtype(t).name for t in sorted(attr.allowed))
    raise TypeError(
        f"{what} has DataType {dtypes.as_dtype(number).name} not in list of allowed values: {allowed}"
    )


# ---- Inputs ----


class _Values:
    """The inputs of a node that is being made, and the attributes that follow from them."""

    def __init__(self, op):
        self.op = op
        self.types = {}  # of type attributes: a DType, or a list of them
        self.sources = {}  # of type attributes: the argument that gave the type
        self.numbers = {}
        self.number_sources = {}  # of number attributes: the argument that gave the length
        self.tensors = []

    def type_of(self, arg, given):
        """The type that an argument must have; None: any."""
        if arg.type is not None:
            return arg.type
        if arg.type_attr in self.types:
            return self.types[arg.type_attr]
        if arg.type_attr in given:
            dtype = dtypes.as_dtype(given[arg.type_attr]).base_dtype
            self.types[arg.type_attr] = dtype
            return dtype
        return None

    def add(self, arg, value, given):
        if arg.number_attr:
            self._add_list(arg, value, given)
        elif arg.type_list_attr:
            self._add_typed_list(arg, value)
        else:
            self.tensors.append(self._one(arg, value, given))

    def _one(self, arg, value, given):
        dtype = self.type_of(arg, given)
        attr = self.op.attrs.get(arg.type_attr)
        preferred = attr.default_type if dtype is None and attr is not None else None
        try:
            tensor = ops.internal_convert_to_tensor(
                value, dtype, name=arg.name, as_ref=arg.is_ref, preferred_dtype=preferred
            )
        except TypeError as error:
            if dtype is None:
                raise
            self._explain(arg, value, dtype)
            raise TypeError(
                f"Expected {dtype.name} passed to parameter '{arg.key}' of op '{self.op.name}', got {value!r} of "
                f"type '{type(value).__name__}' instead. Error: {error}"
            ) from None
        except ValueError:
            self._explain(arg, value, dtype)
            raise
        if arg.is_ref and not tensor.dtype._is_ref_dtype:
            raise TypeError(
                f"'{self.op.name}' Op requires that input '{arg.key}' be a mutable tensor (e.g.: a tf.Variable)"
            )
        self._check(arg, tensor.dtype.base_dtype)
        return tensor

    def _explain(self, arg, value, dtype):
        """Raises TypeError when a value is a tensor of another type than `dtype`."""
        if dtype is None:
            return
        try:
            observed = ops.internal_convert_to_tensor(value, as_ref=arg.is_ref).dtype.name
        except (TypeError, ValueError):
            return
        if isinstance(value, ops._TensorLike) or not isinstance(value, (int, float, str, list, tuple)):
            prefix = f"Input '{arg.key}' of '{self.op.name}' Op has type {observed} that does not match"
            if arg.type is not None:
                raise TypeError(f"{prefix} expected type of {dtype.name}.") from None
            source = self.sources.get(arg.type_attr, arg.type_attr)
            raise TypeError(f"{prefix} type {dtype.name} of argument '{source}'.") from None

    def _check(self, arg, dtype):
        attr_name = arg.type_attr
        if not attr_name:
            return
        attr = self.op.attrs[attr_name]
        if attr.allowed is not None and dtype.as_datatype_enum not in attr.allowed:
            _raise_not_allowed(f"Value passed to parameter '{arg.key}'", dtype.as_datatype_enum, attr)
        if attr_name not in self.types:
            self.types[attr_name] = dtype
        self.sources.setdefault(attr_name, arg.key)

    def _add_list(self, arg, values, given):
        if isinstance(values, ops._TensorLike) or not isinstance(values, (list, tuple)):
            if isinstance(values, ops._TensorLike) or not hasattr(values, "__iter__"):
                raise TypeError(
                    f"Expected list for '{arg.key}' argument to '{self.op.name}' Op, not {values}."
                )
            values = list(values)
        dtype = self.type_of(arg, given)
        if dtype is None and arg.type_attr:
            dtype = next((v.dtype.base_dtype for v in values if isinstance(v, ops.Tensor)), None)
        attr = self.op.attrs.get(arg.type_attr)
        preferred = attr.default_type if dtype is None and attr is not None else None
        try:
            tensors = ops.internal_convert_n_to_tensor(
                values, dtype, name=arg.name, as_ref=arg.is_ref, preferred_dtype=preferred
            )
        except (TypeError, ValueError) as error:
            self._explain_list(arg, values, error)
        if len({t.dtype.base_dtype for t in tensors}) > 1:
            self._explain_list(arg, values, None)
        minimum = self.op.attrs[arg.number_attr].minimum
        if minimum is not None and len(tensors) < minimum:
            raise ValueError(
                f"List argument '{arg.key}' to '{self.op.name}' Op with length {len(tensors)} shorter than "
                f"minimum length {minimum}."
            )
        if self.numbers.setdefault(arg.number_attr, len(tensors)) != len(tensors):
            raise ValueError(
                f"List argument '{arg.key}' to '{self.op.name}' Op with length {len(tensors)} must match length "
                f"{self.numbers[arg.number_attr]} of argument '{self.number_sources[arg.number_attr]}'."
            )
        self.number_sources.setdefault(arg.number_attr, arg.key)
        if tensors:
            self._check(arg, tensors[0].dtype.base_dtype)
        elif arg.type_attr and arg.type_attr not in self.types:
            if attr.default_type is None:
                raise TypeError(
                    f"Don't know how to infer type variable from empty input list passed to input '{arg.key}' of "
                    f"'{self.op.name}' Op."
                )
            self.types[arg.type_attr] = attr.default_type
        self.tensors.append(tensors)

    def _explain_list(self, arg, values, error):
        """Raises TypeError: the values of a list argument do not have the types that they must have."""
        observed = []
        for value in values:
            try:
                observed.append(ops.internal_convert_to_tensor(value, as_ref=arg.is_ref).dtype.name)
            except (TypeError, ValueError):
                observed.append("<NOT CONVERTIBLE TO TENSOR>")
        what = (
            f"Tensors in list passed to '{arg.key}' of '{self.op.name}' Op have types [{', '.join(observed)}]"
        )
        if arg.type is not None:
            raise TypeError(f"{what} that do not match expected type {arg.type.name}.") from error
        if arg.type_list_attr:
            raise TypeError(f"{what} that are invalid. Tensors: {values}") from error
        if arg.type_attr in self.types:
            dtype = self.types[arg.type_attr].name
            raise TypeError(
                f"{what} that do not match type {dtype} inferred from earlier arguments."
            ) from error
        raise TypeError(f"{what} that don't all match.") from error

    def _convert_typed_list(self, arg, values, wanted):
        if wanted is not None and len(wanted) == len(values):
            try:
                return [
                    ops.internal_convert_to_tensor(v, t, name=f"{arg.name}_{i}", as_ref=arg.is_ref)
                    for i, (v, t) in enumerate(zip(values, wanted))
                ]
            except (TypeError, ValueError):
                pass  # their own types are named below
        try:
            return ops.internal_convert_n_to_tensor(values, name=arg.name, as_ref=arg.is_ref)
        except (TypeError, ValueError) as error:
            return self._explain_list(arg, values, error)

    def _add_typed_list(self, arg, values):
        if not isinstance(values, (list, tuple)):
            raise TypeError(f"Expected list for '{arg.key}' argument to '{self.op.name}' Op, not {values}.")
        wanted = self.types.get(arg.type_list_attr)
        tensors = self._convert_typed_list(arg, values, wanted)
        found = [t.dtype.base_dtype for t in tensors]
        if wanted is not None and wanted != found:
            raise TypeError(
                f"Input '{arg.key}' of '{self.op.name}' Op has type list of {_names(found)} that does not match "
                f"type list {_names(wanted)} of argument '{self.sources[arg.type_list_attr]}'."
            )
        attr = self.op.attrs[arg.type_list_attr]
        for dtype in found:
            if attr.allowed is not None and dtype.as_datatype_enum not in attr.allowed:
                _raise_not_allowed(f"Value passed to parameter '{arg.key}'", dtype.as_datatype_enum, attr)
        if attr.minimum is not None and len(tensors) < attr.minimum:
            raise ValueError(
                f"List argument '{arg.key}' to '{self.op.name}' Op with length {len(tensors)} shorter than "
                f"minimum length {attr.minimum}."
            )
        self.types[arg.type_list_attr] = found
        self.sources.setdefault(arg.type_list_attr, arg.key)
        self.tensors.append(tensors)

    def attributes(self):
        encoded = {}
        for name, dtype in self.types.items():
            if isinstance(dtype, list):
                message = protos.AttrValue()
                message.list.type.extend(t.as_datatype_enum for t in dtype)
                message.list.SetInParent()
                encoded[name] = message.SerializeToString()
            else:
                encoded[name] = _encode_type(dtype.base_dtype.as_datatype_enum)
        for name, number in self.numbers.items():
            encoded[name] = _encode_int(number)
        return encoded


def _names(types):
    return ", ".join(t.name for t in types)


# ---- Nodes ----


def apply(op, values, name=None):
    """Makes a node of a Definition; `values`: the arguments by name. Returns the Operation."""
    name = op.name if name is None else name
    graph_items = []
    for arg in op.inputs:
        value = values.get(arg.key)
        if isinstance(value, (list, tuple)):
            graph_items.extend(value)
        else:
            graph_items.append(value)
    graph = ops._get_graph_from_inputs(graph_items)
    with graph.as_default(), graph.name_scope(name) as scope:
        inputs = _Values(op)
        given = {n: values[op.attrs[n].key] for n in op.inferred if values.get(op.attrs[n].key) is not None}
        for arg in op.inputs:
            if arg.key not in values:
                raise TypeError(f"No argument for input {arg.key} found in {op.name}")
            inputs.add(arg, values[arg.key], given)
        attrs = inputs.attributes()
        for attr in op.given:
            value = values.get(attr.key)
            if value is None and attr.default is not None:
                continue
            if value is None and attr.key not in values and attr.type != "shape":
                raise TypeError(f"No argument for attr {attr.key}")
            attrs[attr.name] = _encode_attr(op.name, attr, value)
        with contextlib.ExitStack() as places:
            for arg, tensors in zip(op.inputs, inputs.tensors):
                if arg.is_ref:  # what writes a variable is placed with it
                    for tensor in tensors if isinstance(tensors, list) else [tensors]:
                        places.enter_context(graph.colocate_with(tensor.op))
            return graph._create(op.name, inputs.tensors, scope or name, attrs)


def results(op, operation):
    """What a generated function returns: a tensor, a list, a tuple of these, or the operation itself."""
    outputs = operation._outputs
    if not op.outputs:
        return operation
    if op.result is None:
        return list(outputs) if op.outputs[0][1] else outputs[0]
    if len(outputs) == len(op.outputs) and not any(is_list for _, is_list, *_ in op.outputs):
        return op.result._make(outputs)
    values = []
    for name, is_list, *_ in op.outputs:
        first, count = operation._native.output_range(name)
        values.append(list(outputs[first : first + count]) if is_list else outputs[first])
    return op.result._make(values)


def apply_op(op_type_name, name=None, **keywords):
    """Makes a node from arguments by name, and returns its outputs."""
    op = definition(op_type_name)
    if op is None:
        raise RuntimeError(f"Unrecognized Op name {op_type_name}")
    return results(op, _apply_keywords(op, name, keywords))


def _apply_keywords(op, name, keywords):
    known = {a.key for a in op.inputs} | {a.key for a in op.attrs.values()}
    # A name that Python has for something else may be given as range_.
    values = {key[:-1] if key[:-1] in known and key not in known else key: v for key, v in keywords.items()}
    for arg in op.inputs:
        if arg.key not in values:
            raise TypeError(f"No argument for input {arg.key} found in {op.name}")
    for attr_name in sorted(op.inferred):
        if op.attrs[attr_name].key in values:
            raise TypeError(f"Should not specify value for inferred attr '{attr_name}'.")
    unknown = [key for key in values if key not in known]
    if unknown:
        raise TypeError(f"apply_op() got unexpected keyword arguments: {', '.join(sorted(unknown))}")
    return apply(op, values, name)


def _apply_op_helper(op_type_name, name=None, **keywords):
    op = definition(op_type_name)
    if op is None:
        raise RuntimeError(f"Unrecognized Op name {op_type_name}")
    operation = _apply_keywords(op, name, keywords)
    return op.op_def.attr, ops.get_default_graph(), operation._outputs or operation, operation


def _check_op_def(op_def):
    kinds = {attr.name: attr.type for attr in op_def.attr}
    for arg in [*op_def.input_arg, *op_def.output_arg]:
        for use, name, kind in (
            ("type_attr", arg.type_attr, "type"),
            ("number_attr", arg.number_attr, "int"),
            ("type_list_attr", arg.type_list_attr, "list(type)"),
        ):
            if name and name not in kinds:
                raise TypeError(f"Inconsistent OpDef for '{op_def.name}', missing attr '{name}'")
            if name and kinds[name] != kind:
                raise TypeError(
                    f"Attr '{name}' of '{op_def.name}' used as a {use} but has type {kinds[name]}"
                )
        types = sum(bool(field) for field in (arg.type, arg.type_attr, arg.type_list_attr))
        if types != 1:
            raise TypeError(f"Arg '{arg.name}' of '{op_def.name}' must have one type field not {types}")


class OpDefLibrary:
    """The ops of the engine."""

    def apply_op(self, op_type_name, name=None, **keywords):
        return apply_op(op_type_name, name, **keywords)

    def _apply_op_helper(self, op_type_name, name=None, **keywords):
        operation = _apply_op_helper(op_type_name, name, **keywords)[3]
        return op_def_or_none(op_type_name), operation.graph, operation._outputs, operation

    def add_op(self, op_def):
        """Checks the definition of an op, which must be one of the engine's. TypeError: it contradicts itself."""
        _check_op_def(op_def)
        if op_def_or_none(op_def.name) is None:
            raise NotImplementedError("Ops are those of Braid's registry: braid ops lists them")

    def add_op_list(self, op_list):
        for op_def in op_list.op:
            self.add_op(op_def)


def output_types(op_type, inputs, attrs):
    """The types of a new node's outputs (numbers), as far as its definition and encoded attributes say."""
    op_def = op_def_or_none(op_type)
    types = []
    for arg in op_def.output_arg if op_def is not None else ():
        if arg.type_list_attr in attrs:
            types.extend(protos.AttrValue.FromString(attrs[arg.type_list_attr]).list.type)
            continue
        number = arg.type
        if arg.type_attr in attrs:
            number = protos.AttrValue.FromString(attrs[arg.type_attr]).type
        if not number:
            continue
        count = 1
        if arg.number_attr in attrs:
            count = protos.AttrValue.FromString(attrs[arg.number_attr]).i
        types.extend([number + 100 if arg.is_ref else number] * count)
    return types
