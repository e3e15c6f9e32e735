"""Graphs, their nodes (Operation) and the values of these (Tensor), and the scopes that apply to new nodes.

The nodes are the engine's (braid._native); the objects here are how a program sees them. What a program
builds is checked there: shapes, types and attributes.
"""

import collections
import contextlib
import os
import re
import sys
import threading
import traceback

from braid import _native, protos
from braid.tensorflow.python.autograph.core import ag_ctx
from braid.tensorflow.python.eager import context
from braid.tensorflow.python.framework import device as pydev, errors_impl
from braid.tensorflow.python.framework import (
    composite_tensor,
    dtypes,
    errors_impl,
    registry,
    tensor_shape,
    traceable_stack,
    type_spec,
)
from braid.tensorflow.python.util import compat, object_identity
from braid.tensorflow.python.util.tf_export import keras_export, tf_export

_VALID_OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\-/>]*$")
_VALID_SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\-/>]*$")
_INTERNAL_PREFIX = "braid.tensorflow."
COLOCATION_ATTR = "_class"
_COLOCATION_PREFIX = b"loc:@"


# ---- Errors of the engine ----


def error_of(error, node_def=None, op=None):
    """The exception of tf.errors for an error of braid._native."""
    code, message = error.args
    return errors_impl._make_specific_exception(node_def, op, message, code)


def _building_error(error):
    """TensorFlow's Python raises ValueError for nodes that the graph cannot take."""
    code, message = error.args
    if code == errors_impl.INVALID_ARGUMENT:
        return ValueError(message)
    return error_of(error)


# ---- Where a node was built ----


_PACKAGE_DIR = (
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))) + os.sep
)


def _frames():
    """The stack of the program, innermost frame first, without frames of this package at either end."""
    frame = sys._getframe(2)
    frames = []
    while frame is not None:
        if frames or not frame.f_globals.get("__name__", "").startswith(_INTERNAL_PREFIX):
            frames.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return frames


def _place():
    """File and line of the program that has called this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(_INTERNAL_PREFIX) and module != "contextlib":
            break
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _summary(frames):
    return traceback.StackSummary.from_list(
        [
            traceback.FrameSummary(code.co_filename, line, code.co_name)
            for code, line in reversed(frames)
            if not code.co_filename.startswith(("<frozen", _PACKAGE_DIR))
        ]
    )


# ---- Tensors ----


def uid():
    """A number that no earlier call has returned."""
    return next(_uids)


_uids = iter(range(1 << 62))


class _TensorLike:
    """What tf.Tensor, tf.IndexedSlices, tf.SparseTensor and the like have in common."""


_dense_types = []


def register_dense_tensor_like_type(tensor_type):
    """Has objects of the type taken for tensors: they have a name and a dtype."""
    for attribute in ("name", "dtype"):
        if not isinstance(getattr(tensor_type, attribute, None), property):
            raise TypeError(f"Type {tensor_type} does not define a `{attribute}` property")
    _dense_types.append(tensor_type)


def is_dense_tensor_like(t):
    return isinstance(t, (Tensor, *_dense_types))


# ufuncs of operators: what the tensor on their right does.
_OPERATORS_OF_NUMPY = {
    "add": "__radd__",
    "bitwise_and": "__rand__",
    "bitwise_or": "__ror__",
    "bitwise_xor": "__rxor__",
    "divide": "__rtruediv__",
    "equal": "__eq__",
    "floor_divide": "__rfloordiv__",
    "greater": "__lt__",
    "greater_equal": "__le__",
    "less": "__gt__",
    "less_equal": "__ge__",
    "matmul": "__rmatmul__",
    "multiply": "__rmul__",
    "not_equal": "__ne__",
    "power": "__rpow__",
    "remainder": "__rmod__",
    "subtract": "__rsub__",
    "true_divide": "__rtruediv__",
}


def _refuse_in_python(use, instead):
    """Raises the error of a tensor that Python's own statements take as a value."""
    reasons = {
        ag_ctx.Status.ENABLED: "not allowed: AutoGraph did not convert this function.",
        ag_ctx.Status.DISABLED: "not allowed: AutoGraph is disabled in this function.",
    }
    reason = reasons.get(ag_ctx.control_status_ctx().status, "not allowed in Graph execution.")
    raise errors_impl.OperatorNotAllowedInGraphError(f"{use} is {reason} {instead}")


@tf_export("Tensor")
class Tensor(_TensorLike):
    """An output of a node: a value that steps compute."""

    OVERLOADABLE_OPERATORS = {
        "__add__",
        "__radd__",
        "__sub__",
        "__rsub__",
        "__mul__",
        "__rmul__",
        "__div__",
        "__rdiv__",
        "__truediv__",
        "__rtruediv__",
        "__floordiv__",
        "__rfloordiv__",
        "__mod__",
        "__rmod__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
        "__and__",
        "__rand__",
        "__or__",
        "__ror__",
        "__xor__",
        "__rxor__",
        "__getitem__",
        "__pow__",
        "__rpow__",
        "__invert__",
        "__neg__",
        "__abs__",
        "__matmul__",
        "__rmatmul__",
    }
    __array_priority__ = 100  # numpy leaves array + tensor to the tensor
    _override_operator = classmethod(lambda cls, operator, func: setattr(cls, operator, func))

    def __init__(self, op, value_index, dtype):
        self._op = op
        self._value_index = value_index
        self._dtype = dtype
        self._id = uid()
        self._shape_val = None
        self._name = None

    @property
    def op(self):
        return self._op

    @property
    def dtype(self):
        return self._dtype

    @property
    def graph(self):
        return self._op._graph

    @property
    def name(self):
        if self._name is None:
            self._name = f"{self._op.name}:{self._value_index}"
        return self._name

    @property
    def device(self):
        return self._op.device

    @property
    def value_index(self):
        return self._value_index

    @property
    def _pair(self):
        return self._op._native, self._value_index

    @property
    def shape(self):
        if self._shape_val is None:
            self._shape_val = tensor_shape.TensorShape(_dims(self._op._native.shape(self._value_index)))
        return self._shape_val

    @property
    def _shape(self):
        return self.shape  # TensorLayer reads it

    @_shape.setter
    def _shape(self, value):
        raise ValueError("Tensor._shape cannot be assigned, use Tensor.set_shape instead.")

    def get_shape(self):
        return self.shape

    def _shape_as_list(self):
        return None if self.shape.ndims is None else self.shape.as_list()

    def _shape_tuple(self):
        dims = self._shape_as_list()
        return None if dims is None else tuple(dims)

    def _rank(self):
        return self.shape.ndims

    def set_shape(self, shape):
        """Adds to what is known of the shape. ValueError: it contradicts."""
        shape = tensor_shape.as_shape(shape)
        merged = self.shape.merge_with(shape)
        if merged.ndims is None:
            return
        try:
            self._op._native.set_shape(self._value_index, [-1 if d is None else d for d in merged.as_list()])
        except _native.Error as error:
            raise _building_error(error) from None
        self._shape_val = merged

    def consumers(self):
        """The operations that take this value."""
        self.graph._sync()
        operations = self.graph._nodes
        return [operations[op.index] for op, _ in self._op._native.consumers(self._value_index)]

    def eval(self, feed_dict=None, session=None):
        """Runs the default session, or `session`, and returns the value."""
        return _eval_using_default_session(self, feed_dict, self.graph, session)

    def _as_node_def_input(self):
        return self._op.name if self._value_index == 0 else f"{self._op.name}:{self._value_index}"

    def _as_tf_output(self):
        return self._pair

    def __str__(self):
        shape = "" if self.shape.ndims is None else f", shape={self.shape}"
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self._dtype.name}{device})'

    def __repr__(self):
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self._dtype.name}>"

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return self is not other

    def __copy__(self):
        return self

    def experimental_ref(self):
        """A key for dictionaries and sets that equals only those of this tensor; deref() gives the tensor."""
        return object_identity.Reference(self)

    def __iter__(self):
        _refuse_in_python(
            "iterating over `tf.Tensor`",
            "To iterate over this tensor use tf.map_fn, or tf.autograph.to_graph to convert Python's for.",
        )

    def __len__(self):
        raise TypeError(
            f"len is not well defined for symbolic Tensors. ({self.name}) Please call `x.shape` rather than `len(x)` "
            "for shape information."
        )

    def __bool__(self):
        _refuse_in_python(
            "using a `tf.Tensor` as a Python `bool`",
            "Use `if t is not None:` instead of `if t:` to test if a tensor is defined, and use TensorFlow ops "
            "such as tf.cond to execute subgraphs conditioned on the value of a tensor, or "
            "tf.autograph.to_graph to convert Python's if and while.",
        )

    __nonzero__ = __bool__

    # numpy makes arrays of objects of lists with tensors; there is no __array__, whose errors it would raise.
    # np.array and np.asarray of a tensor are refused by braid.old_names.

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        """Operators of numpy's arrays and numbers, also in place (`array -= tensor`), are those of the tensor."""
        reflected = _OPERATORS_OF_NUMPY.get(ufunc.__name__)
        out = kwargs.pop("out", None)
        if kwargs or method != "__call__" or (out is not None and out[0] is not inputs[0]) or not reflected:
            self._refuse_numpy()
        first, second = inputs
        if isinstance(first, Tensor):  # a function of numpy that is called by its name
            self._refuse_numpy()
        return getattr(second, reflected)(first)

    def _refuse_numpy(self):
        raise NotImplementedError(f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array.")

    def __array_function__(self, func, types, args, kwargs):
        if func.__name__ == "shape":
            return self.shape
        self._refuse_numpy()

    def numpy(self):
        raise NotImplementedError("numpy() needs eager execution: fetch the tensor by a tf.Session")


def _dims(dims):
    return None if dims is None else [None if d < 0 else d for d in dims]


def _eval_using_default_session(tensors, feed_dict, graph, session=None):
    return _session_for("eval", "evaluate tensor", graph, session).run(tensors, feed_dict)


def _run_using_default_session(operation, feed_dict, graph, session=None):
    _session_for("run", "execute operation", graph, session).run(operation, feed_dict)


def _session_for(method, what, graph, session):
    given = session is not None
    session = session if given else get_default_session()
    if session is None:
        raise ValueError(
            f"Cannot {what} using `{method}()`: No default session is registered. Use `with "
            f"sess.as_default()` or pass an explicit session to `{method}(session=sess)`"
        )
    if session.graph is not graph:
        raise ValueError(
            f"Cannot use the {'given' if given else 'default'} session to {what}: the "
            "tensor's graph is different from the session's graph."
        )
    return session


# ---- Conversion to tensors ----

# By priority: (type or tuple of types, function).
_conversions = {}
_conversions_of_type = {}


@tf_export("register_tensor_conversion_function")
def register_tensor_conversion_function(base_type, conversion_func, priority=100):
    """Has objects of a type converted by `conversion_func(value, dtype=, name=, as_ref=)`.

    A function may return NotImplemented: the next one is asked. Those of a smaller priority come first.
    """
    types = base_type if isinstance(base_type, tuple) else (base_type,)
    if not types or not all(isinstance(t, type) for t in types):
        raise TypeError("base_type must be a type or a tuple of types.")
    if not callable(conversion_func):
        raise TypeError("conversion_func must be callable.")
    _conversions.setdefault(priority, []).append((base_type, conversion_func))
    _conversions_of_type.clear()


def _functions_for(kind):
    functions = _conversions_of_type.get(kind)
    if functions is None:
        functions = [
            (base, function)
            for priority in sorted(_conversions)
            for base, function in _conversions[priority]
            if issubclass(kind, base)
        ]
        _conversions_of_type[kind] = functions
    return functions


@tf_export(v1=["convert_to_tensor"])
def convert_to_tensor(value, dtype=None, name=None, preferred_dtype=None, dtype_hint=None):
    """A tensor of the value: itself, a constant, or what the value's type is converted to.

    `dtype`: the type it must have. `preferred_dtype`: the type it has if the value can.
    """
    return internal_convert_to_tensor(
        value, dtype, name, preferred_dtype=preferred_dtype if preferred_dtype is not None else dtype_hint
    )


convert_to_tensor_v1 = convert_to_tensor


def convert_to_tensor_v2(value, dtype=None, dtype_hint=None, name=None):
    return convert_to_tensor(value, dtype, name, dtype_hint)


def internal_convert_to_tensor(
    value,
    dtype=None,
    name=None,
    as_ref=False,
    preferred_dtype=None,
    ctx=None,
    accept_symbolic_tensors=True,
    accept_composite_tensors=False,
):
    """convert_to_tensor; `as_ref`: a variable stays a reference."""
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype)
    if isinstance(value, Tensor):
        if dtype is not None and not dtype.is_compatible_with(value._dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {value._dtype.name}: "
                f"{value!r}"
            )
        graph = get_default_graph()
        return graph.capture(value) if graph.building_function and value.graph is not graph else value
    if preferred_dtype is not None:
        preferred_dtype = dtypes.as_dtype(preferred_dtype)
    for base, function in _functions_for(type(value)):
        result = NotImplemented
        if dtype is None and preferred_dtype is not None:
            try:
                result = function(value, dtype=preferred_dtype, name=name, as_ref=as_ref)
            except (TypeError, ValueError):
                result = NotImplemented  # it does not take the preferred type
        if result is NotImplemented:
            result = function(value, dtype=dtype, name=name, as_ref=as_ref)
        if result is NotImplemented:
            continue
        if accept_composite_tensors and isinstance(result, composite_tensor.CompositeTensor):
            return result
        if not isinstance(result, Tensor):
            raise RuntimeError(
                f"{_prefix(name)}Conversion function {function!r} for type {base} returned non-Tensor: "
                f"{result!r}"
            )
        if dtype is not None and not dtype.is_compatible_with(result.dtype):
            raise RuntimeError(
                f"{_prefix(name)}Conversion function {function!r} for type {base} returned incompatible dtype: "
                f"requested = {dtype.base_dtype.name}, actual = {result.dtype.name}"
            )
        return result
    raise TypeError(
        f"{_prefix(name)}Cannot convert {value!r} with type {type(value)} to Tensor: no conversion function "
        "registered."
    )


