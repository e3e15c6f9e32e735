"""Functions of a graph's library (Defun): their bodies are graphs of their own, and nodes call them."""

import hashlib
import re

from braid import _native, protos
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import errors_impl
from braid.tensorflow.python.framework import op_def_library
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.util import compat
from braid.tensorflow.python.util import function_utils
from braid.tensorflow.python.util import tf_decorator
from braid.tensorflow.python.util import tf_inspect

# ---- Declaring functions ----


class Defun:
    """A decorator: makes a Python function one of the graph's library.

    A call makes a node whose op is the function's name. What the function uses from outside of it becomes an
    argument of each call.

    Args:
      *input_types: the arguments' types; none: each call's types make a function of their own.
      func_name: its name; None: from the Python function's, with a hash.
      grad_func: a Defun that computes the gradients: of the arguments and the gradients of the results.
      python_grad_func: a Python function f(op, *gradients) that builds the gradients' nodes.
      out_names: names of the results.
      shape_func: f(op), the static shapes of a call's results.
      capture_by_value: whether nodes from outside are copied into the body instead.
      Others become attributes of the function, as noinline=True.
    """

    def __init__(self, *input_types, **kwargs):
        self._input_types = input_types
        self._func_name = kwargs.pop("func_name", None)
        self._grad_func = kwargs.pop("grad_func", None)
        self._python_grad_func = kwargs.pop("python_grad_func", None)
        self._out_names = kwargs.pop("out_names", None)
        self._extra_kwargs = kwargs

    def __call__(self, func):
        if not callable(func):
            raise ValueError(f"function {func} must be callable")
        spec = tf_inspect.getfullargspec(func)
        if spec.defaults or spec.varkw or spec.kwonlyargs:
            raise ValueError("Functions with argument defaults or keyword arguments are not supported.")
        least = most = len(spec.args) - (1 if tf_inspect.ismethod(func) else 0)
        names = list(spec.args)[len(spec.args) - most :]
        if spec.varargs:
            most, names = 1000000, names + [spec.varargs]
        names = self._argnames(names, least, most)
        if self._input_types:
            count = len(self._input_types)
            if not least <= count <= most:
                raise ValueError(
                    "The function has fewer arguments than the number of specified input types."
                    if count > most
                    else "The function has more arguments than the number of specified input types."
                )
            return _DefinedFunction(
                func,
                names,
                list(self._input_types),
                self._func_name,
                self._grad_func,
                self._python_grad_func,
                out_names=self._out_names,
                **self._extra_kwargs,
            )
        if least == most == 0:
            return _DefinedFunction(
                func,
                [],
                [],
                self._func_name,
                self._grad_func,
                self._python_grad_func,
                out_names=self._out_names,
                **self._extra_kwargs,
            )
        return _OverloadedFunction(
            func,
            names,
            self._func_name,
            self._grad_func,
            self._python_grad_func,
            out_names=self._out_names,
            **self._extra_kwargs,
        )

    def _argnames(self, names, least, most):
        """A name for each argument; those of *args are numbered."""
        if most < 1000000 or not names:
            return names
        own = names[:-1]
        extra = max(len(self._input_types) - len(own), 0)
        return own + [f"{names[-1]}_{i}" if i else names[-1] for i in range(extra)]


