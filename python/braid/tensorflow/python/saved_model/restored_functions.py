"""Functions of a saved model: those of its library, and functions of Python that choose among these.

A call makes a node PartitionedCall or StatefulPartitionedCall.
"""

import collections
import re

import numpy as np

from braid import protos
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import function as function_lib
from braid.tensorflow.python.framework import op_def_library
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.framework import type_spec
from braid.tensorflow.python.ops import functional_ops
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.util import compat
from braid.tensorflow.python.util import nest

FullArgSpec = collections.namedtuple(
    "FullArgSpec", ["args", "varargs", "varkw", "defaults", "kwonlyargs", "kwonlydefaults", "annotations"]
)
# What a saved model tells of a function of Python; input_signature: of every call, or None.
FunctionSpec = collections.namedtuple("FunctionSpec", ["fullargspec", "is_method", "input_signature"])


class LibraryFunction:
    """A FunctionDef with the functions that it calls."""

    python_grad_func = None
    grad_func_name = None

    def __init__(self, definition, called=()):
        self.definition, self.name = definition, definition.signature.name
        self._called = list(called)

    @property
    def is_stateful(self):
        known = {f.name: f for f in self._called}
        for node in self.definition.node_def:
            if node.op in known:
                if known[node.op].is_stateful:
                    return True
            elif (op_def := op_def_library.op_def_or_none(node.op)) is not None and op_def.is_stateful:
                return True
        return self.definition.signature.is_stateful

    def add_to_graph(self, g):
        if g._get_function(self.name) is not self:
            for function in self._called:
                function.add_to_graph(g)
            g._add_function(self)


class ConcreteFunction:
    """A function of the library, with the tensors that each call passes behind the arguments.

    captures: objects with the tensors, as _captured gives them. structured_input_signature: (a tuple, a
    dict) of the arguments, tensors as TensorSpecs. structured_outputs: of the results. arg_keywords: the
    names by which a call passes tensors.
    """

    def __init__(
        self, function, captures=(), structured_input_signature=None, structured_outputs=None, arg_keywords=()
    ):
        self.function, self.captures = function, list(captures)
        self.structured_input_signature = structured_input_signature
        self.structured_outputs = structured_outputs
        self._arg_keywords, self._num_positional_args = list(arg_keywords), 0

    @property
    def name(self):
        return self.function.name

    @property
    def captured_inputs(self):
        return [_captured(c) for c in self.captures]

    def add_to_graph(self, g=None):
        self.function.add_to_graph(g or ops.get_default_graph())

    def __call__(self, *args, **kwargs):
        """The results of tensors, which are passed by their names. TypeError: one is missing or unknown."""
        if len(args) > self._num_positional_args:
            raise TypeError(
                f"Expected at most {self._num_positional_args} positional arguments "
                f"({self._arg_keywords[: self._num_positional_args]}), got {args}."
            )
        given = list(args)
        for keyword in self._arg_keywords[len(args) :]:
            if keyword not in kwargs:
                raise TypeError(
                    f"Expected argument names {sorted(self._arg_keywords)} but got values for {sorted(kwargs)}. "
                    f"Missing: {sorted(set(self._arg_keywords[len(args):]) - set(kwargs))}."
                )
            given.append(kwargs.pop(keyword))
        if kwargs:
            raise TypeError(f"{self.name} got unexpected keyword arguments: {sorted(kwargs)}")
        specs = self.definition.signature.input_arg
        return self.call_flat(
            [ops.convert_to_tensor(x, dtype=dtypes.as_dtype(spec.type)) for x, spec in zip(given, specs)]
        )

    @property
    def definition(self):
        return self.function.definition

    def call_flat(self, tensors, captured=None):
        """The results of tensors in the order of the function's arguments. captured: others in place of its own."""
        self.add_to_graph()
        captured = self.captured_inputs if captured is None else captured
        outputs = functional_ops.partitioned_call(
            [*tensors, *captured], self.function, stateful=self.function.is_stateful
        )
        if isinstance(outputs, ops.Operation):
            return None if self.structured_outputs is not None else outputs
        if self.structured_outputs is None:
            return outputs
        specs = nest.flatten(self.structured_outputs, expand_composites=True)
        remaining = iter(outputs)
        made = []
        for spec in specs:
            if isinstance(spec, tensor_spec.TensorSpec):
                made.append(next(remaining))
                made[-1].set_shape(spec.shape)
            else:
                made.append(spec)
        return nest.pack_sequence_as(self.structured_outputs, made, expand_composites=True)