def _prefix(name):
    return f"{name}: " if name else ""


def _convert_n(values, dtype, name, preferred_dtype, convert):
    if not isinstance(values, (list, tuple)) and not hasattr(values, "__iter__"):
        raise TypeError("values must be iterable.")
    return [
        convert(value, dtype, None if name is None else f"{name}_{i}", preferred_dtype)
        for i, value in enumerate(values)
    ]


def internal_convert_n_to_tensor(values, dtype=None, name=None, as_ref=False, preferred_dtype=None, ctx=None):
    def convert(value, dtype, name, preferred):
        return internal_convert_to_tensor(value, dtype, name, as_ref, preferred)

    return _convert_n(values, dtype, name, preferred_dtype, convert)


def convert_n_to_tensor(values, dtype=None, name=None, preferred_dtype=None):
    return internal_convert_n_to_tensor(values, dtype, name, preferred_dtype=preferred_dtype)


def internal_convert_to_tensor_or_indexed_slices(value, dtype=None, name=None, as_ref=False):
    if not isinstance(value, _TensorLike) or isinstance(value, Tensor):
        return internal_convert_to_tensor(value, dtype, name, as_ref)
    if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for Tensor with dtype "
            f"{value.dtype.name}: {str(value)!r}"
        )
    return value


@tf_export("convert_to_tensor_or_indexed_slices")
def convert_to_tensor_or_indexed_slices(value, dtype=None, name=None):
    """convert_to_tensor that leaves tf.IndexedSlices (and tf.SparseTensor) as they are."""
    return internal_convert_to_tensor_or_indexed_slices(value, dtype, name)


def internal_convert_to_tensor_or_composite(value, dtype=None, name=None, as_ref=False):
    if not isinstance(value, composite_tensor.CompositeTensor):
        return internal_convert_to_tensor(value, dtype, name, as_ref, accept_composite_tensors=True)
    given = getattr(value, "dtype", None)
    if dtype is not None and given is not None and not dtypes.as_dtype(dtype).is_compatible_with(given):
        raise ValueError(
            f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for Tensor with dtype {given.name}: "
            f"{str(value)!r}"
        )
    return value


def convert_to_tensor_or_composite(value, dtype=None, name=None):
    """convert_to_tensor that leaves composite tensors (tf.SparseTensor, tf.RaggedTensor ...) as they are."""
    return internal_convert_to_tensor_or_composite(value, dtype, name)


def internal_convert_n_to_tensor_or_indexed_slices(values, dtype=None, name=None, as_ref=False):
    return _convert_n_or(internal_convert_to_tensor_or_indexed_slices, values, dtype, name, as_ref)


def _convert_n_or(function, values, dtype, name, as_ref):
    def convert(value, dtype, name, preferred):
        return None if value is None else function(value, dtype, name, as_ref)

    return _convert_n(values, dtype, name, None, convert)


def convert_n_to_tensor_or_indexed_slices(values, dtype=None, name=None):
    return internal_convert_n_to_tensor_or_indexed_slices(values, dtype, name)


def internal_convert_n_to_tensor_or_composite(values, dtype=None, name=None, as_ref=False):
    return _convert_n_or(internal_convert_to_tensor_or_composite, values, dtype, name, as_ref)


def convert_n_to_tensor_or_composite(values, dtype=None, name=None):
    return internal_convert_n_to_tensor_or_composite(values, dtype, name)


def _operation_is_no_tensor(value, dtype=None, name=None, as_ref=False):
    raise TypeError(
        f"Can't convert Operation '{value.name}' to Tensor (target dtype={dtype!r}, as_ref={as_ref})"
    )


# ---- Rows of a tensor ----


@tf_export("IndexedSlices")
class IndexedSlices(_TensorLike, composite_tensor.CompositeTensor):
    """Rows of a larger tensor: `values` [n, ...], which rows they are (`indices` [n]), its shape if known."""

    def __init__(self, values, indices, dense_shape=None):
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def values(self):
        return self._values

    @property
    def indices(self):
        return self._indices

    @property
    def dense_shape(self):
        return self._dense_shape

    @property
    def shape(self):
        from braid.tensorflow.python.framework import tensor_util

        if self._dense_shape is None:
            return tensor_shape.TensorShape(None)
        return tensor_util.constant_value_as_shape(self._dense_shape)

    @property
    def name(self):
        return self._values.name

    @property
    def device(self):
        return self._values.device

    @property
    def op(self):
        return self._values.op

    @property
    def dtype(self):
        return self._values.dtype

    @property
    def graph(self):
        return self._values.graph

    def consumers(self):
        return self._values.consumers()

    def __str__(self):
        shape = "" if self._dense_shape is None else f", dense_shape={self._dense_shape}"
        return f"IndexedSlices(indices={self._indices}, values={self._values}{shape})"

    def __neg__(self):
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    @property
    def _type_spec(self):
        rows = self._indices.shape.with_rank(1)[0]
        shape = self._values.shape
        rest = shape[1:] if shape.ndims is not None else tensor_shape.TensorShape(None)
        kind = None if self._dense_shape is None else self._dense_shape.dtype
        return IndexedSlicesSpec(
            tensor_shape.TensorShape([None]).concatenate(rest),
            self.dtype,
            self._indices.dtype,
            kind,
            tensor_shape.TensorShape([rows]),
        )