class _DefinedFunction:
    """A function of the library.

    Its body is built when it is first needed, within the default graph of then.
    """

    def __init__(
        self,
        func,
        argnames,
        input_types,
        func_name=None,
        grad_func=None,
        python_grad_func=None,
        out_names=None,
        shape_func=None,
        capture_by_value=False,
        whitelisted_stateful_ops=None,
        capture_resource_var_by_value=True,
        **kwargs,
    ):
        self._func = func
        self._whitelisted_stateful_ops = whitelisted_stateful_ops
        self._args = [
            (n, dtypes.as_dtype(t)) for n, t in zip(_extended(argnames, len(input_types)), input_types)
        ]
        self._func_name = func_name
        self._grad_func = grad_func
        self._python_grad_func = python_grad_func
        self._out_names = out_names
        self._shape_func = shape_func
        self._capture_by_value = capture_by_value
        self._capture_resource_var_by_value = capture_resource_var_by_value
        self._extra_kwargs = kwargs
        self._definition = None
        self._graph = None
        self._sub_functions = {}
        self._is_being_added = False
        graph = ops.get_default_graph()
        self._device = graph._device_functions_outer_to_inner
        self._container = graph._container

    # -- What it is --

    @property
    def name(self):
        self._create_definition_if_needed()
        return self._func_name

    @property
    def _op_def(self):
        return self.definition.signature

    _signature = _op_def

    @property
    def definition(self):
        """The FunctionDef."""
        self._create_definition_if_needed()
        return self._definition

    @property
    def grad_func_name(self):
        return self._grad_func.name if self._grad_func is not None else None

    @property
    def python_grad_func(self):
        return self._python_grad_func

    @property
    def declared_input_types(self):
        """The types of the arguments, without captured ones."""
        return tuple(t for _, t in self._args)

    @property
    def captured_inputs(self):
        """The tensors from outside that each call passes too."""
        self._create_definition_if_needed()
        return self._graph.extra_inputs

    _extra_inputs = captured_inputs

    @property
    def stateful_ops(self):
        """(name, op) of the nodes of the body that have a state."""
        self._create_definition_if_needed()
        return [(op.name, op.type) for op in self._graph.get_operations() if op._is_stateful]

    @property
    def hash(self):
        return hashlib.sha1(self.definition.SerializeToString(deterministic=True)).hexdigest()

    def set_grad_func(self, grad_func):
        """Gives it a gradient function, a Defun, if it has none. Each call makes sure it is the same one."""
        if self._python_grad_func is not None:
            raise ValueError("Gradient defined twice for function %s" % self._func_name)
        if self._grad_func is not None and self._grad_func is not grad_func:
            raise ValueError("Gradient defined twice for function %s" % self._func_name)
        self._grad_func = grad_func

    # -- Its body --

    def _create_definition_if_needed(self):
        if self._definition is None:
            with ops.get_default_graph().as_default():
                self._create_definition()

    def _create_definition(self):
        graph = func_graph_from_py_func(
            self._func,
            [n for n, _ in self._args],
            [t for _, t in self._args],
            name=self._func_name,
            capture_by_value=self._capture_by_value,
            container=self._container,
            capture_resource_var_by_value=self._capture_resource_var_by_value,
            device=self._device,
            collections_ref=_variable_collections(ops.get_default_graph()),
            whitelisted_stateful_ops=self._whitelisted_stateful_ops,
        )
        self._set_body(graph)

    def _set_body(self, graph):
        self._graph = graph
        self._sub_functions = dict(graph._functions)
        if self._out_names is not None and len(self._out_names) != len(graph.outputs):
            raise errors_impl.InvalidArgumentError(
                None,
                None,
                "output names must be either empty or equal in size to outputs. output names size = "
                f"{len(self._out_names)} outputs size = {len(graph.outputs)}",
            )
        definition = self._define(self._func_name or "", graph)
        if self._func_name is None:
            what = [definition.SerializeToString(deterministic=True)]
            digest = hashlib.sha1(b"".join(what)).hexdigest()[:8]
            base = _get_func_name(self._func)
            if self._grad_func is not None:  # one with the same body may have another gradient
                base += f"_{self._grad_func.name}"
            elif self._python_grad_func is not None:
                base += f"_{_get_func_name(self._python_grad_func)}"
            self._func_name = f"{base}_{digest}"
            definition.signature.name = self._func_name
        for key, value in _attrs_of(self._func_name, self._extra_kwargs).items():
            definition.attr[key].CopyFrom(value)
        self._definition = definition

    def _define(self, name, graph):
        inputs = [t._pair for t in graph.inputs + graph.extra_args]
        outputs = [t._pair for t in graph.outputs]
        try:
            data = graph._native.to_function(
                name or "unnamed",
                inputs,
                outputs,
                self._out_names,
                None,
                getattr(self._func, "__doc__", None),
            )
        except _native.Error as error:
            raise ops._building_error(error) from None
        return protos.FunctionDef.FromString(data)

    def add_to_graph(self, g):
        """Adds it, its gradient function and what it calls to the library of a graph."""
        if self._grad_func is not None and self._python_grad_func is not None:
            raise ValueError("Gradient defined twice for function %s" % self._func_name)
        self._create_definition_if_needed()
        if g._get_function(self.name) is self or self._is_being_added:
            return
        self._is_being_added = True
        try:
            for function in self._sub_functions.values():
                if g._get_function(function.name) is None:
                    function.add_to_graph(g) if hasattr(function, "add_to_graph") else g._add_function(
                        function
                    )
            if self._grad_func is not None:
                self._grad_func.add_to_graph(g)
            g._add_function(self)
        finally:
            self._is_being_added = False

    # -- Calls --

    def __call__(self, *args, **kwargs):
        """Makes a node that calls it; returns its result, the tuple of its results, or the node without any.

        kwargs: name, and attributes of the node, as noinline=True.
        """
        return self._call_with([ops.convert_to_tensor(x) for x in args], self.captured_inputs, **kwargs)

    def _call_with(self, args, captured, **kwargs):
        self.add_to_graph(ops.get_default_graph())
        result, op = _call(self._signature, *args, *captured, **kwargs)
        # The body knows more of the shapes than a call does.
        shapes = (
            self._shape_func(op) if self._shape_func is not None else [t.shape for t in self._graph.outputs]
        )
        for t, shape in zip(op.outputs, shapes):
            if self._shape_func is not None or not self._args:
                t.set_shape(shape)
        return result


