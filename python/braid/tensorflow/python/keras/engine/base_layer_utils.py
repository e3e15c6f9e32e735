"""What layers share: making variables, the context of a call, and the way back from tensors to layers."""

import contextlib
import functools
import threading

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import keras_export


def make_variable(
    name,
    shape=None,
    dtype=dtypes.float32,
    initializer=None,
    trainable=None,
    caching_device=None,
    validate_shape=True,
    constraint=None,
    use_resource=None,
    collections=None,
    synchronization=None,
    aggregation=None,
    partitioner=None,
):
    """A variable of a layer, outside of variable scopes; name scopes are in its name. Resource by default."""
    from braid.tensorflow.python.ops import variables

    del partitioner  # variables in parts need a variable scope
    if isinstance(initializer, type):
        initializer = initializer()
    if callable(initializer):
        initial_value = functools.partial(initializer, shape, dtype=dtype)
        variable_dtype = dtypes.as_dtype(dtype).base_dtype
    else:
        initial_value, variable_dtype = initializer, None
    if trainable is None:
        trainable = True
    return variables.VariableV1(
        initial_value=initial_value,
        name=name,
        trainable=trainable,
        caching_device=caching_device,
        dtype=variable_dtype,
        validate_shape=validate_shape,
        constraint=constraint,
        use_resource=True if use_resource is None else use_resource,
        collections=collections,
        synchronization=synchronization,
        aggregation=aggregation,
    )


def collect_previous_mask(input_tensors):
    """The masks that earlier layers left on the tensors, in the structure of `input_tensors`."""

    def mask_of(x):
        return getattr(x, "_keras_mask", None)

    return nest.map_structure(mask_of, input_tensors)


def have_all_keras_metadata(tensors):
    """Whether each tensor is the output of a layer or an Input."""
    return all(hasattr(x, "_keras_history") for x in nest.flatten(tensors))


def generate_placeholders_from_shape(shape):
    """A float placeholder of the shape."""
    from braid.tensorflow.python.ops import array_ops

    return array_ops.placeholder(shape=shape, dtype=_floatx())


def _floatx():
    from braid.tensorflow.python.keras import backend

    return backend.floatx()


class CallContext(threading.local):
    """The call of a layer that is under way in this thread: the layer, its inputs, its `training`."""

    def __init__(self):
        super().__init__()
        self.layer = None
        self.inputs = None
        self.frozen = False
        self.in_call = False
        self.training = None
        self.saving = False

    def enter(self, layer, inputs, build_graph, training):
        """A context in which `layer` is called; the state before comes back at its end. build_graph: True."""
        return _Call(self, layer, inputs, training)


class _Call:
    def __init__(self, context, layer, inputs, training):
        self._context = context
        self._new = (layer, inputs, context.frozen or not layer.trainable, True, training)

    def __enter__(self):
        c = self._context
        self._old = (c.layer, c.inputs, c.frozen, c.in_call, c.training)
        c.layer, c.inputs, c.frozen, c.in_call, c.training = self._new
        return c

    def __exit__(self, *_):
        c = self._context
        c.layer, c.inputs, c.frozen, c.in_call, c.training = self._old
        return False


_call_context = CallContext()
V2_DTYPE_BEHAVIOR = None


def v2_dtype_behavior_enabled():
    """Whether layers compute in floatx() by default, and cast inputs, as in TensorFlow 2."""
    return bool(V2_DTYPE_BEHAVIOR)


@keras_export("keras.layers.enable_v2_dtype_behavior")
def enable_v2_dtype_behavior():
    """Layers compute in floatx() by default, and cast their inputs, as in TensorFlow 2."""
    global V2_DTYPE_BEHAVIOR
    V2_DTYPE_BEHAVIOR = True


@keras_export("keras.layers.disable_v2_dtype_behavior")
def disable_v2_dtype_behavior():
    """Layers take the type of their first input, as in TensorFlow 1."""
    global V2_DTYPE_BEHAVIOR
    V2_DTYPE_BEHAVIOR = False