@tf_export("IndexedSlicesSpec")
class IndexedSlicesSpec(type_spec.TypeSpec):
    """What is known of IndexedSlices: the whole's shape and dtype, the types of its parts."""

    __slots__ = ["_shape", "_values_dtype", "_indices_dtype", "_dense_shape_dtype", "_indices_shape"]

    value_type = IndexedSlices

    def __init__(
        self,
        shape=None,
        dtype=dtypes.float32,
        indices_dtype=dtypes.int64,
        dense_shape_dtype=None,
        indices_shape=None,
    ):
        self._shape = tensor_shape.as_shape(shape)
        self._values_dtype = dtypes.as_dtype(dtype)
        self._indices_dtype = dtypes.as_dtype(indices_dtype)
        self._dense_shape_dtype = None if dense_shape_dtype is None else dtypes.as_dtype(dense_shape_dtype)
        self._indices_shape = tensor_shape.as_shape(indices_shape).with_rank(1)

    def _serialize(self):
        return (
            self._shape,
            self._values_dtype,
            self._indices_dtype,
            self._dense_shape_dtype,
            self._indices_shape,
        )

    @property
    def _component_specs(self):
        from braid.tensorflow.python.framework import tensor_spec

        rest = self._shape[1:] if self._shape.ndims is not None else tensor_shape.TensorShape(None)
        specs = [
            tensor_spec.TensorSpec(self._indices_shape.concatenate(rest), self._values_dtype),
            tensor_spec.TensorSpec(self._indices_shape, self._indices_dtype),
        ]
        if self._dense_shape_dtype is not None:
            specs.append(tensor_spec.TensorSpec([self._shape.ndims], self._dense_shape_dtype))
        return tuple(specs)

    def _to_components(self, value):
        parts = (value.values, value.indices)
        return parts if value.dense_shape is None else (*parts, value.dense_shape)

    def _from_components(self, components):
        if not any(isinstance(c, Tensor) for c in components):
            return IndexedSlicesValue(*components, *[None] * (3 - len(components)))
        return IndexedSlices(*components)


IndexedSlicesValue = collections.namedtuple("IndexedSlicesValue", ["values", "indices", "dense_shape"])


def _dense_of_slices(value, dtype=None, name=None, as_ref=False):
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {dtype.name} for IndexedSlices with dtype {value.dtype.name}"
        )
    if value.dense_shape is None:
        raise ValueError("Tensor conversion requested for IndexedSlices without dense_shape: " + str(value))
    from braid.tensorflow.python.ops import gen_math_ops

    rows = internal_convert_to_tensor(value.dense_shape)
    return gen_math_ops.unsorted_segment_sum(value.values, value.indices, rows[0], name=name)


register_tensor_conversion_function(IndexedSlices, _dense_of_slices)


# ---- Operations ----


def _text_of(serialized):
    """The string of a serialized AttrValue; None of none."""
    return protos.AttrValue.FromString(serialized).s if serialized is not None else None


class _NodeView:
    """What device functions see of a node that is being made."""

    def __init__(self, name, op, device, inputs, graph, output_types, attrs=None):
        self.name, self.type, self.device, self.inputs, self.graph = name, op, device, inputs, graph
        self._output_types = output_types
        self._attrs = attrs or {}

    @property
    def op(self):
        return self.type

    @property
    def node_def(self):
        message = protos.NodeDef(name=self.name, op=self.type, device=self.device)
        for key, value in self._attrs.items():
            message.attr[key].ParseFromString(value)
        return message

    def get_attr(self, name):
        message = protos.AttrValue()
        message.ParseFromString(self._attrs[name])
        return _attr_value(message)

    @property
    def outputs(self):
        return [_OutputView(self, i, t) for i, t in enumerate(self._output_types)]

    def _output_shapes(self):
        """The shapes of the outputs: those of such a node in a graph of its own, with stand-ins for its inputs."""
        graph = Graph()
        attrs = {key: protos.AttrValue.FromString(value) for key, value in self._attrs.items()}
        inputs = [_stand_in(graph, tensor) for tensor in self.inputs]
        try:
            return [t.shape for t in graph.create_op(self.type, inputs, attrs=attrs).outputs]
        except (errors_impl.OpError, TypeError, ValueError):  # the node cannot be made, which is said there
            return [tensor_shape.unknown_shape()] * len(self._output_types)


class _MadeNodeView(_NodeView):
    """What device functions see of a node that the engine has made."""

    def __init__(self, op, device):
        super().__init__(op.name, op.type, device, list(op.inputs), op.graph, op._output_types)
        self._made, self.get_attr = op, op.get_attr

    outputs = property(lambda self: self._made.outputs)

    @property
    def node_def(self):
        message = self._made.node_def
        message.device = self.device
        return message


class _OutputView:
    """What device functions see of an output of a node that is being made."""

    def __init__(self, op, index, dtype):
        self.op, self.value_index, self.dtype = op, index, dtypes.as_dtype(dtype)

    graph = property(lambda self: self.op.graph)
    device = property(lambda self: self.op.device)
    name = property(lambda self: f"{self.op.name}:{self.value_index}")

    @property
    def shape(self):
        return self.op._output_shapes()[self.value_index]

    def get_shape(self):
        return self.shape

    def consumers(self):
        return []


def _stand_in(graph, tensor):
    """A tensor of `graph` with the type and shape of another one, of a constant with its value, too."""
    if tensor.op.type in ("Const", "VarHandleOp"):
        attrs = {key: value for key, value in tensor.op.node_def.attr.items() if not key.startswith("_")}
        return graph.create_op(tensor.op.type, [], attrs=attrs).outputs[0]
    attrs = {
        "dtype": protos.AttrValue(type=tensor.dtype.base_dtype.as_datatype_enum),
        "shape": protos.AttrValue(shape=tensor.shape.as_proto()),
    }
    return graph.create_op(
        "VariableV2" if tensor.dtype._is_ref_dtype else "Placeholder", [], attrs=attrs
    ).outputs[0]


_ATTR_LISTS = ("s", "i", "f", "b", "type", "shape", "tensor", "func")


def _attr_value(message):
    """The Python value of an AttrValue."""
    kind = message.WhichOneof("value")
    if kind is None:
        return []
    if kind == "type":
        return dtypes.as_dtype(message.type)
    if kind != "list":
        return getattr(message, kind)
    for field in _ATTR_LISTS:
        values = list(getattr(message.list, field))
        if values:
            return [dtypes.as_dtype(v) for v in values] if field == "type" else values
    return []


@tf_export("Operation")
class Operation:
    """A node of a graph."""

    __slots__ = (
        "_native",
        "_graph",
        "_name",
        "_frames",
        "_control_flow_context",
        "_original_op",
        "_inputs",
        "_made_outputs",
        "_control_inputs",
        "_gradient_function",
        "__weakref__",
        "__dict__",
    )

    def __init__(
        self,
        node_def,
        g,
        inputs=None,
        output_types=None,
        control_inputs=None,
        input_types=None,
        original_op=None,
        op_def=None,
    ):
        """Adds the node of a NodeDef to a graph, as it is: no scope applies. `inputs` are tensors."""
        if not isinstance(node_def, protos.NodeDef):
            raise TypeError(f"node_def needs to be a NodeDef: {node_def}")
        if not _VALID_OP_NAME.match(node_def.name):
            raise ValueError(f"'{node_def.name}' is not a valid node name")
        if not isinstance(g, Graph):
            raise TypeError(f"g needs to be a Graph: {g}")
        if not isinstance(inputs or [], list):
            raise TypeError(f"inputs needs to be a list of Tensors: {inputs}")
        for tensor in inputs or []:
            if not isinstance(tensor, Tensor):
                raise TypeError(f"input needs to be a Tensor: {tensor}")
        controls = [c.op if isinstance(c, Tensor) else c for c in control_inputs or []]
        frames = _frames()
        native = g._add_node_def(node_def, inputs or [], controls, frames)
        g._sync(native.index)
        self._begin(native, g, frames)
        self._original_op = original_op
        g._nodes.append(self)

    @classmethod
    def _of(cls, native, graph, frames=None):
        """The object of a node that the engine has."""
        made = cls.__new__(cls)
        made._begin(native, graph, frames)
        return made

    def _begin(self, native, graph, frames):
        self._native = native
        self._graph = graph
        self._name = native.name
        self._frames = frames
        self._control_flow_context = None
        self._original_op = None
        self._inputs = None
        self._made_outputs = None

    @property
    def name(self):
        return self._name

    @property
    def type(self):
        return self._native.type

    @property
    def graph(self):
        return self._graph

    @property
    def _id(self):
        return self._native.index + 1

    @property
    def _id_value(self):
        return self._id

    @property
    def device(self):
        return self._native.device

    @property
    def _outputs(self):
        """Made when they are first asked for: of a large graph that is imported, few are."""
        if self._made_outputs is None:
            native = self._native
            with self._graph._lock:
                if self._made_outputs is None:
                    self._made_outputs = [
                        Tensor(self, i, dtypes.as_dtype(native.dtype(i))) for i in range(native.num_outputs)
                    ]
        return self._made_outputs

    @property
    def outputs(self):
        return self._outputs

    @property
    def _output_types(self):
        return [int(t.dtype) for t in self._outputs]

    @property
    def inputs(self):
        if self._inputs is None:
            nodes = self._graph._nodes
            self._inputs = tuple(nodes[op.index]._outputs[i] for op, i in self._native.inputs)
        return _InputList(self._inputs)

    @property
    def _input_types(self):
        """The types that the op takes: of a value, or of a reference."""
        definition, inputs = self.op_def, list(self.inputs)
        grouped = self._graph._by_argument(self.type, inputs, self.node_def.attr)
        if definition is None or len(grouped) != len(definition.input_arg):
            return [t.dtype for t in inputs]
        types = []
        for arg, tensors in zip(definition.input_arg, grouped):
            for t in tensors if isinstance(tensors, list) else [tensors]:
                types.append(t.dtype if arg.is_ref else t.dtype.base_dtype)
        return types

    @property
    def control_inputs(self):
        nodes = self._graph._nodes
        return [nodes[op.index] for op in self._native.controls]

    @property
    def _control_outputs(self):
        self._graph._sync()
        nodes = self._graph._nodes
        return [nodes[op.index] for op in self._native.control_outputs]

    @property
    def node_def(self):
        return protos.NodeDef.FromString(self._native.node_def())

    @property
    def op_def(self):
        from braid.tensorflow.python.framework import op_def_library

        definition = op_def_library.op_def_or_none(self.type)
        if definition is not None:
            return definition
        function = self._graph._get_function(self.type)
        return function.definition.signature if function is not None else None

    @property
    def _is_stateful(self):
        definition = self.op_def
        return definition is not None and definition.is_stateful

    @property
    def traceback(self):
        """The stack of the program when it built the node: a list of (file, line, function, text)."""
        return [(f.filename, f.lineno, f.name, f.line) for f in _summary(self._frames or [])]

    @property
    def traceback_with_start_lines(self):
        return [(*entry, 0) for entry in self.traceback]

    @property
    def _device_assignments(self):
        """The device scopes that it was built in, outermost first, as TraceableObjects."""
        made = []
        for scope in getattr(self, "_device_scopes", ()):
            given = scope.given
            if scope.function is given and given is not None:
                code = getattr(given, "__code__", None) or getattr(type(given).__call__, "__code__", None)
                name = getattr(given, "__name__", type(given).__name__)
                given = f"{name}<{code.co_filename}, {code.co_firstlineno}>" if code is not None else name
            made.append(traceable_stack.TraceableObject(given, *scope.place))
        return made

    @property
    def _colocation_dict(self):
        """Where the program said which operations it is to be placed with: TraceableObjects by their names."""
        places = getattr(self, "_colocation_places", {})
        return {name: traceable_stack.TraceableObject(None, *place) for name, place in places.items()}

    def colocation_groups(self):
        """The names of the groups of nodes that are to be on one device, as b"loc:@NAME"."""
        own = [b"loc:@" + compat.as_bytes(self._name)]
        if COLOCATION_ATTR not in self._native.attr_names:
            return own
        groups = [g for g in self.get_attr(COLOCATION_ATTR) if g.startswith(_COLOCATION_PREFIX)]
        return groups or own

    def get_attr(self, name):
        """The value of an attribute. ValueError: there is none of this name."""
        try:
            data = self._native.attr(name)
        except _native.Error:
            raise ValueError(f"Operation '{self._name}' has no attr named '{name}'.") from None
        return _attr_value(protos.AttrValue.FromString(data))

    def values(self):
        return tuple(self._outputs)

    def run(self, feed_dict=None, session=None):
        """Runs the operation in the default session, or in `session`."""
        _run_using_default_session(self, feed_dict, self._graph, session)

    # -- Changes --

    def _set_attr(self, name, attr_value):
        """Sets an attribute to an AttrValue."""
        self._change(self._native.set_attr, name, attr_value.SerializeToString())

    def _clear_attr(self, name):
        self._change(self._native.set_attr, name, None)

    def _set_device(self, device):
        self._change(self._native.set_device, device_name(device))

    def _set_device_from_string(self, device):
        self._change(self._native.set_device, device)

    def _update_input(self, index, tensor):
        """Connects an input to another tensor. InvalidArgumentError: its type or shape does not fit."""
        _assert_same_graph(self, tensor)
        if index >= len(self.inputs):
            raise errors_impl.OutOfRangeError(
                None,
                None,
                f"Cannot update edge. Input index [{index}] is greater than the number of total inputs "
                f"[{len(self.inputs)}].",
            )
        try:
            self._native.set_input(index, tensor._pair)
        except _native.Error as error:
            raise error_of(error) from None
        self._inputs = None

    def _add_control_input(self, op):
        self._add_control_inputs([op])

    def _add_control_inputs(self, ops):
        for op in ops:
            _assert_same_graph(self, op)
            self._change(self._native.add_control, op._native)

    def _remove_all_control_inputs(self):
        self._change(self._native.set_controls, [])

    def _change(self, function, *args):
        try:
            function(*args)
        except _native.Error as error:
            raise _building_error(error) from None

    def _get_control_flow_context(self):
        return self._control_flow_context

    def _set_control_flow_context(self, ctx):
        self._control_flow_context = ctx

    @property
    def _c_op(self):
        return self._native

    def _tf_output(self, index):
        return self._native, index

    def __str__(self):
        return str(self.node_def)

    def __repr__(self):
        return f"<tf.Operation '{self._name}' type={self.type}>"

    def __lt__(self, other):
        return self._id < other._id

    def __copy__(self):
        return self