def _captured(thing):
    """The tensor of a variable, a table, a file or a constant."""
    for attribute in ("handle", "resource_handle", "asset_path", "tensor"):
        if hasattr(thing, attribute):
            return getattr(thing, attribute)
    return thing


class Function:
    """A function of Python as a saved model has it: a call takes the first of its concrete functions that fits."""

    def __init__(self, name, function_spec, concrete_functions=None, make=None):
        """make: a function that gives the concrete functions when they are first needed."""
        self.__name__, self.function_spec = name, function_spec
        self._concrete_functions, self._make = concrete_functions, make

    @property
    def concrete_functions(self):
        if self._concrete_functions is None:
            self._concrete_functions = self._make()
        return self._concrete_functions

    @property
    def input_signature(self):
        return self.function_spec.input_signature

    def get_concrete_function(self, *args, **kwargs):
        """The one of the arguments, which may be TensorSpecs, or the only one.

        ValueError: none fits, or there are several.
        """
        if not args and not kwargs:
            if len(self.concrete_functions) == 1:
                return self.concrete_functions[0]
            raise ValueError(f"{self.__name__} has {len(self.concrete_functions)} concrete functions")
        return self._find(args, kwargs)[0]

    def __call__(self, *args, **kwargs):
        function, values = self._find(args, kwargs)
        tensors = [
            ops.convert_to_tensor(value, dtype=spec.dtype)
            for value, spec in _paired(function, values, self.function_spec)
            if isinstance(spec, tensor_spec.TensorSpec)
        ]
        return function.call_flat(tensors)

    def _find(self, args, kwargs):
        """(The concrete function, the arguments by their names)."""
        given = bound(self.function_spec.fullargspec, args, kwargs)
        for converts in (False, True):
            for function in self.concrete_functions:
                if _fits(function, given, self.function_spec, converts):
                    return function, given
        options = "\n\n".join(
            f"Option {number + 1}:\n  {_described(*function.structured_input_signature)}"
            for number, function in enumerate(self.concrete_functions)
        )
        raise ValueError(
            "Could not find matching function to call loaded from the SavedModel. Got:\n  "
            f"{_described(args, kwargs)}\n\nExpected these arguments to match one of the following "
            f"{len(self.concrete_functions)} option(s):\n\n{options}"
        )


def _described(positional, keyword):
    lines = "\n    * ".join(map(str, positional))
    return f"Positional arguments ({len(positional)} total):\n    * {lines}\n  Keyword arguments: {keyword}"


def bound(spec, args, kwargs):
    """The arguments of a call as {name: value}, with defaults. TypeError: they are not the function's."""
    names, values = list(spec.args), {}
    if len(args) > len(names) and not spec.varargs:
        raise TypeError(f"the function takes {len(names)} positional arguments, but {len(args)} were given")
    values.update(zip(names, args))
    if spec.varargs:
        values[spec.varargs] = tuple(args[len(names) :])
    defaults = dict(zip(names[len(names) - len(spec.defaults or ()) :], spec.defaults or ()))
    defaults.update(spec.kwonlydefaults or {})
    for name, value in kwargs.items():
        if name in values and name != spec.varargs:
            raise TypeError(f"the function got multiple values for argument '{name}'")
        if name not in names and name not in spec.kwonlyargs and not spec.varkw:
            raise TypeError(f"the function got an unexpected keyword argument '{name}'")
        values[name] = value
    for name in [*names, *spec.kwonlyargs]:
        if name not in values:
            if name not in defaults:
                raise TypeError(f"the function is missing the argument '{name}'")
            values[name] = defaults[name]
    return values


def _paired(function, given, function_spec):
    """(value, TensorSpec or value) of the arguments, in the order of the function's inputs."""
    positional, keyword = function.structured_input_signature
    fullargspec = function_spec.fullargspec
    names, pairs = list(fullargspec.args), []
    for number, expected in enumerate(positional):
        if number < len(names):
            value = given[names[number]]
        else:
            value = given[fullargspec.varargs][number - len(names)]
        pairs.append((value, expected))
    pairs += [(given[name], keyword[name]) for name in sorted(keyword)]
    flat = []
    for value, expected in pairs:
        leaves = nest.flatten(expected, expand_composites=True)
        if len(leaves) == 1 and not nest.is_sequence(expected) and not _is_composite(expected):
            flat.append((value, expected))
        else:
            flat.extend(zip(nest.flatten_up_to(expected, value, expand_composites=True), leaves))
    return flat