class _OverloadedFunction:
    """A function without given types: a _DefinedFunction for each list of types that calls have."""

    def __init__(
        self, func, argnames, func_name=None, grad_func=None, python_grad_func=None, out_names=None, **kwargs
    ):
        self._func = func
        self._argnames = argnames
        self._func_name = func_name
        self._grad_func = grad_func
        self._python_grad_func = python_grad_func
        self._out_names = out_names
        self._extra_kwargs = kwargs
        self._overload = {}

    def instantiate(self, input_types):
        """The function for arguments of these types."""
        types = tuple(dtypes.as_dtype(t).base_dtype for t in input_types)
        key = "_".join(t.name for t in types)
        if key in self._overload:
            return self._overload[key]
        name = None if self._func_name is None else f"{self._func_name}_{key}"
        defined = _DefinedFunction(
            self._func,
            self._argnames,
            types,
            name,
            None,
            self._python_grad_func,
            out_names=self._out_names,
            **self._extra_kwargs,
        )
        defined.name  # builds it
        if self._grad_func:
            result_types = [dtypes.as_dtype(a.type) for a in defined._signature.output_arg]
            defined._grad_func = self._grad_func.instantiate([*types, *result_types])
        self._overload[key] = defined
        return defined

    def __call__(self, *args, **kwargs):
        args = [ops.convert_to_tensor(x) for x in args]
        return self.instantiate([x.dtype for x in args])(*args, **kwargs)


class Declare:
    """A function by its name and types, for calls before it is defined.

    Args:
      func_name: its name.
      inputs, outputs: pairs of name and type.
    """

    def __init__(self, func_name, inputs, outputs):
        self._sig = protos.OpDef(name=func_name)
        for args, into in ((inputs, self._sig.input_arg), (outputs, self._sig.output_arg)):
            for i, (name, dtype) in enumerate(args):
                into.add(name=name or f"arg{i}", type=dtypes.as_dtype(dtype).as_datatype_enum)

    def __call__(self, *inputs, **kwargs):
        graph = ops.get_default_graph()
        if not graph._is_function(self._sig.name):
            raise NotImplementedError(
                f"function.Declare: a call of '{self._sig.name}' in a graph whose library does not have it yet; add "
                "it first, by add_to_graph()"
            )
        return _call(self._sig, *[ops.convert_to_tensor(x) for x in inputs], **kwargs)[0]