def _NodeDef(op_type, name, device=None, attrs=None):
    """A NodeDef; `attrs`: AttrValues by name."""
    node_def = protos.NodeDef(op=compat.as_bytes(op_type), name=compat.as_bytes(name))
    for key, value in (attrs or {}).items():
        node_def.attr[key].CopyFrom(value)
    if device is not None:
        node_def.device = device(node_def) if callable(device) else device_name(device)
    return node_def


def _create_c_op(graph, node_def, inputs, control_inputs):
    """Adds the node of a NodeDef to the engine's graph. graph._add_new_tf_operations() makes its object."""
    flat = [t for item in inputs for t in (item if isinstance(item, (list, tuple)) else (item,))]
    return graph._add_node_def(node_def, flat, control_inputs, _frames())


class _InputList(tuple):
    """The inputs of an operation: a tuple that TensorFlow's programs also take for a list."""

    __slots__ = ()

    def __add__(self, other):
        return list(self) + list(other)

    def __radd__(self, other):
        return list(other) + list(self)

    def __eq__(self, other):
        return tuple(self) == tuple(other) if isinstance(other, (list, tuple)) else NotImplemented

    __hash__ = tuple.__hash__


register_tensor_conversion_function(Operation, _operation_is_no_tensor)


def device_name(device):
    return device.to_string() if pydev.is_device_spec(device) else pydev.canonical_name(device)


def _as_graph_element(obj):
    """The tensor that `obj` stands for, as a variable does; None: it stands for none."""
    convert = getattr(obj, "_as_graph_element", None)
    return convert() if callable(convert) else None


def _assert_same_graph(original_item, item):
    if original_item.graph is not item.graph:
        raise ValueError(f"{item} must be from the same graph as {original_item}.")


def _get_graph_from_inputs(op_input_list, graph=None):
    """The graph of the inputs that have one; the default graph without any. ValueError: they differ."""
    current = get_default_graph()
    if current.building_function:
        return current
    original = None
    for item in op_input_list:
        if not isinstance(item, (Operation, _TensorLike)) and not hasattr(item, "_as_graph_element"):
            continue
        element = item if hasattr(item, "graph") else item._as_graph_element()
        if graph is None:
            graph, original = element.graph, item
        elif element.graph is not graph:
            if original is not None:
                raise ValueError(f"{item} must be from the same graph as {original}.")
            raise ValueError(f"{item} is not from the passed-in graph.")
    return graph or current


# ---- Gradients and other functions by op ----


_gradient_registry = registry.Registry("gradient")
_NOT_REGISTERED = object()


@tf_export("RegisterGradient")
class RegisterGradient:
    """A decorator: the function computes the gradients of an op's inputs, as f(op, *gradients of outputs).

    It comes before that of the engine.
    """

    def __init__(self, op_type):
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, f):
        _gradient_registry.register(f, self._op_type)
        return f


@tf_export(v1=["NotDifferentiable", "no_gradient", "NoGradient"])
def no_gradient(op_type):
    """Says that an op has no gradient: nothing flows through it."""
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    _gradient_registry.register(None, op_type)


NoGradient = NotDifferentiable = no_gradient


def _registered_gradient(op):
    """The program's gradient function for a node; None: nothing flows; _NOT_REGISTERED: the engine's."""
    if "_gradient_op_type" in op._native.attr_names:
        name = compat.as_str(op.get_attr("_gradient_op_type"))
        if name in _gradient_registry._registry:
            return _gradient_registry._registry[name]
        return _NOT_REGISTERED if name == op.type else _of_engine(name)
    return _gradient_registry._registry.get(op.type, _NOT_REGISTERED)


def _of_engine(op_type):
    raise LookupError(f"gradient registry has no entry for: {op_type}")


def get_gradient_function(op):
    """f(op, *gradients of outputs) of a node: the program's, or the engine's. LookupError: it has none."""
    if not op.inputs:
        return None
    registered = _registered_gradient(op)
    if registered is not _NOT_REGISTERED:
        return registered
    kind = op._native.gradient_kind
    if kind == 0:
        raise LookupError(f"gradient registry has no entry for: {op.type}")
    if kind == 1:
        return None
    from braid.tensorflow.python.ops import gradients_util

    return gradients_util.engine_gradient


class RegisterShape:
    """A decorator without effect: shapes are the engine's."""

    def __init__(self, op_type):
        pass

    def __call__(self, f):
        return f


_statistics = {}  # (op type, "flops"): function(graph, NodeDef) that gives an OpStats


class RegisterStatistics:
    """A decorator: the function gives a statistic of the nodes of an op ("flops"), which tf.profiler shows."""

    def __init__(self, op_type, statistic_type):
        if not isinstance(op_type, str) or "," in op_type:
            raise TypeError("op_type must be a string without a comma.")
        self._key = (op_type, statistic_type)

    def __call__(self, f):
        if self._key in _statistics:
            raise KeyError(f"Statistics of {self._key} are there already")
        _statistics[self._key] = f
        return f


def get_stats_for_node_def(graph, node, statistic_type):
    """The OpStats of a NodeDef; its value is None if nothing is registered."""
    from braid.tensorflow.python.profiler import flops  # registers those of the engine's ops

    del flops
    function = _statistics.get((node.op, statistic_type))
    return function(graph, node) if function else OpStats(statistic_type)


# ---- Graphs ----


def _loop_of(context):
    """The innermost loop around a context; None: there is none."""
    return None if context is None else context.GetWhileContext()