def _is_composite(spec):
    return isinstance(spec, type_spec.TypeSpec) and not isinstance(spec, tensor_spec.TensorSpec)


def _fits(function, given, function_spec, converts):
    """Whether a concrete function takes these arguments. converts: also what must become tensors for it."""
    positional, keyword = function.structured_input_signature
    spec = function_spec.fullargspec
    try:
        expected = bound(spec, positional, keyword)
        if expected.keys() != given.keys() or len(expected.get(spec.varargs) or ()) != len(
            given.get(spec.varargs) or ()
        ):
            return False
        pairs = _paired(function, given, function_spec)
    except (TypeError, ValueError, KeyError):
        return False
    in_signature = set(spec.args[: len(positional)]) | set(keyword) | {spec.varargs}
    others = [(given[name], expected[name]) for name in given if name not in in_signature]
    return all(_agrees(value, wanted, converts) for value, wanted in [*pairs, *others])


def _agrees(value, expected, converts):
    if isinstance(expected, tensor_spec.TensorSpec):
        if isinstance(value, variables.Variable):
            value = tensor_spec.TensorSpec(value.shape, value.dtype.base_dtype)
        elif not isinstance(value, (ops.Tensor, tensor_spec.TensorSpec)):
            if not converts or value is None or isinstance(value, dict):
                return False
            try:
                array = np.asarray(
                    value, None if expected.dtype == dtypes.string else expected.dtype.as_numpy_dtype
                )
            except (TypeError, ValueError):
                return False
            value = tensor_spec.TensorSpec(array.shape, expected.dtype)
        return value.dtype.base_dtype == expected.dtype and expected.shape.is_compatible_with(value.shape)
    if isinstance(value, (ops.Tensor, variables.Variable)):
        return value is expected
    return type(value) is type(expected) and value == expected or value == expected


# ---- Libraries ----


def load_library(library):
    """{name: LibraryFunction} of a FunctionDefLibrary.

    The functions get names, and their resources shared names, that no other load has given.
    """
    suffix = f"_load_{ops.uid()}"
    definitions = {f.signature.name: f for f in library.function}
    made = {}
    for name in _in_order(definitions):
        definition = protos.FunctionDef()
        definition.CopyFrom(definitions[name])
        definition.signature.name = _clean(name) + suffix + (f"_{len(made)}" if made else "")
        called = {}
        for node in definition.node_def:
            for dependency in _called_by(node, definitions):
                called[dependency] = made[dependency]
            _rename(node, made, suffix)
        made[name] = LibraryFunction(definition, called.values())
    return made


def _clean(name):
    match = re.search(r"^__inference_(.*)_\d+$", name)
    return match.group(1) if match else name


def _references(node):
    for value in node.attr.values():
        if value.WhichOneof("value") == "func":
            yield value.func
        elif value.WhichOneof("value") == "list":
            yield from value.list.func


def _called_by(node, names):
    found = [reference.name for reference in _references(node)]
    return [name for name in [node.op, *found] if name in names]


def _in_order(definitions):
    """The names, those of called functions first. ValueError: functions call each other in a circle."""
    order, state = [], {}
    for start in definitions:
        pending = [start]
        while pending:
            name = pending[-1]
            if state.get(name) == "done":
                pending.pop()
                continue
            needed = {d for node in definitions[name].node_def for d in _called_by(node, definitions)}
            waiting = [d for d in needed if state.get(d) != "done"]
            if not waiting:
                state[name] = "done"
                order.append(pending.pop())
                continue
            if state.get(name) == "waits":
                raise ValueError(f"There is a cyclic-dependency between functions: {name!r} calls itself.")
            state[name] = "waits"
            pending += waiting
    return order


def _rename(node, functions, suffix):
    if node.op in functions:
        node.op = functions[node.op].name
    for reference in _references(node):
        if reference.name in functions:
            reference.name = functions[reference.name].name
    if node.op in ("PartitionedCall", "StatefulPartitionedCall"):
        node.attr.pop("_gradient_op_type", None)  # gradients of a call are those of the function's body
    if "shared_name" in node.attr or node.op in ("HashTableV2", "MutableHashTableV2", "VarHandleOp"):
        shared = node.attr["shared_name"].s or compat.as_bytes(node.name)
        node.attr["shared_name"].s = shared + compat.as_bytes(suffix)