def _call(sig, *inputs, **kwargs):
    """Makes a node that calls the function of a signature; returns its results and the node."""
    if len(inputs) != len(sig.input_arg):
        raise ValueError("Expected number of arguments: %d, received: %d" % (len(sig.input_arg), len(inputs)))
    name = kwargs.pop("name", None) or sig.name
    attrs = _attrs_of(sig.name, kwargs)
    types = [dtypes.as_dtype(a.type) for a in sig.output_arg]
    op = ops.get_default_graph().create_op(sig.name, list(inputs), types, name=name, attrs=attrs)
    if not op.outputs:
        return op, op
    return (op.outputs[0] if len(op.outputs) == 1 else tuple(op.outputs)), op


def _attrs_of(function, keywords):
    """The attributes that keyword arguments of Defun, or of a call, stand for. ValueError: one is unknown."""
    attrs, unknown = {}, []
    if keywords.get("compiled") is not None:
        attrs["_XlaCompile"] = protos.AttrValue(b=bool(keywords["compiled"]))
        separate = bool(keywords.get("separate_compiled_gradients"))
        attrs["_XlaSeparateCompiledGradients"] = protos.AttrValue(b=separate)
        attrs["_XlaScope"] = protos.AttrValue(s=compat.as_bytes(f"function_{function}"))
    for key, value in keywords.items():
        if key == "noinline":
            if value is not None:
                attrs["_noinline"] = protos.AttrValue(b=bool(value))
        elif key.startswith("experimental_") or key in ("_implements", "_reference"):
            attrs[key] = _attr_of(key, value)
        elif key not in ("compiled", "separate_compiled_gradients"):
            unknown.append(key)
    if unknown:
        raise ValueError(f"Unknown keyword arguments: {', '.join(unknown)}")
    return attrs


def _attr_of(key, value):
    if isinstance(value, protos.AttrValue):
        return value
    if isinstance(value, bool):
        return protos.AttrValue(b=value)
    if isinstance(value, int):
        return protos.AttrValue(i=value)
    if isinstance(value, float):
        return protos.AttrValue(f=value)
    if isinstance(value, (str, bytes)):
        return protos.AttrValue(s=compat.as_bytes(value))
    raise ValueError(f"Unsupported attribute type for {key} with type {type(value)}")


def _extended(names, count):
    """Names for `count` arguments."""
    return list(names[:count]) + [f"arg{i}" for i in range(len(names), count)]


def _get_func_name(func):
    _, func = tf_decorator.unwrap(func)
    name = function_utils.get_func_name(func) if callable(func) else str(type(func))
    name = re.sub(r"[^A-Za-z0-9_.]", "", name.replace("<lambda>", "lambda"))
    return name if name and name[0].isalpha() else "f" + name


# ---- Bodies ----