@tf_export("Graph")
class Graph:
    """A dataflow graph. One thread at a time builds it."""

    _building_function = False
    _seed_used = False  # whether a random op has had the seed of the graph
    # Whether seeds count a conditional as TensorFlow's functions of datasets do, where it is one node and
    # each branch a function, and how many nodes they do not count for that.
    _has_functional_conditionals, _uncounted = False, 0

    @property
    def building_function(self):
        """Whether it is the body of a function."""
        return self._building_function

    def __init__(self):
        self._native = _native.Graph()
        self._lock = threading.RLock()
        self._graph_key = f"graph-key-{uid()}/"  # of the graph and what is built for it
        self._nodes = []
        self._names_in_use = {}
        self._collections = {}
        self._finalized = False
        self._functions = collections.OrderedDict()
        self._seed = None
        self._unfeedable_tensors = set()
        self._global_generator = None  # of tf.random.experimental
        self._session_handles = {}  # the types of the tensors of tf.get_session_handle
        self._session_handle_nodes = {}  # what reads and frees them, by device and type
        self._unfetchable_ops = set()
        self._default_original_op = None
        self._attr_scope_map = {}
        self._gradient_override_map = {}
        self._op_to_kernel_label_map = {}
        self._container = ""
        self._state = threading.local()
        self._is_thread_local = False
        self._shared = _GraphState()
        self._uses_own_gradients = False
        self._exits_without_gradient = []  # of loops with back_prop=False
        self._swapping_loops = set()  # names of loops with swap_memory=True
        self._versions_producer, self._versions_min_consumer = 134, 0

    # -- State of scopes: the graph's, or each thread's --

    @property
    def _scopes(self):
        if not self._is_thread_local:
            return self._shared
        own = getattr(self._state, "own", None)
        if own is None:
            own = self._state.own = self._shared.copy()
        return own

    def switch_to_thread_local(self):
        """From now on the device, control and colocation scopes of each thread are its own. This thread keeps
        those that it is in.
        """
        if not self._is_thread_local:
            self._is_thread_local = True
            self._state.own = self._shared

    _stack_state_is_thread_local = property(lambda self: self._is_thread_local)

    @property
    def _name_stack(self):
        return getattr(self._state, "name_stack", "")

    @_name_stack.setter
    def _name_stack(self, value):
        self._state.name_stack = value

    @property
    def _device_function_stack(self):
        return self._scopes.devices

    @property
    def _device_functions_outer_to_inner(self):
        return [entry.function for entry in self._scopes.devices]

    @property
    def _colocation_stack(self):
        return self._scopes.colocation

    @property
    def _control_dependencies_stack(self):
        return self._scopes.controls

    @_control_dependencies_stack.setter
    def _control_dependencies_stack(self, value):
        self._scopes.controls = value

    @property
    def _control_flow_context(self):
        return getattr(self._state, "control_flow_context", None)

    def _get_control_flow_context(self):
        return self._control_flow_context

    def _set_control_flow_context(self, ctx):
        self._state.control_flow_context = ctx

    # -- What it has --

    @property
    def version(self):
        return len(self._nodes)

    @property
    def _version(self):
        return self.version

    @property
    def _last_id(self):
        return len(self._nodes)

    @property
    def graph_def_versions(self):
        return protos.VersionDef(producer=self._versions_producer, min_consumer=self._versions_min_consumer)

    @property
    def seed(self):
        return self._seed

    @seed.setter
    def seed(self, seed):
        self._seed = seed
        if seed is not None:
            self._native.set_seed(int(seed))

    @property
    def finalized(self):
        return self._finalized

    def finalize(self):
        """Makes the graph read-only."""
        self._finalized = True

    def _unsafe_unfinalize(self):
        self._finalized = False

    def _check_not_finalized(self):
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    @property
    def _c_graph(self):
        return self._native

    @property
    def outer_graph(self):
        return None

    def as_default(self):
        """A context manager in which this is the default graph of the thread."""
        return _default_graph_stack.get_controller(self)

    def get_operations(self):
        self._sync()
        return list(self._nodes)

    @property
    def _nodes_by_name(self):
        return {op.name: op for op in self.get_operations()}

    def _find(self, name):
        native = self._native.find(name)
        if native is None:
            return None
        self._sync()
        return self._nodes[native.index]

    def get_operation_by_name(self, name):
        """The operation of that name. KeyError: there is none."""
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=False, allow_operation=True)

    _get_operation_by_name_unsafe = get_operation_by_name

    def get_tensor_by_name(self, name):
        """The tensor "op:index". KeyError: there is none."""
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=True, allow_operation=False)

    def _get_operation_by_tf_operation(self, native):
        self._sync()
        return self._nodes[native.index]

    def _get_tensor_by_tf_output(self, pair):
        return self._get_operation_by_tf_operation(pair[0])._outputs[pair[1]]

    _tensor_of = _get_tensor_by_tf_output

    def as_graph_element(self, obj, allow_tensor=True, allow_operation=True):
        """The tensor or operation that `obj` is or names."""
        kinds = " or ".join(
            kind for kind, allowed in (("Tensor", allow_tensor), ("Operation", allow_operation)) if allowed
        )
        if not kinds:
            raise ValueError("allow_tensor and allow_operation can't both be False.")
        if hasattr(obj, "_as_graph_element"):
            element = obj._as_graph_element()
            obj = obj if element is None else element
        if isinstance(obj, bytes):
            obj = obj.decode()
        if isinstance(obj, str):
            return self._named(obj, allow_tensor, allow_operation)
        if isinstance(obj, Tensor) and allow_tensor or isinstance(obj, Operation) and allow_operation:
            if obj.graph is not self:
                kind = "Tensor" if isinstance(obj, Tensor) else "Operation"
                raise ValueError(f"{kind} {obj} is not an element of this graph.")
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {kinds}.")

    _as_graph_element_locked = as_graph_element

    def _named(self, name, allow_tensor, allow_operation):
        if ":" in name and allow_tensor:
            op_name, _, index = name.rpartition(":")
            if not op_name or not index.isdigit() or ":" in op_name:
                raise ValueError(
                    f"The name {name!r} looks a like a Tensor name, but is not a valid one. Tensor names must "
                    'be of the form "<op_name>:<output_index>".'
                )
            op = self._find(op_name)
            prefix = f"The name {name!r} refers to a Tensor which does not exist. "
            if op is None:
                raise KeyError(f"{prefix}The operation, {op_name!r}, does not exist in the graph.")
            if int(index) >= len(op._outputs):
                raise KeyError(
                    f"{prefix}The operation, {op_name!r}, exists but only has {len(op._outputs)} outputs."
                )
            return op._outputs[int(index)]
        if ":" in name:
            raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a Operation.")
        op = self._find(name)
        if not allow_operation:
            if op is not None:
                raise ValueError(
                    f"The name {name!r} refers to an Operation, not a Tensor. Tensor names must be of the form "
                    '"<op_name>:<output_index>".'
                )
            raise ValueError(
                f"The name {name!r} looks like an (invalid) Operation name, not a Tensor. Tensor names must be "
                'of the form "<op_name>:<output_index>".'
            )
        if op is None:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        return op

    # -- Feeding and fetching --

    def prevent_feeding(self, tensor):
        self._unfeedable_tensors.add(tensor)

    def is_feedable(self, tensor):
        return tensor not in self._unfeedable_tensors

    def prevent_fetching(self, op):
        self._unfetchable_ops.add(op)

    def is_fetchable(self, tensor_or_op):
        op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return op not in self._unfetchable_ops

    # -- Making nodes --

    def create_op(
        self,
        op_type,
        inputs,
        dtypes=None,
        input_types=None,
        name=None,
        attrs=None,
        op_def=None,
        compute_shapes=True,
        compute_device=True,
    ):
        """Makes a node: `inputs` are tensors in the order of the op's arguments, `attrs` AttrValues."""
        for index, tensor in enumerate(inputs):
            if not isinstance(tensor, Tensor):
                raise TypeError(f"Input #{index} is not a tensor: {tensor}")
        encoded = {key: value.SerializeToString() for key, value in (attrs or {}).items()}
        return self._create(
            op_type, self._by_argument(op_type, list(inputs), attrs or {}), name, encoded, dtypes
        )

    def _create_op_internal(
        self,
        op_type,
        inputs,
        dtypes=None,
        input_types=None,
        name=None,
        attrs=None,
        op_def=None,
        compute_device=True,
    ):
        return self.create_op(op_type, inputs, dtypes, input_types, name, attrs, op_def)

    def _by_argument(self, op_type, inputs, attrs):
        """The inputs of a node with those of each list argument in a list of their own."""
        from braid.tensorflow.python.framework import op_def_library

        definition = op_def_library.op_def_or_none(op_type)
        if definition is None:
            return inputs
        grouped, at = [], 0
        for arg in definition.input_arg:
            if not arg.number_attr and not arg.type_list_attr:
                grouped.extend(inputs[at : at + 1])
                at += 1
                continue
            if arg.number_attr:
                count = attrs[arg.number_attr].i if arg.number_attr in attrs else len(inputs) - at
            elif arg.type_list_attr in attrs:
                count = len(attrs[arg.type_list_attr].list.type)
            else:
                count = len(inputs) - at
            grouped.append(inputs[at : at + count])
            at += count
        return grouped

    def _create(self, op_type, inputs, name, attrs, output_types=None):
        """Makes a node. `inputs`: tensors, and lists of them for list arguments. `attrs`: encoded."""
        self._check_not_finalized()
        if name is None:
            name = op_type
        name = compat.as_str(name)
        if name.endswith("/"):
            name = name_from_scope_name(name)
        else:
            name = self.unique_name(name)
        if not _VALID_OP_NAME.match(name):
            raise ValueError(f"'{name}' is not a valid node name")
        flat = [t for item in inputs for t in (item if isinstance(item, list) else (item,))]
        for tensor in flat:
            if tensor.graph is not self:
                raise ValueError(f"{tensor} must be from the same graph as {name}.")
        with self._lock:
            return self._make(op_type, inputs, flat, name, attrs, output_types)

    def _make(self, op_type, inputs, flat, name, attrs, output_types):
        scopes = self._scopes
        self._check_contexts(op_type, name, flat)
        input_ops = {t._op for t in flat}
        controls = self._control_dependencies_for_inputs(input_ops)
        attrs = self._with_scope_attrs(op_type, name, attrs)
        device, colocation = self._placement(op_type, name, flat, output_types, attrs)
        if colocation is not None:
            attrs[COLOCATION_ATTR] = colocation
        frames = _frames()
        file, line = (frames[0][0].co_filename, frames[0][1]) if frames else (None, 0)
        try:
            native = self._native.add(
                op_type,
                name + "/",
                [[t._pair for t in item] if isinstance(item, list) else item._pair for item in inputs],
                [op._native for op in controls],
                attrs,
                device,
                file,
                line,
            )
        except _native.Error as error:
            raise _building_error(error) from None
        self._sync(native.index)
        op = Operation._of(native, self, frames)
        self._nodes.append(op)
        op._original_op = self._default_original_op
        if scopes.devices:
            op._device_scopes = tuple(scopes.devices)
        if scopes.colocation:
            op._colocation_places = dict(scopes.places)
        self._record_op_seen_by_control_dependencies(op)
        ctx = self._control_flow_context
        if ctx is not None:
            op._control_flow_context = ctx
            ctx.AddOp(op)
        for controller in scopes.controls:
            controller.add_op(op)
        return op

    def _create_op_from_tf_operation(self, native, compute_device=True):
        """The object of a node that the engine has got, which the scopes apply to."""
        if native.index >= len(self._nodes):
            self._add_new_tf_operations(compute_device)
        return self._nodes[native.index]

    def _add_new_tf_operations(self, compute_devices=True):
        """The objects of the nodes that the engine has got since the last one, which the scopes apply to."""
        first = len(self._nodes)
        self._sync()
        for op in self._nodes[first:]:
            if compute_devices and self._scopes.devices:
                self._apply_device_functions(op)
        return self._adopt(first)

    def _add_node_def(self, node_def, inputs, controls, frames):
        """Adds the node of a NodeDef, and returns the engine's. The caller makes the object."""
        self._check_not_finalized()
        for element in [*inputs, *controls]:
            if element.graph is not self:
                raise ValueError(f"{element} must be from the same graph as {node_def.name}.")
        grouped = self._by_argument(node_def.op, inputs, node_def.attr)
        file, line = (frames[0][0].co_filename, frames[0][1]) if frames else (None, 0)
        try:
            native = self._native.add(
                node_def.op,
                node_def.name + "/",
                [[t._pair for t in item] if isinstance(item, list) else item._pair for item in grouped],
                [op._native for op in controls],
                {key: value.SerializeToString() for key, value in node_def.attr.items()},
                node_def.device or None,
                file,
                line,
            )
        except _native.Error as error:
            raise _building_error(error) from None
        self._mark_name(node_def.name)
        return native

    def _check_contexts(self, op_type, name, inputs):
        """ValueError: an input is a value of a loop that the node is not in. Gradients may take those."""
        ctx = self._control_flow_context
        for tensor in inputs:
            other = tensor._op._control_flow_context
            if other is not None and other is not ctx and self._default_original_op is None:
                from braid.tensorflow.python.ops import control_flow_util

                control_flow_util.check_input(name, op_type, ctx, tensor._op)

    def _sync(self, end=None):
        """Makes objects of the nodes that the engine has added, up to number `end`."""
        nodes = self._nodes
        end = len(self._native) if end is None else end
        if len(nodes) >= end:
            return
        with self._lock:  # a thread that builds has made the node, and is going to make its object
            while len(nodes) < end:
                native = self._native[len(nodes)]
                nodes.append(Operation._of(native, self))
                self._mark_name(native.name)

    def _adopt(self, first, taken=()):
        """Gives the nodes from number `first` on what the scopes give to new ones, and returns them.

        `taken`: those that the context and the scopes have already.
        """
        self._sync()
        ctx = self._control_flow_context
        frames = _frames()
        new = self._nodes[first:]
        inside = set()  # nodes of loops, which nodes outside must not control
        for op in new:
            if op._frames is not None:
                continue  # the program's own gradient functions made it
            op._frames = frames
            if op in taken:
                continue
            if self._scopes.controls:
                self._add_scope_controls(op, inside)
            for controller in self._scopes.controls:
                controller.add_op(op)
        if ctx is not None:
            from braid.tensorflow.python.ops import control_flow_ops

            control_flow_ops.adopt(
                ctx, [op for op in new if op._control_flow_context is None and op not in taken]
            )
        return new

    def _add_scope_controls(self, op, inside):
        """Makes a node of the engine wait for the control dependencies of the scopes."""
        inputs, loop = {t.op for t in op.inputs}, _loop_of(self._control_flow_context)
        near = [o for o in (*inputs, *op.control_inputs) if o.type not in ("Exit", "RefExit")]
        if op.type in ("Enter", "RefEnter") or any(
            o in inside or _loop_of(o._control_flow_context) not in (None, loop) for o in near
        ):
            inside.add(op)
            return
        present = op.control_inputs
        op._add_control_inputs([o for o in self._control_dependencies_for_inputs(inputs) if o not in present])

    def _with_scope_attrs(self, op_type, name, attrs):
        attrs = dict(attrs)
        for key, value in self._attr_scope_map.items():
            if key in attrs:
                continue
            value = value(_NodeView(name, op_type, "", [], self, ())) if callable(value) else value
            if value is not None:
                attrs[key] = value.SerializeToString()
        label = self._op_to_kernel_label_map.get(op_type)
        if label is not None:
            attrs["_kernel"] = protos.AttrValue(s=compat.as_bytes(label)).SerializeToString()
        override = self._gradient_override_map.get(op_type)
        if override is not None:
            self._uses_own_gradients = True
            attrs["_gradient_op_type"] = protos.AttrValue(s=compat.as_bytes(override)).SerializeToString()
        if self._container and not _text_of(attrs.get("container")):
            self._add_container(op_type, attrs)
        return attrs

    def _add_container(self, op_type, attrs):
        from braid.tensorflow.python.framework import op_def_library

        definition = op_def_library.op_def_or_none(op_type)
        if definition is not None and definition.is_stateful:
            if any(a.name == "container" for a in definition.attr):
                attrs["container"] = protos.AttrValue(s=compat.as_bytes(self._container)).SerializeToString()

    def _device_of(self, node):
        """The device that the device scopes give to a node, which has the one that it asks for itself."""
        for entry in reversed(self._scopes.devices):
            if entry.function is None:
                break
            chosen = entry.function(node)
            node.device = device_name(chosen) if chosen is not None else ""
        return node.device

    def _placement(self, op_type, name, inputs, output_types, attrs):
        """The device that a new node asks for, and its colocation groups as an encoded attribute, or None."""
        device = ""
        if self._scopes.devices:
            if output_types is None:
                output_types = _output_types(op_type, inputs, attrs)
            device = self._device_of(_NodeView(name, op_type, "", inputs, self, output_types, attrs))
        return self._placement_with(device)

    def _placement_with(self, device):
        """The same of a node to which the device scopes give this device."""
        scopes = self._scopes
        if not scopes.colocation:
            return device or None, None
        groups = set()
        for op in reversed(scopes.colocation):
            if op is None:
                break
            groups.update(op.colocation_groups())
            if op.device:
                device = op.device
        if not groups:
            return device or None, None
        message = protos.AttrValue()
        message.list.s.extend(sorted(groups))
        return device or None, message.SerializeToString()

    # -- Names --

    def unique_name(self, name, mark_as_used=True):
        """A name for a node within the current scope, with a number behind it where it is used."""
        if self._name_stack:
            name = self._name_stack + "/" + name
        key = name.lower()
        with self._lock:
            count = self._names_in_use.get(key, 0)
            if mark_as_used:
                self._names_in_use[key] = count + 1
            if count > 0:
                base = key
                while key in self._names_in_use:
                    key = f"{base}_{count}"
                    count += 1
                if mark_as_used:
                    self._names_in_use[base] = count
                    self._names_in_use[key] = 1
                name = f"{name}_{count - 1}"
        return name

    def _mark_name(self, name):
        """Takes a name, and the scopes in it, for used."""
        key = name.lower()
        while key and key not in self._names_in_use:
            self._names_in_use[key] = 1
            key = key.rpartition("/")[0]

    @contextlib.contextmanager
    def name_scope(self, name):
        """New nodes' names begin with the scope's. A name that ends in "/" is a scope entered again."""
        if name:
            if isinstance(name, bytes):
                name = name.decode()
            if self._name_stack:
                if not _VALID_SCOPE_NAME.match(name):
                    raise ValueError(f"'{name}' is not a valid scope name")
            elif not _VALID_OP_NAME.match(name):
                raise ValueError(f"'{name}' is not a valid scope name")
        old = self._name_stack
        if not name:
            new = ""
        elif name.endswith("/"):
            new = name_from_scope_name(name)
        else:
            new = self.unique_name(name)
        self._name_stack = new
        try:
            yield new + "/" if name else ""
        finally:
            self._name_stack = old

    def get_name_scope(self):
        """The current scope, without a "/" behind it."""
        return self._name_stack

    # -- Devices and colocation --

    @contextlib.contextmanager
    def device(self, device_name_or_function):
        """New nodes ask for a device: a name, a tf.DeviceSpec, a function of the node, or None."""
        self._add_device_to_stack(device_name_or_function)
        stack = self._scopes.devices
        own = stack[-1]
        try:
            yield
        finally:
            inner = stack[-1] if stack else None
            if inner is not own and inner is not None and inner.thread == own.thread:
                raise RuntimeError("Exiting device scope without proper scope nesting.")
            for i in reversed(range(len(stack))):  # other threads may have scopes of the graph, too
                if stack[i] is own:
                    del stack[i]
                    break

    def _add_device_to_stack(self, device_name_or_function, offset=0):
        given = device_name_or_function
        function = given if callable(given) and not isinstance(given, str) else None
        if function is None and given is not None:
            function = pydev.merge_device(given)
        self._scopes.devices.append(_DeviceScope(given, function, threading.get_ident(), _place()))

    def _apply_device_functions(self, op):
        """Gives `op` what the device scopes choose, by its method _set_device_from_string.

        It is a node, or an object of a library that has `device` and the method, and keeps what it is given.
        """
        given = None
        for entry in reversed(self._scopes.devices):
            if getattr(entry.function, "is_null_merge", False):
                continue
            if entry.function is None:
                break
            chosen = entry.function(op)
            name = device_name(chosen) if chosen is not None else ""
            if name != given:
                op._set_device_from_string(name)
                given = name

    def _place(self, nodes):
        """Gives nodes of the engine the devices and colocation groups that the scopes give to new ones.

        Those that the engine has placed with others get the device of these.
        """
        scopes = self._scopes
        for op in nodes:
            if COLOCATION_ATTR in op._native.attr_names:
                others = [compat.as_str(g)[len(_COLOCATION_PREFIX) :] for g in op.colocation_groups()]
                found = [self._find(name) for name in others if name != op.name]
                device, colocation = next((o.device for o in found if o is not None and o.device), ""), None
            elif scopes.devices or scopes.colocation:
                device, colocation = self._placement_with(self._device_of(_MadeNodeView(op, "")))
            else:
                continue
            if colocation is not None:
                op._change(op._native.set_attr, COLOCATION_ATTR, colocation)
            if device and device != op.device:
                op._set_device_from_string(device)
            op._device_scopes = tuple(scopes.devices)

    @contextlib.contextmanager
    def colocate_with(self, op, ignore_existing=False):
        """New nodes are placed with `op`; device scopes do not apply.

        `op` None, ignore_existing: anywhere.
        """
        if op is None and not ignore_existing:
            raise ValueError("Trying to reset colocation (op is None) but ignore_existing is not True")
        op = _op_to_colocate_with(op)
        scopes = self._scopes
        devices, scopes.devices = scopes.devices, []
        saved = scopes.colocation, scopes.places
        if ignore_existing:
            scopes.colocation, scopes.places = [], {}
        if op is not None:
            scopes.colocation = [*scopes.colocation, op]
            scopes.places = {**scopes.places, op.name: _place()}
        try:
            yield
        finally:
            scopes.devices = devices
            scopes.colocation, scopes.places = saved

    @contextlib.contextmanager
    def container(self, container_name):
        """Stateful nodes keep their resources in this container."""
        saved = self._container
        self._container = container_name
        try:
            yield container_name
        finally:
            self._container = saved

    # -- Control dependencies --

    class _ControlDependenciesController:
        """A scope of control inputs."""

        def __init__(self, graph, control_inputs):
            self._graph = graph
            self._is_reset = control_inputs is None
            self._control_inputs = [] if control_inputs is None else control_inputs
            self._seen = set()
            self._saved = None

        @property
        def control_inputs(self):
            return self._control_inputs

        def __enter__(self):
            graph = self._graph
            self._saved = graph._control_dependencies_stack, graph._control_flow_context
            if self._is_reset:
                graph._control_dependencies_stack = []
                graph._set_control_flow_context(None)
            graph._control_dependencies_stack = [*graph._control_dependencies_stack, self]

        def __exit__(self, *unused):
            stack, ctx = self._saved
            self._graph._control_dependencies_stack = stack
            if self._is_reset:
                self._graph._set_control_flow_context(ctx)

        def add_op(self, op):
            self._seen.add(op)

        def op_in_group(self, op):
            return op in self._seen

    def control_dependencies(self, control_inputs):
        """New nodes run after `control_inputs`: operations and tensors.

        None: outer scopes do not apply either.
        """
        if control_inputs is None:
            return self._ControlDependenciesController(self, None)
        ops = {}  # by operation, in their order
        ctx = self._control_flow_context
        for item in control_inputs:
            # An IndexedSlices, or a resource variable: after a write the write, which need not be read.
            if isinstance(item, IndexedSlices) or (hasattr(item, "_handle") and hasattr(item, "op")):
                item = item.op
            elif not isinstance(item, (Tensor, Operation)) and hasattr(item, "_as_graph_element"):
                item = item._as_graph_element()
            item = self.as_graph_element(item)
            op = item.op if isinstance(item, Tensor) else item
            ops[op] = None
        return self._ControlDependenciesController(self, list(ops))

    def _current_control_dependencies(self):
        return {op for controller in self._control_dependencies_stack for op in controller.control_inputs}

    def _control_dependencies_for_inputs(self, input_ops):
        controls = {}  # by operation, in their order
        for controller in self._control_dependencies_stack:
            if any(controller.op_in_group(op) for op in input_ops):
                continue  # an input waits for them already
            controls.update(dict.fromkeys(controller.control_inputs))
        for op in input_ops:
            controls.pop(op, None)
        return list(controls)

    def _record_op_seen_by_control_dependencies(self, op):
        for controller in self._control_dependencies_stack:
            controller.add_op(op)

    # -- Other scopes --

    @contextlib.contextmanager
    def _scope_of(self, mapping, additions):
        saved = dict(mapping)
        mapping.update(additions)
        try:
            yield
        finally:
            mapping.clear()
            mapping.update(saved)

    def gradient_override_map(self, op_type_map):
        """New nodes of an op get the gradient that is registered under another name."""
        if not isinstance(op_type_map, dict):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        for key, value in op_type_map.items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        return self._scope_of(self._gradient_override_map, op_type_map)

    def _kernel_label_map(self, op_to_kernel_label_map):
        return self._scope_of(self._op_to_kernel_label_map, op_to_kernel_label_map)

    def _attr_scope(self, attr_map):
        """New nodes get attributes: AttrValues, or functions of the node that return one."""
        for value in attr_map.values():
            if not callable(value) and not isinstance(value, protos.AttrValue) and value is not None:
                raise TypeError("attr_map values must be AttrValue protocol buffers or callables")
        return self._scope_of(self._attr_scope_map, attr_map)

    @contextlib.contextmanager
    def _original_op(self, op):
        saved = self._default_original_op
        self._default_original_op = op
        try:
            yield
        finally:
            self._default_original_op = saved

    @property
    def _variable_creator_stack(self):
        return self._scopes.creators

    @_variable_creator_stack.setter
    def _variable_creator_stack(self, value):
        self._scopes.creators = value

    @contextlib.contextmanager
    def _variable_creator_scope(self, creator, priority=100):
        saved = self._variable_creator_stack
        own = sorted([*saved, (priority, creator)], key=lambda entry: entry[0])
        self._variable_creator_stack = own
        try:
            yield
        finally:
            if self._variable_creator_stack is not own:
                raise RuntimeError("Exiting variable_creator_scope without proper nesting.")
            self._variable_creator_stack = saved

    # -- Collections --

    def add_to_collection(self, name, value):
        self._check_not_finalized()
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names, value):
        for name in (names,) if isinstance(names, str) else dict.fromkeys(names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name):
        """The list of a collection itself."""
        return self._collections.setdefault(name, [])

    def get_collection(self, name, scope=None):
        """A copy of a collection. `scope`: a regular expression that the items' names begin with."""
        items = self._collections.get(name, [])
        if scope is None:
            return list(items)
        pattern = re.compile(scope)
        return [item for item in items if hasattr(item, "name") and pattern.match(item.name)]

    def get_all_collection_keys(self):
        return [key for key in self._collections if isinstance(key, str)]

    @property
    def collections(self):
        return list(self._collections)

    def clear_collection(self, name):
        self._check_not_finalized()
        self._collections.pop(name, None)

    # -- GraphDef --

    def _as_graph_def(self, from_version=None, add_shapes=False):
        self._sync()
        graph_def = protos.GraphDef.FromString(self._native.export_from(from_version or 0, True))
        for node in graph_def.node:
            node.attr.pop("_output_shapes", None)  # of an imported graph
            if add_shapes:
                for output in self.get_operation_by_name(node.name).outputs:
                    node.attr["_output_shapes"].list.shape.add().CopyFrom(output.shape.as_proto())
        graph_def.versions.CopyFrom(self.graph_def_versions)
        return graph_def, self.version

    def as_graph_def(self, from_version=None, add_shapes=False):
        """The graph, or its nodes from a version on, as a GraphDef."""
        return self._as_graph_def(from_version, add_shapes)[0]

    # -- Functions --

    def _is_function(self, name):
        return compat.as_str(name) in self._functions or compat.as_str(name) in self._native.functions()

    def _get_function(self, name):
        return self._functions.get(compat.as_str(name))

    def _add_function(self, function):
        """Adds a function (framework/function.py) with the functions that it calls."""
        self._check_not_finalized()
        name = compat.as_str(function.name)
        if self._functions.get(name) is function:
            return
        gradient = getattr(function, "grad_func_name", None)
        try:
            self._native.add_function(function.definition.SerializeToString(), gradient)
        except _native.Error as error:
            raise error_of(error) from None
        self._functions[name] = function