# ---- Messages ----


def function_of(message, functions, coder, name):
    """The Function of a SavedFunction; functions: {name: ConcreteFunction}."""
    saved = message.function_spec
    arguments = coder.decode_proto(saved.fullargspec)
    given = list(arguments.args)
    if saved.is_method:
        given = given[1:]
    spec = FunctionSpec(
        FullArgSpec(
            given,
            arguments.varargs,
            arguments.varkw,
            arguments.defaults,
            list(arguments.kwonlyargs or ()),
            arguments.kwonlydefaults,
            arguments.annotations,
        ),
        False,
        coder.decode_proto(saved.input_signature),
    )
    return Function(name, spec, [functions[n] for n in message.concrete_functions])


# ---- Making functions ----


def trace(name, python_function, specs, objects, signature=None):
    """A ConcreteFunction of the nodes that a function of Python builds, in a graph of its own.

    specs: TensorSpecs of its arguments. objects: {id of a tensor: what it belongs to}, of variables, tables
    and files that it may use. signature: (a tuple, a dict) of arguments in place of (specs, {}).
    ValueError: it uses a tensor of the graph outside that is neither one of those nor known now.
    """
    structure = []

    def body(*tensors):
        result = python_function(*tensors)
        flat = nest.flatten(result, expand_composites=True)
        flat = [x if x is None else ops.convert_to_tensor(x) for x in flat]
        structure.append(nest.pack_sequence_as(result, flat, expand_composites=True))
        return [x for x in flat if x is not None]

    names = [spec.name or f"arg_{number}" for number, spec in enumerate(specs)]
    types = [spec.dtype for spec in specs]
    unique = f"{name}_{ops.uid()}"
    outer = ops.get_default_graph()
    graph = function_lib.func_graph_from_py_func(
        body,
        names,
        types,
        name=unique,
        arg_shapes=[spec.shape for spec in specs],
        collections_ref=function_lib._variable_collections(outer),
    )
    defined = function_lib._DefinedFunction(body, names, types, func_name=unique)
    defined._set_body(graph)
    captures = []
    for tensor in graph.extra_inputs:
        if id(tensor) in objects:
            captures.append(objects[id(tensor)])
            continue
        value = tensor_util.constant_value(tensor)
        if value is None:
            raise ValueError(
                f"Attempted to save a function {name} which references a symbolic Tensor {tensor} that is not a "
                "simple constant. Variables and tables that it uses must be attributes of the object that is "
                "saved, or of one that it leads to."
            )
        captures.append(Constant(tensor, value))
    outputs = nest.map_structure(
        lambda t: tensor_spec.TensorSpec(t.shape, t.dtype) if isinstance(t, ops.Tensor) else t, structure[0]
    )
    return ConcreteFunction(
        _TracedFunction(defined), captures, signature or (tuple(specs), {}), outputs, names
    )


class Constant:
    """A constant that a function takes from the graph outside of it."""

    def __init__(self, tensor, value):
        self.tensor, self.value = tensor, value


class _TracedFunction:
    """A function that trace has made, as LibraryFunction."""

    def __init__(self, defined):
        self._defined, self.name, self.definition = defined, defined.name, defined.definition
        graph = defined._graph
        self.is_stateful = any(op._is_stateful for op in graph.get_operations())

    python_grad_func = None
    grad_func_name = None

    def add_to_graph(self, g):
        if g._get_function(self.name) is None:
            self._defined.add_to_graph(g)


def message_of(function, number_of, coder):
    """The SavedConcreteFunction. number_of: the number of the object of a capture."""
    made = protos.SavedConcreteFunction(bound_inputs=[number_of(c) for c in function.captures])
    made.canonicalized_input_signature.CopyFrom(coder.encode_structure(function.structured_input_signature))
    made.output_signature.CopyFrom(coder.encode_structure(function.structured_outputs))
    return made


def spec_message(spec, coder):
    made = protos.FunctionSpec(is_method=spec.is_method)
    made.fullargspec.CopyFrom(coder.encode_structure(spec.fullargspec))
    made.input_signature.CopyFrom(coder.encode_structure(spec.input_signature))
    return made