@contextlib.contextmanager
def autocast_context_manager(dtype):
    """A context in which AutoCastVariables of the default graph are read as `dtype`; None: as they are."""
    graph = ops.get_default_graph()
    old = getattr(graph, "_auto_cast_variable_read_dtype", None)
    dtype = None if dtype is None else dtypes.as_dtype(dtype)
    graph._auto_cast_variable_read_dtype = dtype if dtype is not None and dtype.is_floating else None
    try:
        yield
    finally:
        graph._auto_cast_variable_read_dtype = old


def call_context():
    """This thread's CallContext."""
    return _call_context


def is_in_keras_graph():
    """False: models are built in the default graph, never in a graph of Keras."""
    return False


def needs_keras_history(tensors):
    """Whether ops outside of layers made one of the tensors from an Input."""
    tensors = [t for t in nest.flatten(tensors) if isinstance(t, ops.Tensor)]
    if not tensors or call_context().in_call:
        return False
    if not getattr(tensors[0].graph, "_keras_has_inputs", False):
        return False
    if all(hasattr(t, "_keras_history") for t in tensors):
        return False
    seen, todo = set(), list(tensors)
    while todo:
        t = todo.pop()
        if id(t) in seen:
            continue
        seen.add(id(t))
        if hasattr(t, "_keras_history"):
            return True
        todo.extend(t.op.inputs)
    return False


def create_keras_history(tensors):
    """Wraps the ops between layers and `tensors` in layers. Returns those layers."""
    from braid.tensorflow.python.framework import tensor_util
    from braid.tensorflow.python.keras import backend
    from braid.tensorflow.python.keras.engine import base_layer

    made = []

    def wrap(tensor):
        todo = [tensor]
        while todo:
            t = todo[-1]
            if hasattr(t, "_keras_history"):
                todo.pop()
                continue
            op = t.op
            constants, layer_inputs, waits = {}, [], []
            for i, x in enumerate(op.inputs):
                if hasattr(x, "_keras_history"):
                    layer_inputs.append(x)
                elif needs_keras_history([x]):
                    waits.append(x)
                else:
                    constants[i] = x
            if waits:
                todo.extend(waits)
                continue
            todo.pop()
            for i, x in constants.items():
                value = tensor_util.constant_value(x)
                constants[i] = x if value is None else value
            prefix = base_layer.OP_LAYER_PREFIX
            name = backend.unique_object_name(prefix + op.name.replace("/", "_"), zero_based=True)
            layer = base_layer.TensorFlowOpLayer(op.node_def, name[len(prefix) :], constants=constants)
            made.append(layer)
            layer._add_inbound_node(layer_inputs, list(op.outputs))
            layer.built = True

    for t in nest.flatten(tensors):
        if isinstance(t, ops.Tensor) and not hasattr(t, "_keras_history"):
            wrap(t)
    return made


def unnest_if_single_tensor(input_tensors):
    """The tensor of a list of one, or else the argument."""
    flat = nest.flatten(input_tensors)
    return flat[0] if len(flat) == 1 and not isinstance(input_tensors, dict) else input_tensors


def shape_list(shape):
    """A TensorShape, or one in each place of a structure, for anything that says a shape."""
    if shape is None or isinstance(shape, tensor_shape.TensorShape):
        return tensor_shape.TensorShape(shape)
    if isinstance(shape, dict):
        return {k: shape_list(v) for k, v in shape.items()}
    shape = list(shape)
    if all(d is None or isinstance(d, (int, tensor_shape.Dimension)) for d in shape):
        return tensor_shape.TensorShape(shape)
    try:
        return tensor_shape.TensorShape([None if d is None else int(d) for d in shape])
    except (TypeError, ValueError):
        return [shape_list(s) for s in shape]


def default(method):
    """Marks a method as the one of the base class."""
    method._is_default = True
    return method


def is_default(method):
    """Whether a subclass has not replaced the method."""
    return getattr(method, "_is_default", False)


def is_subclassed(layer):
    """Whether the layer is of a class of the program's own."""
    module = layer.__module__
    return "keras.engine" not in module and "keras.layers" not in module and ".python.layers" not in module