class _GraphState:
    """The stacks of scopes."""

    def __init__(self):
        self.devices, self.colocation, self.controls, self.creators = [], [], [], []
        self.places = {}  # where the program gave the operations of `colocation`, by their names

    def copy(self):
        other = _GraphState()
        other.devices, other.colocation = list(self.devices), list(self.colocation)
        other.places = dict(self.places)
        other.controls, other.creators = list(self.controls), list(self.creators)
        return other


_DeviceScope = collections.namedtuple("_DeviceScope", ["given", "function", "thread", "place"])


def _output_types(op_type, inputs, attrs):
    """The types of the outputs of a node to be, as far as they follow: for device functions."""
    from braid.tensorflow.python.framework import op_def_library

    return op_def_library.output_types(op_type, inputs, attrs)


def _op_to_colocate_with(value):
    if value is None or isinstance(value, Operation):
        return value
    if isinstance(value, _TensorLike):
        return value.op
    if hasattr(value, "handle") and isinstance(value.handle, Tensor):
        return value.handle.op
    if hasattr(value, "_as_graph_element"):
        element = value._as_graph_element()
        return element.op if isinstance(element, Tensor) else element
    return internal_convert_to_tensor(value, as_ref=True).op


def name_from_scope_name(name):
    """The name without the "/" at its end."""
    return name[:-1] if name and name[-1] == "/" else name