class _FuncGraph(ops.Graph):
    """The body of a function: a graph that makes arguments of tensors from outside.

    `inputs`: the placeholders of the arguments; `extra_inputs`: tensors from outside, and `extra_args`: their
    placeholders.
    """

    _building_function = True

    def __init__(
        self,
        name,
        capture_by_value=False,
        capture_resource_var_by_value=True,
        whitelisted_stateful_ops=None,
    ):
        super().__init__()
        self.name = name
        self._whitelisted_stateful_ops = whitelisted_stateful_ops or ()
        self._outer_graph = ops.get_default_graph()
        self._vscope = variable_scope.get_variable_scope()
        self._capture_by_value = capture_by_value
        self._capture_resource_var_by_value = capture_resource_var_by_value
        self._captured = {}  # id of a tensor from outside: (itself, its placeholder)
        self._copied = {}
        self.inputs, self.outputs, self.extra_inputs, self.extra_args, self.extra_vars = [], [], [], [], []
        self.seed = self._outer_graph.seed

    @property
    def outer_graph(self):
        return self._outer_graph

    @property
    def captures(self):
        return list(self._captured.values())

    def _create(self, op_type, inputs, name, attrs, output_types=None):
        inputs = [[self.capture(t) for t in x] if isinstance(x, list) else self.capture(x) for x in inputs]
        if op_def_library.op_def_or_none(op_type) is None and self._get_function(op_type) is None:
            called = self._outer_graph._get_function(op_type)
            if called is not None:
                called.add_to_graph(self)
        return super()._create(op_type, inputs, name, attrs, output_types)

    def control_dependencies(self, control_inputs):
        """As of any graph. What it captures of outside is no control input: an operation there is an error."""
        if control_inputs is not None:
            control_inputs = [self._within(c) for c in map(_element, control_inputs)]
        return super().control_dependencies(control_inputs)

    def _within(self, element):
        found = self._captured.get(id(element))
        return element if found is None else found[1]

    def getvar(
        self,
        getter,
        name,
        shape=None,
        dtype=None,
        initializer=None,
        reuse=None,
        trainable=True,
        collections=None,
        use_resource=None,
        **kwargs,
    ):
        """A variable of the graph outside, in the variable scope that the function was defined in."""
        del getter
        with self._outer_graph.as_default():
            var = self._vscope.get_variable(
                variable_scope._get_default_variable_store(),
                name,
                shape=shape,
                dtype=dtype,
                initializer=initializer,
                reuse=reuse,
                trainable=trainable,
                collections=collections,
                use_resource=use_resource,
            )
            self.extra_vars.append(var)
            if self._capture_resource_var_by_value and _is_resource_variable(var):
                return var.value()
            return var

    def capture(self, tensor, name=None):
        """The tensor within that has the value of `tensor`: itself, a placeholder, or a copy."""
        if tensor.graph is self:
            return tensor
        found = self._captured.get(id(tensor))
        if found is not None:
            return found[1]
        if self._capture_by_value:
            return self._copy(tensor.op).outputs[tensor.value_index]
        with ops.control_dependencies(None), self.name_scope(None):
            within = array_ops.placeholder(tensor.dtype.base_dtype, shape=tensor.shape, name=name)
        self.extra_inputs.append(tensor)
        self.extra_args.append(within)
        if _is_guaranteed_const(tensor):
            with ops.control_dependencies(None), self.as_default():
                within = array_ops.guarantee_const(within)
        self._captured[id(tensor)] = (tensor, within)
        return within

    def _copy(self, op):
        """A copy of a node from outside, with what it needs."""
        if op in self._copied:
            return self._copied[op]
        if op.type in ("Placeholder", "PlaceholderV2"):
            raise ValueError(f"Cannot capture a placeholder (name:{op.name}, type:{op.type}) by value.")
        # A dataset's node only describes it: a copy is as good.
        if (
            op not in self._whitelisted_stateful_ops
            and op._is_stateful
            and "Dataset" not in op.type
            and op.type != "Assert"
        ):
            raise ValueError(f"Cannot capture a stateful node (name:{op.name}, type:{op.type}) by value.")
        attrs = dict(op.node_def.attr)
        for attr in attrs.values():
            for called in [attr.func, *attr.list.func]:
                known = self._outer_graph._get_function(called.name) if called.name else None
                if known is not None:
                    known.add_to_graph(self)
        inputs = [self.capture(t) for t in op.inputs]
        controls = [self._copy(c) for c in op.control_inputs]
        with self.as_default(), ops.control_dependencies(controls):
            copied = self.create_op(op.type, inputs, [t.dtype for t in op.outputs], name=op.name, attrs=attrs)
        self._copied[op] = copied
        return copied


def _is_guaranteed_const(tensor):
    """Whether a tensor is made of outputs of GuaranteeConst only."""
    pending, seen = [tensor.op], set()
    while pending:
        op = pending.pop()
        if op in seen or op.type == "GuaranteeConst":
            continue
        if not op.inputs:
            return False
        seen.add(op)
        pending.extend(t.op for t in op.inputs)
    return True


def _variable_collections(graph):
    """The collections of variables of a graph, and its store of them: a function in it shares these lists."""
    keys = [*ops.GraphKeys._VARIABLE_COLLECTIONS, variable_scope._VARSTORE_KEY]
    return {key: graph._collections.setdefault(key, []) for key in keys}