# ---- The default graph and session ----


class _DefaultStack(threading.local):
    """Objects of which the innermost is the default, for each thread."""

    def __init__(self):
        super().__init__()
        self.stack = []

    def get_default(self):
        return self.stack[-1] if self.stack else None

    def reset(self):
        self.stack = []

    def is_cleared(self):
        return not self.stack

    def get_controller(self, default):
        return _DefaultScope(self, default)


class _DefaultScope:
    """A context manager in which an object is the default.

    `enforce_nesting`: it must end as the innermost.
    """

    def __init__(self, stack, default):
        self._stack, self._default = stack, default
        self.enforce_nesting = True

    def __enter__(self):
        self._stack.stack.append(self._default)
        return self._default

    def __exit__(self, *unused):
        stack = self._stack.stack
        if not stack:
            return
        if not self.enforce_nesting:
            stack.remove(self._default)
            return
        if stack[-1] is not self._default:
            raise AssertionError(f"Nesting violated for default stack of {type(self._default)} objects")
        stack.pop()


class _DefaultGraphStack(_DefaultStack):
    def get_default(self):
        return self.stack[-1] if self.stack else self._global_default()

    def _global_default(self):
        global _global_default_graph
        if _global_default_graph is None:
            _global_default_graph = Graph()
        return _global_default_graph

    def _GetGlobalDefaultGraph(self):
        return self._global_default()

    def reset(self):
        global _global_default_graph
        super().reset()
        _global_default_graph = None


_global_default_graph = None
_default_graph_stack = _DefaultGraphStack()
_default_session_stack = _DefaultStack()


@tf_export("get_default_graph")
def get_default_graph():
    """The default graph of this thread."""
    stack = _default_graph_stack.stack
    return stack[-1] if stack else _default_graph_stack._global_default()


@tf_export(v1=["reset_default_graph"])
def reset_default_graph():
    """Starts a new default graph. AssertionError: within `with graph.as_default()`."""
    if _default_graph_stack.stack:
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs.")
    _default_graph_stack.reset()


def has_default_graph():
    return bool(_default_graph_stack.stack)


def default_session(session):
    return _default_session_stack.get_controller(session)


@tf_export(v1=["get_default_session"])
def get_default_session():
    """The default session of this thread, or None."""
    return _default_session_stack.get_default()


def executing_eagerly_outside_functions():
    return False


def inside_function():
    return get_default_graph().building_function


@tf_export("init_scope")
@contextlib.contextmanager
def init_scope():
    """New nodes are made outside of functions, control dependencies and loops."""
    scope = get_default_graph().get_name_scope()
    graphs = [*_default_graph_stack.stack[::-1], _default_graph_stack._global_default()]
    graph = next((g for g in graphs if not g.building_function), graphs[-1])
    left = graphs[: graphs.index(graph) + 1]  # scopes of a graph further out do not apply
    devices = next((g._scopes.devices for g in left if g._scopes.devices), [])
    with graph.as_default(), graph.control_dependencies(None):
        scopes = graph._scopes
        saved = scopes.devices
        if devices is not saved:
            scopes.devices = list(devices)
        try:
            with graph.name_scope(scope + "/" if scope else ""):
                yield
        finally:
            scopes.devices = saved


# ---- Scopes of the default graph ----


@tf_export(v1=["name_scope"])
@keras_export("keras.backend.name_scope", v1=["keras.backend.name_scope"])
class name_scope:
    """A scope of names for a function that makes nodes: `name`, or `default_name` if that is None.

    `values`: the function's tensors, whose graph becomes the default one within.
    """

    @property
    def name(self):
        return self._name

    def __init__(self, name, default_name=None, values=None, skip_on_eager=True):
        if not (default_name is None or isinstance(default_name, str)):
            raise TypeError(f"`default_name` type ({type(default_name)}) is not a string type.")
        self._name = default_name if name is None else name
        self._default_name = default_name
        self._values = values
        self._entered = []

    def __enter__(self):
        if self._name is None and self._values is not None:
            raise ValueError(
                f"At least one of name ({self._name}) and default_name ({self._default_name}) must be provided."
            )
        graph = get_default_graph()
        entered = None
        if self._values:
            own = _get_graph_from_inputs(self._values)
            if own is not graph:
                graph = own
                entered = graph.as_default()
                entered.__enter__()
        scope = graph.name_scope(self._name)
        try:
            text = scope.__enter__()
        except BaseException:
            if entered is not None:
                entered.__exit__(None, None, None)
            raise
        self._entered.append((scope, entered))
        return text

    def __exit__(self, kind, value, trace):
        scope, entered = self._entered.pop()
        scope.__exit__(kind, value, trace)
        if entered is not None:
            entered.__exit__(kind, value, trace)
        return False

    def __call__(self, function):
        """As a decorator."""
        import functools

        @functools.wraps(function)
        def scoped(*args, **kwargs):
            with name_scope(self._name, self._default_name, self._values):
                return function(*args, **kwargs)

        return scoped


name_scope_v1 = internal_name_scope_v1 = name_scope


class name_scope_v2(name_scope):
    """A scope of names as TensorFlow 2 has it. ValueError: the name is no string."""

    def __init__(self, name):
        if not isinstance(name, str):
            raise ValueError("name for name_scope must be a string.")
        super().__init__(name)


@tf_export(v1=["op_scope"])
@contextlib.contextmanager
def op_scope(values, name, default_name=None):
    with name_scope(name, default_name, values) as scope:
        yield scope


@tf_export(v1=["device"])
def device(device_name_or_function):
    """New nodes of the default graph ask for this device."""
    return get_default_graph().device(device_name_or_function)


def device_v2(device_name):
    return device(device_name)


@tf_export(v1=["container"])
def container(container_name):
    return get_default_graph().container(container_name)


@tf_export(v1=["colocate_with"])
def colocate_with(op, ignore_existing=False):
    """New nodes of the default graph are placed with `op`."""
    return get_default_graph().colocate_with(op, ignore_existing)


@tf_export("control_dependencies")
def control_dependencies(control_inputs):
    """New nodes of the default graph run after `control_inputs`."""
    return get_default_graph().control_dependencies(control_inputs)


def control_dependencies_v1(control_inputs):
    return control_dependencies(control_inputs)


def get_name_scope():
    return get_default_graph().get_name_scope()


def strip_name_scope(name, export_scope):
    """A name without the scope in front of it, for export."""
    if not export_scope:
        return name
    export_scope = export_scope[:-1] if export_scope[-1] == "/" else export_scope
    return re.sub(rf"([\^]|loc:@|^){re.escape(export_scope)}[\/]+(.*)", r"\1\2", compat.as_str(name), count=1)


def prepend_name_scope(name, import_scope):
    """A name with a scope in front of it, for import."""
    if not import_scope:
        return name
    import_scope = import_scope[:-1] if import_scope[-1] == "/" else import_scope
    return re.sub(r"([\^]|loc:@|^)(.*)", r"\1" + import_scope + r"/\2", compat.as_str(name), count=1)


# ---- Collections ----


@tf_export(v1=["GraphKeys"])
class GraphKeys:
    """The names of the collections that the library uses."""

    GLOBAL_VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    EVAL_STEP = "eval_step"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"
    _SUMMARY_COLLECTION = "_SUMMARY_V2"
    _VARIABLE_COLLECTIONS = [
        GLOBAL_VARIABLES,
        LOCAL_VARIABLES,
        METRIC_VARIABLES,
        MODEL_VARIABLES,
        TRAINABLE_VARIABLES,
        MOVING_AVERAGE_VARIABLES,
        CONCATENATED_VARIABLES,
        "trainable_resource_variables",
    ]
    _STREAMING_MODEL_PORTS = "streaming_model_ports"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    VARIABLES = GLOBAL_VARIABLES


@tf_export(v1=["add_to_collection"])
def add_to_collection(name, value):
    get_default_graph().add_to_collection(name, value)


@tf_export(v1=["add_to_collections"])
def add_to_collections(names, value):
    get_default_graph().add_to_collections(names, value)


@tf_export(v1=["get_collection"])
def get_collection(key, scope=None):
    return get_default_graph().get_collection(key, scope)


@tf_export(v1=["get_collection_ref"])
def get_collection_ref(key):
    return get_default_graph().get_collection_ref(key)


def get_all_collection_keys():
    return get_default_graph().get_all_collection_keys()


_proto_functions = {}


def register_proto_function(collection_name, proto_type=None, to_proto=None, from_proto=None):
    """Says how the items of a collection become messages, and are made of them."""
    if to_proto and not callable(to_proto):
        raise TypeError("to_proto must be callable.")
    if from_proto and not callable(from_proto):
        raise TypeError("from_proto must be callable.")
    _proto_functions[collection_name] = (proto_type, to_proto, from_proto)


def get_collection_proto_type(collection_name):
    return _proto_functions.get(collection_name, (None, None, None))[0]


def get_to_proto_function(collection_name):
    return _proto_functions.get(collection_name, (None, None, None))[1]


def get_from_proto_function(collection_name):
    return _proto_functions.get(collection_name, (None, None, None))[2]


# ---- Small things that other modules and programs ask for ----


def dismantle_graph(graph):
    """Frees what a graph holds in reference cycles."""
    graph._collections.clear()
    graph._nodes.clear()


def enable_eager_execution(config=None, device_policy=None, execution_mode=None):
    context.enable_eager_execution(config, device_policy, execution_mode)


def enable_eager_execution_internal(*args, **kwargs):
    context.enable_eager_execution()


@tf_export(v1=["disable_eager_execution"])
def disable_eager_execution():
    """Nothing to do: programs are never executed eagerly."""


@tf_export(v1=["enable_tensor_equality"])
def enable_tensor_equality():
    raise NotImplementedError(
        "tf.enable_tensor_equality is not there: tensors compare by identity. Use tf.equal."
    )


@tf_export(v1=["disable_tensor_equality"])
def disable_tensor_equality():
    """Nothing to do: tensors compare by identity."""


class OpStats:
    """A statistic of a node: its kind and value, None if it is not known."""

    def __init__(self, statistic_type, value=None):
        self.statistic_type, self.value = statistic_type, value

    def __iadd__(self, other):
        if other.statistic_type != self.statistic_type:
            raise ValueError(
                f"Can't add an OpStat of type {self.statistic_type} to one of {other.statistic_type}."
            )
        if self.value is None:
            self.value = other.value
        elif other.value is not None:
            self.value += other.value
        return self


def add_exit_callback_to_default_func_graph(fn):
    raise NotImplementedError("Braid has no tf.function: build a graph and run it in a tf.Session")


def _set_call_cpp_shape_fn(call_cpp_shape_fn):
    """Shapes are the engine's: nothing to set."""