def _element(value):
    return value if isinstance(value, (ops.Tensor, ops.Operation)) else ops._op_to_colocate_with(value)


def _is_resource_variable(var):
    handle = getattr(var, "handle", None)
    return isinstance(handle, ops.Tensor) and handle.dtype == dtypes.resource


def func_graph_from_py_func(
    func,
    arg_names,
    arg_types,
    name=None,
    capture_by_value=False,
    device=None,
    colocation_stack=None,
    container=None,
    collections_ref=None,
    arg_shapes=None,
    whitelisted_stateful_ops=None,
    capture_resource_var_by_value=True,
):
    """Calls `func` with placeholders in a graph of its own, and returns that.

    `outputs` of the graph are the results. ValueError: one of them is None.
    """
    del colocation_stack
    graph = _FuncGraph(name, capture_by_value, capture_resource_var_by_value, whitelisted_stateful_ops)
    with graph.as_default():
        if callable(device) or isinstance(device, str):
            device = [device]
        for function in device or ():
            graph._add_device_to_stack(function)
        if collections_ref is not None:
            graph._collections = collections_ref
        if container is not None:
            graph._container = container
        for i, (arg, dtype) in enumerate(zip(arg_names, arg_types)):
            shape = arg_shapes[i] if arg_shapes is not None else None
            graph.inputs.append(array_ops.placeholder(dtype, shape=shape, name=arg))
        with variable_scope.variable_scope("", custom_getter=graph.getvar):
            outputs = func(*graph.inputs)
        if outputs is None:
            outputs = []
        elif not isinstance(outputs, (list, tuple)):
            outputs = (outputs,)
        if any(x is None for x in outputs):
            raise ValueError(f"Function {name} can not return None.")
        graph.outputs = [graph.capture(ops.convert_to_tensor(x)) for x in outputs]
    return graph


def get_extra_inputs():
    """The captured tensors of the function whose body is being built; [] outside of one."""
    graph = ops.get_default_graph()
    return graph.extra_inputs if isinstance(graph, _FuncGraph) else []


def get_extra_args():
    """The placeholders of the captured tensors of the function whose body is being built."""
    graph = ops.get_default_graph()
    return graph.extra_args if isinstance(graph, _FuncGraph) else []


def get_extra_vars():
    """The variables that the function whose body is being built has asked for."""
    graph = ops.get_default_graph()
    return graph.extra_vars if isinstance(graph, _FuncGraph) else []


def function_def_from_tf_function(c_func):
    raise NotImplementedError("function_def_from_tf_function: use the `definition` of a function")


class _LibraryFunction:
    """A function that came with a GraphDef."""

    captured_inputs = []
    python_grad_func = None

    def __init__(self, definition, gradient_name=None):
        self.definition, self.grad_func_name = definition, gradient_name
        self.name = definition.signature.name

    @property
    def declared_input_types(self):
        return tuple(dtypes.as_dtype(arg.type) for arg in self.definition.signature.input_arg)

    def add_to_graph(self, g):
        g._add_function(self)


def _from_definition(fdef, grad_func=None):
    """The function of a FunctionDef."""
    return _LibraryFunction(fdef, None if grad_func is None else grad_func.name)


def _from_library(lib):
    """The functions of a FunctionDefLibrary."""
    gradients = {g.function_name: g.gradient_func for g in lib.gradient}
    return [_LibraryFunction(f, gradients.get(f.signature.name)) for f in lib.function]


def from_library(lib):
    """The functions of a FunctionDefLibrary. ValueError: a gradient names none of them, or is one of its own."""
    names = {f.signature.name for f in lib.function}
    gradients = {g.function_name: g.gradient_func for g in lib.gradient}
    for name in [*gradients, *gradients.values()]:
        if name not in names:
            raise ValueError(f"FunctionDefLibrary missing '{name}' FunctionDef\n{lib}")
    for name in gradients:
        seen = set()
        while name in gradients:
            if name in seen:
                raise ValueError(f"FunctionDefLibrary contains cyclic gradient functions!\n{lib}")
            seen.add(name)
            name = gradients[name]
    return _from_library(lib)
