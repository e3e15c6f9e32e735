"""tf.keras.backend: what layers compute with, and the session that models run in."""

import collections
import collections.abc
import contextlib
import itertools
import json
import os
import threading
import weakref

import numpy as np

from braid import protos
from braid.tensorflow.python.distribute import distribution_strategy_context
from braid.tensorflow.python.framework import config as device_config
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes as dtypes_module
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras.engine import batch_values
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import linalg_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops import sparse_ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variables as variables_module
from braid.tensorflow.python.ops.ragged import ragged_factory_ops
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import keras_export

py_all = all
py_sum = sum
py_any = any

# Settings.

_FLOATX = "float32"
_EPSILON = 1e-7
_IMAGE_DATA_FORMAT = "channels_last"


def _read_config():
    """Takes over what the program's user has set in keras.json."""
    home = os.environ.get("KERAS_HOME") or os.path.join(os.path.expanduser("~"), ".keras")
    try:
        with open(os.path.join(home, "keras.json"), encoding="utf-8") as file:
            config = json.load(file)
        set_floatx(config.get("floatx", _FLOATX))
        set_epsilon(config.get("epsilon", _EPSILON))
        set_image_data_format(config.get("image_data_format", _IMAGE_DATA_FORMAT))
    except (OSError, ValueError):
        pass


@keras_export("keras.backend.epsilon")
def epsilon():
    """A small number, against divisions by zero."""
    return _EPSILON


@keras_export("keras.backend.set_epsilon")
def set_epsilon(value):
    """Sets epsilon()."""
    global _EPSILON
    _EPSILON = value


@keras_export("keras.backend.floatx")
def floatx():
    """The type of floats, as "float32"."""
    return _FLOATX


@keras_export("keras.backend.set_floatx")
def set_floatx(value):
    """Sets floatx() to "float16", "float32" or "float64"."""
    global _FLOATX
    if value not in {"float16", "float32", "float64"}:
        raise ValueError(f"Unknown floatx type: {value}")
    _FLOATX = str(value)


@keras_export("keras.backend.image_data_format")
def image_data_format():
    """ "channels_last" or "channels_first"."""
    return _IMAGE_DATA_FORMAT


@keras_export("keras.backend.set_image_data_format")
def set_image_data_format(data_format):
    """Sets image_data_format()."""
    global _IMAGE_DATA_FORMAT
    if data_format not in {"channels_last", "channels_first"}:
        raise ValueError(f"Unknown data_format: {data_format}")
    _IMAGE_DATA_FORMAT = str(data_format)


@keras_export("keras.backend.backend")
def backend():
    """ "tensorflow"."""
    return "tensorflow"


@keras_export("keras.backend.cast_to_floatx")
def cast_to_floatx(x):
    """An array or a tensor as floatx()."""
    if isinstance(x, (ops.Tensor, sparse_tensor.SparseTensor)) or is_variable(x):
        return math_ops.cast(x, dtype=floatx())
    return np.asarray(x, dtype=floatx())


def is_variable(x):
    """Whether x is a variable."""
    return isinstance(x, variables_module.Variable) or (hasattr(x, "initializer") and hasattr(x, "assign"))


# Names.

# For each graph: how often each prefix was taken.
_UIDS = weakref.WeakKeyDictionary()


def _uids():
    return _UIDS.setdefault(get_graph(), collections.defaultdict(int))


@keras_export("keras.backend.get_uid")
def get_uid(prefix=""):
    """1 at the first call for a prefix and the default graph, then 2, ..."""
    uids = _uids()
    uids[prefix] += 1
    return uids[prefix]


@keras_export("keras.backend.reset_uids")
def reset_uids():
    """Lets get_uid begin at 1 again, in all graphs."""
    _UIDS.clear()


def unique_object_name(name, name_uid_map=None, avoid_names=None, namespace="", zero_based=False):
    """name, name_1, ... (name_1, name_2, ... unless zero_based), unique in the default graph."""
    uids = _uids() if name_uid_map is None else name_uid_map
    avoid = avoid_names or set()
    while True:
        key = (namespace, name)
        if zero_based:
            number = uids[key]
            proposed = f"{name}_{number}" if number else name
            uids[key] += 1
        else:
            uids[key] += 1
            proposed = f"{name}_{uids[key]}"
        if proposed not in avoid:
            return proposed


name_scope = ops.name_scope


# Graph, session, learning phase.

_SESSION = threading.local()
_MANUAL_VAR_INIT = False


class _ByGraph(collections.abc.MutableMapping):
    """A value for each graph, which the graph itself holds: the value may refer to it."""

    def __init__(self, name):
        self._name = name

    def __getitem__(self, graph):
        try:
            return getattr(graph, self._name)
        except AttributeError:
            raise KeyError(graph) from None

    def __setitem__(self, graph, value):
        setattr(graph, self._name, value)

    def __delitem__(self, graph):
        delattr(graph, self._name)

    def __iter__(self):
        raise TypeError("the graphs are not known")

    def __len__(self):
        raise TypeError("the graphs are not known")


_PHASES = _ByGraph("_keras_phase")
_VARIABLES = _ByGraph("_keras_variables")


def get_graph():
    """The default graph."""
    return ops.get_default_graph()


@keras_export("keras.backend.clear_session")
def clear_session():
    """Begins anew: a default graph with the placeholder of the learning phase alone, no session."""
    ops.reset_default_graph()
    reset_uids()
    _SESSION.session = None
    graph = get_graph()
    with graph.as_default():
        _PHASES[graph] = _new_phase()


@keras_export("keras.backend.manual_variable_initialization")
def manual_variable_initialization(value):
    """Whether the program initializes variables itself."""
    global _MANUAL_VAR_INIT
    _MANUAL_VAR_INIT = value


@keras_export("keras.backend.learning_phase")
def learning_phase():
    """0 for prediction, 1 for training; or a bool tensor of the graph, which is false unless it is fed."""
    graph = get_graph()
    if graph not in _PHASES:
        _PHASES[graph] = _new_phase()
    return _PHASES[graph]


def symbolic_learning_phase():
    """learning_phase() as a tensor."""
    graph = get_graph()
    if graph not in _PHASES:
        _PHASES[graph] = _new_phase()
    return _PHASES[graph]


def _new_phase():
    with ops.name_scope(""):
        return array_ops.placeholder_with_default(False, shape=(), name="keras_learning_phase")


def global_learning_phase_is_set():
    """Whether the program has set the learning phase."""
    value = _PHASES.get(get_graph())
    return isinstance(value, int)


@keras_export("keras.backend.set_learning_phase")
def set_learning_phase(value):
    """Sets learning_phase() to 0 or 1."""
    if value not in {0, 1}:
        raise ValueError("Expected learning phase to be 0 or 1.")
    _PHASES[get_graph()] = int(value)


@keras_export("keras.backend.learning_phase_scope")
@contextlib.contextmanager
def learning_phase_scope(value):
    """A context with a learning phase."""
    graph = get_graph()
    before = _PHASES.get(graph)
    set_learning_phase(value)
    try:
        yield value
    finally:
        if before is None:
            _PHASES.pop(graph, None)
        else:
            _PHASES[graph] = before


@keras_export(v1=["keras.backend.get_session"])
def get_session(op_input_list=()):
    """The default session, or one of Keras' own; variables of layers are initialized in it."""
    session = _get_session(op_input_list)
    if not _MANUAL_VAR_INIT:
        with session.graph.as_default():
            _initialize_variables(session)
    return session


def get_default_session_config():
    """The ConfigProto of sessions that Keras makes: what tf.config has set, with soft placement."""
    config = protos.ConfigProto()
    default = device_config.default_config()
    if default is not None:
        config.CopyFrom(default)
    config.allow_soft_placement = True
    return config


def _get_session(op_input_list=()):
    from braid.tensorflow.python.client import session as session_module

    default = ops.get_default_session()
    if default is not None:
        return default
    graph = get_graph()
    _need_devices(distribution_strategy_context.get_strategy())
    session = getattr(_SESSION, "session", None)
    if session is None or session.graph is not graph:
        config = get_default_session_config()
        if _CPUS[0] > dict(config.device_count).get("CPU", 1):
            config.device_count["CPU"] = _CPUS[0]
        make = _WORKERS[0]._make_session if _WORKERS[0] is not None else session_module.Session
        _SESSION.session = make(config=config)
    return _SESSION.session


_CPUS = [1]
_WORKERS = [None]  # the strategy of several processes, in one of which this is


def _need_devices(strategy):
    """Has sessions that Keras makes from now on have the CPUs of a strategy, or be on its worker's server."""
    if strategy._in_multi_worker_mode():
        if _WORKERS[0] is None:
            _SESSION.session = None
        _WORKERS[0] = strategy
        return
    count = len([device for device in strategy.extended.worker_devices if "CPU" in device.upper()])
    if count > _CPUS[0]:
        _CPUS[0] = count
        _SESSION.session = None


@keras_export(v1=["keras.backend.set_session"])
def set_session(session):
    """Lets Keras use a session."""
    _SESSION.session = session


def track_variable(v):
    """Remembers a variable: the session will initialize it."""
    graph = getattr(v, "graph", None) or get_graph()
    _VARIABLES.setdefault(graph, []).append(v)


def _get_variables(graph=None):
    graph = graph or get_graph()
    found, seen = [], set()
    for v in _VARIABLES.get(graph, []):
        for part in list(v) if hasattr(v, "_get_partitions") else [v]:
            if id(part) not in seen:
                seen.add(id(part))
                found.append(part)
    return found


def _initialize_variables(session):
    """Initializes those variables of layers that are not yet."""
    todo = [v for v in _get_variables(session.graph) if not _known_initialized(v, session)]
    if not todo:
        return
    # Each variable is asked once in a session; those of a checkpoint are initialized already.
    asks = [_initialized_op(v) for v in todo]
    missing = [v for v, known in zip(todo, session.run(asks)) if not known]
    if missing:
        session.run([v.initializer for v in missing])
    for v in todo:
        v._keras_initialized_in = weakref.ref(session)


def _known_initialized(v, session):
    known = getattr(v, "_keras_initialized_in", None)
    return known is not None and known() is session


def _initialized_op(v):
    op = getattr(v, "_keras_is_initialized", None)
    if op is None:
        op = variables_module.is_variable_initialized(v)
        v._keras_is_initialized = op
    return op


# Variables and placeholders.


@keras_export("keras.backend.variable")
def variable(value, dtype=None, name=None, constraint=None):
    """A variable with an initial value: an array, a tensor."""
    if dtype is None:
        dtype = floatx()
    if hasattr(value, "tocoo"):
        coo = value.tocoo()
        indices = np.concatenate((np.expand_dims(coo.row, 1), np.expand_dims(coo.col, 1)), 1)
        v = sparse_tensor.SparseTensor(indices=indices, values=coo.data, dense_shape=coo.shape)
        v._keras_shape = coo.shape
        return v
    v = variables_module.VariableV1(
        value, dtype=dtypes_module.as_dtype(dtype), name=name, constraint=constraint, use_resource=True
    )
    track_variable(v)
    return v


def unique(x):
    return array_ops.unique(x)[0]


@keras_export("keras.backend.constant")
def constant(value, dtype=None, shape=None, name=None):
    """A constant, of floatx() if dtype is None."""
    return constant_op.constant(value, dtype=floatx() if dtype is None else dtype, shape=shape, name=name)


@keras_export("keras.backend.is_keras_tensor")
def is_keras_tensor(x):
    """Whether x is the output of a layer or an Input. ValueError for what is no tensor."""
    if not isinstance(x, (ops.Tensor, sparse_tensor.SparseTensor)) and not is_variable(x):
        raise ValueError(
            f"Unexpectedly found an instance of type `{type(x)}`. Expected a symbolic tensor instance."
        )
    return hasattr(x, "_keras_history")


@keras_export("keras.backend.placeholder")
def placeholder(shape=None, ndim=None, dtype=None, sparse=False, name=None, ragged=False):
    """A placeholder; `ndim` for one whose lengths are not known.

    ragged: one of a RaggedTensor, whose ragged dimensions are the None that follow the batch.
    """
    if sparse and ragged:
        raise ValueError("Cannot set both sparse and ragged to True when creating a placeholder.")
    if dtype is None:
        dtype = floatx()
    if shape is None and ndim:
        shape = tuple(None for _ in range(ndim))
    if sparse:
        made = array_ops.sparse_placeholder(dtype, shape=shape, name=name)
        made._dense_shape_default = tensor_shape.TensorShape(shape)
        return made
    if ragged:
        rank = len(list(itertools.takewhile(lambda n: n is None, shape[1:])))
        if rank:
            return ragged_factory_ops.placeholder(dtype, rank, shape[rank + 1 :], name=name)
    return array_ops.placeholder(dtype, shape=shape, name=name)


def is_placeholder(x):
    """Whether x is a placeholder."""
    parts = nest.flatten(x, expand_composites=True)
    return {getattr(getattr(p, "op", None), "type", None) for p in parts} == {"Placeholder"}


@keras_export("keras.backend.is_sparse")
def is_sparse(tensor):
    return isinstance(tensor, (sparse_tensor.SparseTensor, sparse_tensor.SparseTensorValue))


@keras_export("keras.backend.to_dense")
def to_dense(tensor):
    return sparse_ops.sparse_tensor_to_dense(tensor) if is_sparse(tensor) else tensor


@keras_export("keras.backend.shape")
def shape(x):
    """The shape as a tensor."""
    return array_ops.shape(x)


@keras_export("keras.backend.int_shape")
def int_shape(x):
    """The shape as a tuple of ints and None, or None."""
    try:
        static = x.shape
        if not isinstance(static, tuple):
            static = tuple(tensor_shape.TensorShape(static).as_list())
        return static
    except ValueError:
        return None


@keras_export("keras.backend.ndim")
def ndim(x):
    """The rank, or None."""
    dims = x.shape._dims if hasattr(x.shape, "_dims") else x.shape
    return None if dims is None else len(x.shape)


@keras_export("keras.backend.dtype")
def dtype(x):
    """The type's name."""
    return x.dtype.base_dtype.name


@keras_export("keras.backend.eval")
def eval(x):
    """The value of a tensor in Keras' session."""
    return get_value(to_dense(x))


@keras_export("keras.backend.zeros")
def zeros(shape, dtype=None, name=None):
    """A variable of zeros; a tensor where the shape is one."""
    return _filled(array_ops.zeros, 0, shape, dtype, name)


@keras_export("keras.backend.ones")
def ones(shape, dtype=None, name=None):
    """A variable of ones; a tensor where the shape is one."""
    return _filled(array_ops.ones, 1, shape, dtype, name)


def _filled(make, value, shape, dtype, name):
    del value
    t = make(shape=shape, dtype=dtypes_module.as_dtype(dtype or floatx()), name=name)
    return variable(t, dtype=dtype, name=name) if t.shape.is_fully_defined() else t


@keras_export("keras.backend.eye")
def eye(size, dtype=None, name=None):
    """A variable with an identity matrix."""
    return variable(linalg_ops.eye(size, dtype=dtypes_module.as_dtype(dtype or floatx())), dtype, name)


@keras_export("keras.backend.zeros_like")
def zeros_like(x, dtype=None, name=None):
    return array_ops.zeros_like(x, dtype=dtype, name=name)


@keras_export("keras.backend.ones_like")
def ones_like(x, dtype=None, name=None):
    return array_ops.ones_like(x, dtype=dtype, name=name)


def identity(x, name=None):
    return array_ops.identity(x, name=name)


@keras_export("keras.backend.random_uniform_variable")
def random_uniform_variable(shape, low, high, dtype=None, name=None, seed=None):
    """A variable of uniform numbers in [low, high)."""
    dtype = dtypes_module.as_dtype(dtype or floatx())
    seed = np.random.randint(10**9) if seed is None else seed
    value = init_ops.random_uniform_initializer(low, high, dtype=dtype, seed=seed)(shape)
    return variable(value, dtype=dtype, name=name)


@keras_export("keras.backend.random_normal_variable")
def random_normal_variable(shape, mean, scale, dtype=None, name=None, seed=None):
    """A variable of normal numbers."""
    dtype = dtypes_module.as_dtype(dtype or floatx())
    seed = np.random.randint(10**9) if seed is None else seed
    value = init_ops.random_normal_initializer(mean, scale, dtype=dtype, seed=seed)(shape)
    return variable(value, dtype=dtype, name=name)


@keras_export("keras.backend.count_params")
def count_params(x):
    """The number of elements."""
    return int(np.prod(x.shape.as_list()))


@keras_export("keras.backend.cast")
def cast(x, dtype):
    return math_ops.cast(x, dtype)


# Updates.


@keras_export("keras.backend.update")
def update(x, new_x):
    return state_ops.assign(x, new_x)


@keras_export("keras.backend.update_add")
def update_add(x, increment):
    return state_ops.assign_add(x, increment)


@keras_export("keras.backend.update_sub")
def update_sub(x, decrement):
    return state_ops.assign_sub(x, decrement)


@keras_export("keras.backend.moving_average_update")
def moving_average_update(x, value, momentum):
    """An op for x = x * momentum + value * (1 - momentum)."""
    from braid.tensorflow.python.training import moving_averages

    return moving_averages.assign_moving_average(x, value, momentum, zero_debias=True)


# Values.


@keras_export("keras.backend.get_value")
def get_value(x):
    """The value of a variable or tensor, as an array."""
    if not isinstance(x, (ops.Tensor, ops.Operation)) and not is_variable(x):
        return x
    session = get_session((x,))
    return session.run(x)


@keras_export("keras.backend.batch_get_value")
def batch_get_value(tensors):
    """The values of several variables."""
    tensors = list(tensors)
    return get_session(tensors).run(tensors) if tensors else []


@keras_export("keras.backend.set_value")
def set_value(x, value):
    """Sets a variable to an array."""
    batch_set_value([(x, value)])


@keras_export("keras.backend.batch_set_value")
def batch_set_value(tuples):
    """Sets variables: pairs of a variable and an array."""
    if not tuples:
        return
    assigns, feed = [], {}
    with get_session().graph.as_default() if not ops.get_default_session() else contextlib.nullcontext():
        for x, value in tuples:
            value = np.asarray(value, dtype=dtype(x))
            made = getattr(x, "_keras_assign", None)
            if made is None:
                with ops.name_scope(""):
                    p = array_ops.placeholder(x.dtype.base_dtype, shape=value.shape)
                    made = x._keras_assign = (p, x.assign(p))
            feed[made[0]] = value
            op = made[1]
            assigns.append(op if isinstance(op, ops.Operation) else op.op)
    get_session([x for x, _ in tuples]).run(assigns, feed_dict=feed)


@keras_export("keras.backend.print_tensor")
def print_tensor(x, message=""):
    """x, with its value printed each time it is computed."""
    from braid.tensorflow.python.ops import logging_ops

    return logging_ops.Print(x, [x], message)


class GraphExecutionFunction:
    """A function of arrays: runs tensors with inputs fed, and updates after them. See function."""

    def __init__(self, inputs, outputs, updates=None, name=None, **session_kwargs):
        updates = updates or []
        if not isinstance(updates, (list, tuple)):
            raise TypeError("`updates` in a Keras backend function should be a list or tuple.")
        self._inputs_structure, self._outputs_structure = inputs, outputs
        self.inputs = nest.flatten(inputs)
        self.outputs = [t if not is_variable(t) else array_ops.identity(t) for t in nest.flatten(outputs)]
        self.name = name
        self.feed_dict = session_kwargs.pop("feed_dict", None) or {}
        self.fetches = list(session_kwargs.pop("fetches", None) or [])
        self.fetch_callbacks = {}
        self.run_options = session_kwargs.pop("options", None)
        self.run_metadata = session_kwargs.pop("run_metadata", None)
        if session_kwargs:
            raise ValueError(
                f"Some keys in session_kwargs are not supported at this time: {list(session_kwargs)}"
            )
        with ops.control_dependencies([o for o in self.outputs[:1] if isinstance(o, ops.Tensor)]):
            made = []
            for u in updates:
                if isinstance(u, tuple):
                    made.append(state_ops.assign(*u))
                else:
                    made.append(u)
            self.updates_op = control_flow_ops.group(*[m for m in made if m is not None])

    def __call__(self, inputs):
        values = nest.flatten_up_to(self._inputs_structure, inputs, check_types=False)
        session = get_session(values)
        feed = dict(self.feed_dict)
        for tensor, value in zip(self.inputs, values):
            if value is None:
                continue
            if isinstance(value, ops.Tensor) or is_variable(value) or batch_values.is_composite_tensor(value):
                value = session.run(value)
            feed[tensor] = batch_values.feed_value(tensor, value)
        fetched = session.run(
            (self.outputs, self.fetches, self.updates_op),
            feed_dict=feed,
            options=self.run_options,
            run_metadata=self.run_metadata,
        )
        for fetch, value in zip(self.fetches, fetched[1]):
            if fetch in self.fetch_callbacks:
                self.fetch_callbacks[fetch](value)
        return nest.pack_sequence_as(self._outputs_structure, fetched[0])


@keras_export("keras.backend.function")
def function(inputs, outputs, updates=None, name=None, **kwargs):
    """A function from arrays for `inputs` (placeholders) to values of `outputs`.

    updates: ops, or pairs of a variable and its new value, which run after the first output was computed.
    """
    return GraphExecutionFunction(inputs, outputs, updates=updates, name=name, **kwargs)


def local_conv(inputs, kernel, kernel_size, strides, output_shape, data_format=None):
    """A convolution with a kernel of its own for each place.

    kernel: [places, values of a window, channels of the output]. output_shape: the lengths of the output.
    """
    first = _data_format(data_format) == "channels_first"
    window, filters = int_shape(kernel)[1], int_shape(kernel)[-1]
    rank = len(output_shape)
    parts = []
    for place in itertools.product(*map(range, output_shape)):
        index = [slice(i * s, i * s + k) for i, s, k in zip(place, strides, kernel_size)]
        index = [slice(None), slice(None)] + index if first else [slice(None)] + index + [slice(None)]
        parts.append(reshape(inputs[tuple(index)], (1, -1, window)))
    result = batch_dot(concatenate(parts, axis=0), kernel)  # [places, batch, filters]
    result = reshape(result, tuple(output_shape) + (-1, filters))
    axes = list(range(rank))
    return permute_dimensions(result, [rank, rank + 1] + axes if first else [rank] + axes + [rank + 1])


@keras_export("keras.backend.local_conv1d")
def local_conv1d(inputs, kernel, kernel_size, strides, data_format=None):
    """local_conv over the one axis of time."""
    return local_conv(inputs, kernel, kernel_size, strides, (kernel.shape[0].value,), data_format)


@keras_export("keras.backend.local_conv2d")
def local_conv2d(inputs, kernel, kernel_size, strides, output_shape, data_format=None):
    """local_conv over rows and columns."""
    return local_conv(inputs, kernel, kernel_size, strides, output_shape, data_format)


@keras_export("keras.backend.gradients")
def gradients(loss, variables):
    """The gradients of a loss."""
    from braid.tensorflow.python.ops import gradients as gradients_module

    return gradients_module.gradients(loss, variables)


@keras_export("keras.backend.stop_gradient")
def stop_gradient(variables):
    if isinstance(variables, (list, tuple)):
        return [array_ops.stop_gradient(v) for v in variables]
    return array_ops.stop_gradient(variables)


# Linear algebra.


@keras_export("keras.backend.dot")
def dot(x, y):
    """The matrix product; for higher ranks the last axis of x with the second last of y."""
    if ndim(x) is not None and (ndim(x) > 2 or ndim(y) > 2):
        x_shape, y_shape = _mixed_shape(x), _mixed_shape(y)
        axes = list(range(len(y_shape)))
        axes = [axes.pop(-2)] + axes
        x_rows = array_ops.reshape(x, [-1, x_shape[-1]])
        y_rows = array_ops.reshape(array_ops.transpose(y, perm=axes), [y_shape[-2], -1])
        return array_ops.reshape(math_ops.matmul(x_rows, y_rows), x_shape[:-1] + y_shape[:-2] + y_shape[-1:])
    if is_sparse(x):
        return sparse_ops.sparse_tensor_dense_matmul(x, y)
    return math_ops.matmul(x, y)


def _mixed_shape(x):
    """The shape as a list: ints where known, else tensors."""
    dynamic = array_ops.unstack(array_ops.shape(x), num=ndim(x))
    return [d if s is None else s for s, d in zip(int_shape(x), dynamic)]


@keras_export("keras.backend.batch_dot")
def batch_dot(x, y, axes=None):
    """The product of each x[i] with y[i] over an axis of each. axes: an int or a pair."""
    x_rank, y_rank = ndim(x), ndim(y)
    if x_rank < 2 or y_rank < 2:
        raise ValueError(
            f"Cannot do batch_dot on inputs with rank < 2. Received inputs with shapes {x.shape} and "
            f"{y.shape}."
        )
    if axes is None:
        axes = [x_rank - 1, y_rank - 1] if y_rank == 2 else [x_rank - 1, y_rank - 2]
    if isinstance(axes, int):
        axes = [axes, axes]
    a, b = [axis % rank for axis, rank in zip(axes, (x_rank, y_rank))]
    if a == 0 or b == 0:
        raise ValueError(
            "Cannot perform batch_dot over axis 0. If your inputs are not batched, add a dummy batch "
            "dimension to your inputs using K.expand_dims(x, 0)"
        )
    x_shape, y_shape = _mixed_shape(x), _mixed_shape(y)
    x_rest = [i for i in range(1, x_rank) if i != a]
    y_rest = [i for i in range(1, y_rank) if i != b]
    x_matrix = array_ops.reshape(
        array_ops.transpose(x, [0] + x_rest + [a]),
        [x_shape[0], _size([x_shape[i] for i in x_rest]), x_shape[a]],
    )
    y_matrix = array_ops.reshape(
        array_ops.transpose(y, [0, b] + y_rest), [y_shape[0], y_shape[b], _size([y_shape[i] for i in y_rest])]
    )
    result = math_ops.matmul(x_matrix, y_matrix)
    lengths = [x_shape[0]] + [x_shape[i] for i in x_rest] + [y_shape[i] for i in y_rest]
    if len(lengths) == 1:
        lengths.append(1)
    return array_ops.reshape(result, lengths)


def _size(lengths):
    size = 1
    for n in lengths:
        size = size * n
    return size


@keras_export("keras.backend.transpose")
def transpose(x):
    return array_ops.transpose(x)


@keras_export("keras.backend.gather")
def gather(reference, indices):
    return array_ops.gather(reference, indices)


# Element by element, and reductions.


@keras_export("keras.backend.max")
def max(x, axis=None, keepdims=False):
    return math_ops.reduce_max(x, axis, keepdims)


@keras_export("keras.backend.min")
def min(x, axis=None, keepdims=False):
    return math_ops.reduce_min(x, axis, keepdims)


@keras_export("keras.backend.sum")
def sum(x, axis=None, keepdims=False):
    return math_ops.reduce_sum(x, axis, keepdims)


@keras_export("keras.backend.prod")
def prod(x, axis=None, keepdims=False):
    return math_ops.reduce_prod(x, axis, keepdims)


@keras_export("keras.backend.cumsum")
def cumsum(x, axis=0):
    return math_ops.cumsum(x, axis=axis)


@keras_export("keras.backend.cumprod")
def cumprod(x, axis=0):
    return math_ops.cumprod(x, axis=axis)


@keras_export("keras.backend.var")
def var(x, axis=None, keepdims=False):
    """The variance."""
    if x.dtype.base_dtype == dtypes_module.bool:
        x = math_ops.cast(x, floatx())
    mean_ = math_ops.reduce_mean(x, axis=axis, keepdims=True)
    return math_ops.reduce_mean(math_ops.square(x - mean_), axis=axis, keepdims=keepdims)


@keras_export("keras.backend.std")
def std(x, axis=None, keepdims=False):
    return math_ops.sqrt(var(x, axis=axis, keepdims=keepdims))


@keras_export("keras.backend.mean")
def mean(x, axis=None, keepdims=False):
    if x.dtype.base_dtype == dtypes_module.bool:
        x = math_ops.cast(x, floatx())
    return math_ops.reduce_mean(x, axis, keepdims)


@keras_export("keras.backend.any")
def any(x, axis=None, keepdims=False):
    return math_ops.reduce_any(math_ops.cast(x, dtypes_module.bool), axis, keepdims)


@keras_export("keras.backend.all")
def all(x, axis=None, keepdims=False):
    return math_ops.reduce_all(math_ops.cast(x, dtypes_module.bool), axis, keepdims)


@keras_export("keras.backend.argmax")
def argmax(x, axis=-1):
    return math_ops.argmax(x, axis)


@keras_export("keras.backend.argmin")
def argmin(x, axis=-1):
    return math_ops.argmin(x, axis)


@keras_export("keras.backend.square")
def square(x):
    return math_ops.square(x)


@keras_export("keras.backend.abs")
def abs(x):
    return math_ops.abs(x)


@keras_export("keras.backend.sqrt")
def sqrt(x):
    """The root; 0 for negative numbers."""
    zero = constant_op.constant(0.0, dtype=x.dtype.base_dtype)
    inf = constant_op.constant(np.inf, dtype=x.dtype.base_dtype)
    return math_ops.sqrt(_clip_by_value(x, zero, inf))


def _clip_by_value(x, low, high):
    from braid.tensorflow.python.ops import clip_ops

    return clip_ops.clip_by_value(x, low, high)


@keras_export("keras.backend.exp")
def exp(x):
    return math_ops.exp(x)


@keras_export("keras.backend.log")
def log(x):
    return math_ops.log(x)


def logsumexp(x, axis=None, keepdims=False):
    return math_ops.reduce_logsumexp(x, axis, keepdims)


@keras_export("keras.backend.round")
def round(x):
    return math_ops.round(x)


@keras_export("keras.backend.sign")
def sign(x):
    return math_ops.sign(x)


@keras_export("keras.backend.pow")
def pow(x, a):
    return math_ops.pow(x, a)


@keras_export("keras.backend.clip")
def clip(x, min_value, max_value):
    """x, within the limits; no upper one if max_value is None."""
    if max_value is not None and isinstance(min_value, (int, float)) and isinstance(max_value, (int, float)):
        if max_value < min_value:
            max_value = min_value
    if max_value is None:
        max_value = np.inf
    base = x.dtype.base_dtype
    low = min_value if isinstance(min_value, ops.Tensor) else constant_op.constant(min_value, dtype=base)
    high = max_value if isinstance(max_value, ops.Tensor) else constant_op.constant(max_value, dtype=base)
    return _clip_by_value(x, low, high)


@keras_export("keras.backend.equal")
def equal(x, y):
    return math_ops.equal(x, y)


@keras_export("keras.backend.not_equal")
def not_equal(x, y):
    return math_ops.not_equal(x, y)


@keras_export("keras.backend.greater")
def greater(x, y):
    return math_ops.greater(x, y)


@keras_export("keras.backend.greater_equal")
def greater_equal(x, y):
    return math_ops.greater_equal(x, y)


@keras_export("keras.backend.less")
def less(x, y):
    return math_ops.less(x, y)


@keras_export("keras.backend.less_equal")
def less_equal(x, y):
    return math_ops.less_equal(x, y)


@keras_export("keras.backend.maximum")
def maximum(x, y):
    return math_ops.maximum(x, y)


@keras_export("keras.backend.minimum")
def minimum(x, y):
    return math_ops.minimum(x, y)


@keras_export("keras.backend.sin")
def sin(x):
    return math_ops.sin(x)


@keras_export("keras.backend.cos")
def cos(x):
    return math_ops.cos(x)


# Normalization.


@keras_export("keras.backend.normalize_batch_in_training")
def normalize_batch_in_training(x, gamma, beta, reduction_axes, epsilon=1e-3):
    """(x normalized over the axes, mean, variance)."""
    mean_, var_ = nn.moments(x, list(reduction_axes), None, None, False)
    if sorted(reduction_axes) != list(range(ndim(x) - 1)):
        lengths = [1 if i in reduction_axes else array_ops.shape(x)[i] for i in range(ndim(x))]
        wide = lambda t: None if t is None else array_ops.reshape(t, lengths)  # noqa: E731
        return (
            nn.batch_normalization(x, wide(mean_), wide(var_), wide(beta), wide(gamma), epsilon),
            mean_,
            var_,
        )
    return nn.batch_normalization(x, mean_, var_, beta, gamma, epsilon), mean_, var_


@keras_export("keras.backend.batch_normalization")
def batch_normalization(x, mean, var, beta, gamma, axis=-1, epsilon=1e-3):
    """(x - mean) / sqrt(var + epsilon) * gamma + beta; mean, var, beta and gamma are broadcast to x."""
    del axis
    return nn.batch_normalization(x, mean, var, beta, gamma, epsilon)


@keras_export("keras.backend.l2_normalize")
def l2_normalize(x, axis=None):
    return nn.l2_normalize(x, axis=axis)


# Shapes.


@keras_export("keras.backend.concatenate")
def concatenate(tensors, axis=-1):
    """The tensors side by side."""
    if axis < 0:
        rank = ndim(tensors[0])
        axis = axis % rank if rank else 0
    if py_all(is_sparse(x) for x in tensors):
        return sparse_ops.sparse_concat(axis, tensors)
    return array_ops.concat([to_dense(x) for x in tensors], axis)


@keras_export("keras.backend.reshape")
def reshape(x, shape):
    return array_ops.reshape(x, shape)


@keras_export("keras.backend.permute_dimensions")
def permute_dimensions(x, pattern):
    return array_ops.transpose(x, perm=pattern)


@keras_export("keras.backend.resize_images")
def resize_images(x, height_factor, width_factor, data_format, interpolation="nearest"):
    """Images, larger by factors."""
    from braid.tensorflow.python.ops import image_ops

    if data_format not in {"channels_first", "channels_last"}:
        raise ValueError(f"Invalid `data_format` argument: {data_format}")
    first = data_format == "channels_first"
    static = int_shape(x)
    if first:
        x = permute_dimensions(x, [0, 2, 3, 1])
    size = array_ops.shape(x)[1:3] * constant_op.constant(np.array([height_factor, width_factor], np.int32))
    if interpolation == "nearest":
        x = image_ops.resize_nearest_neighbor(x, size)
    elif interpolation == "bilinear":
        x = image_ops.resize_bilinear(x, size)
    else:
        raise ValueError('interpolation should be one of "nearest" or "bilinear".')
    rows, columns = (2, 3) if first else (1, 2)
    height = None if static[rows] is None else static[rows] * height_factor
    width = None if static[columns] is None else static[columns] * width_factor
    if first:
        x = permute_dimensions(x, [0, 3, 1, 2])
        x.set_shape((None, None, height, width))
    else:
        x.set_shape((None, height, width, None))
    return x


@keras_export("keras.backend.resize_volumes")
def resize_volumes(x, depth_factor, height_factor, width_factor, data_format):
    """Volumes, larger by factors: each element is repeated."""
    if data_format not in {"channels_first", "channels_last"}:
        raise ValueError(f"Invalid data_format: {data_format}")
    start = 2 if data_format == "channels_first" else 1
    for axis, factor in enumerate((depth_factor, height_factor, width_factor), start):
        x = repeat_elements(x, factor, axis=axis)
    return x


@keras_export("keras.backend.repeat_elements")
def repeat_elements(x, rep, axis):
    """Each element of an axis, `rep` times in a row."""
    static = x.shape.as_list()
    if static[axis] is not None:
        parts = array_ops.split(value=x, num_or_size_splits=static[axis], axis=axis)
        return concatenate([part for part in parts for _ in range(rep)], axis)
    lengths = array_ops.shape(x)
    wide = array_ops.expand_dims(x, axis + 1)
    multiples = np.ones(len(static) + 1, np.int32)
    multiples[axis + 1] = rep
    wide = array_ops.tile(wide, multiples)
    factors = np.ones(len(static), np.int32)
    factors[axis] = rep
    result = array_ops.reshape(wide, lengths * factors)
    result.set_shape(static)
    return result


@keras_export("keras.backend.repeat")
def repeat(x, n):
    """[batch, n, features] of [batch, features]."""
    assert ndim(x) == 2
    return array_ops.tile(array_ops.expand_dims(x, 1), array_ops.stack([1, n, 1]))


@keras_export("keras.backend.arange")
def arange(start, stop=None, step=1, dtype="int32"):
    if stop is None and start < 0:
        start = 0
    result = math_ops.range(start, limit=stop, delta=step, name="arange")
    return result if dtype == "int32" else cast(result, dtype)


@keras_export("keras.backend.tile")
def tile(x, n):
    return array_ops.tile(x, [n] if isinstance(n, int) else n)


@keras_export("keras.backend.flatten")
def flatten(x):
    return array_ops.reshape(x, [-1])


@keras_export("keras.backend.batch_flatten")
def batch_flatten(x):
    return array_ops.reshape(x, array_ops.stack([-1, math_ops.reduce_prod(array_ops.shape(x)[1:])]))


@keras_export("keras.backend.expand_dims")
def expand_dims(x, axis=-1):
    return array_ops.expand_dims(x, axis)


@keras_export("keras.backend.squeeze")
def squeeze(x, axis):
    return array_ops.squeeze(x, [axis])


@keras_export("keras.backend.temporal_padding")
def temporal_padding(x, padding=(1, 1)):
    return array_ops.pad(x, [[0, 0], [padding[0], padding[1]], [0, 0]])


@keras_export("keras.backend.spatial_2d_padding")
def spatial_2d_padding(x, padding=((1, 1), (1, 1)), data_format=None):
    data_format = data_format or image_data_format()
    if data_format not in {"channels_first", "channels_last"}:
        raise ValueError(f"Unknown data_format: {data_format}")
    inner = [list(padding[0]), list(padding[1])]
    ends = [[0, 0], [0, 0]] + inner if data_format == "channels_first" else [[0, 0]] + inner + [[0, 0]]
    return array_ops.pad(x, ends)


@keras_export("keras.backend.spatial_3d_padding")
def spatial_3d_padding(x, padding=((1, 1), (1, 1), (1, 1)), data_format=None):
    data_format = data_format or image_data_format()
    if data_format not in {"channels_first", "channels_last"}:
        raise ValueError(f"Unknown data_format: {data_format}")
    inner = [list(p) for p in padding]
    ends = [[0, 0], [0, 0]] + inner if data_format == "channels_first" else [[0, 0]] + inner + [[0, 0]]
    return array_ops.pad(x, ends)


@keras_export("keras.backend.stack")
def stack(x, axis=0):
    return array_ops.stack(x, axis=axis)


@keras_export("keras.backend.one_hot")
def one_hot(indices, num_classes):
    return array_ops.one_hot(indices, depth=num_classes, axis=-1)


@keras_export("keras.backend.reverse")
def reverse(x, axes):
    return array_ops.reverse(x, [axes] if isinstance(axes, int) else axes)


# Conditions and loops.


@keras_export("keras.backend.switch")
def switch(condition, then_expression, else_expression):
    """One of two tensors, or of what two functions give; element by element for conditions that are no
    scalars."""
    if condition.dtype != dtypes_module.bool:
        condition = math_ops.cast(condition, "bool")
    rank = ndim(condition)
    if not rank:
        as_function = lambda e: e if callable(e) else (lambda: e)  # noqa: E731
        return control_flow_ops.cond(condition, as_function(then_expression), as_function(else_expression))
    then_expression = then_expression() if callable(then_expression) else then_expression
    else_expression = else_expression() if callable(else_expression) else else_expression
    more = ndim(then_expression)
    if rank > more:
        raise ValueError(
            "Rank of `condition` should be less than or equal to rank of `then_expression` and "
            f"`else_expression`. ndim(condition)={rank}, ndim(then_expression)={more}"
        )
    if rank < more:
        lengths = array_ops.concat([array_ops.shape(condition), [1] * (more - rank)], axis=0)
        condition = array_ops.reshape(condition, lengths)
        multiples = array_ops.shape(then_expression) // array_ops.shape(condition)
        condition = array_ops.tile(condition, multiples)
    return array_ops.where(condition, then_expression, else_expression)


@keras_export("keras.backend.in_train_phase")
def in_train_phase(x, alt, training=None):
    """x in training, else alt; tensors, or functions that give one."""
    if training is None:
        training = learning_phase()
    if training == 1 or training is True:
        return x() if callable(x) else x
    if not isinstance(training, ops.Tensor) and (training == 0 or training is False):
        return alt() if callable(alt) else alt
    return switch(training, x, alt)


@keras_export("keras.backend.in_test_phase")
def in_test_phase(x, alt, training=None):
    return in_train_phase(alt, x, training=training)


@keras_export("keras.backend.map_fn")
def map_fn(fn, elems, name=None, dtype=None):
    from braid.tensorflow.python.ops import map_fn as map_fn_lib

    return map_fn_lib.map_fn(fn, elems, name=name, dtype=dtype)


@keras_export("keras.backend.foldl")
def foldl(fn, elems, initializer=None, name=None):
    from braid.tensorflow.python.ops import functional_ops

    return functional_ops.foldl(fn, elems, initializer=initializer, name=name)


@keras_export("keras.backend.foldr")
def foldr(fn, elems, initializer=None, name=None):
    from braid.tensorflow.python.ops import functional_ops

    return functional_ops.foldr(fn, elems, initializer=initializer, name=name)


@keras_export("keras.backend.rnn")
def rnn(
    step_function,
    inputs,
    initial_states,
    go_backwards=False,
    mask=None,
    constants=None,
    unroll=False,
    input_length=None,
    time_major=False,
    zero_output_for_mask=False,
):
    """Steps over the time of inputs [batch, time, ...], a tensor or a structure of them.

    step_function: (inputs of a step, states + constants) -> (output or a structure of them, new states).
    mask: [batch, time], bool: where it is false, states stay, and the output is the last one, or zero.
    input_length: how many steps there are at most; an unrolled loop ignores it.
    Returns (the last output, all outputs [batch, time, ...], the last states).
    """

    def swap(t):
        axes = list(range(len(t.shape)))
        axes[0], axes[1] = 1, 0
        return array_ops.transpose(t, axes)

    if not time_major:
        inputs = nest.map_structure(swap, inputs)
    flat = nest.flatten(inputs)
    time_steps, batch = flat[0].shape.as_list()[:2]
    time = array_ops.shape(flat[0])[0]
    if mask is not None:
        if mask.dtype != dtypes_module.bool:
            mask = math_ops.cast(mask, dtypes_module.bool)
        if len(mask.shape) == 2:
            mask = expand_dims(mask)
        if not time_major:
            mask = swap(mask)
    constants = list(constants or [])
    states = tuple(nest.flatten(initial_states))
    pack = lambda s: list(nest.pack_sequence_as(initial_states, list(s)))  # noqa: E731

    def call(parts, current):
        """The structure of the outputs of a step, those outputs, and the new states."""
        output, new = step_function(nest.pack_sequence_as(inputs, list(parts)), pack(current) + constants)
        return output, tuple(nest.flatten(output)), tuple(nest.flatten(new))

    def widen(m, like, fixed=1):
        for _ in range(len(like.shape) - len(m.shape)):
            m = array_ops.expand_dims(m, -1)
        sizes = like.shape.as_list()[fixed:]
        if None in sizes:
            return array_ops.tile(m, array_ops.concat([[1] * fixed, array_ops.shape(like)[fixed:]], axis=0))
        return array_ops.tile(m, [1] * fixed + sizes)

    def choose(m, new, old):
        wide = [widen(m, t) for t in new]
        return tuple(array_ops.where(w, n, o) for w, n, o in zip(wide, new, old))

    if unroll:
        if not time_steps:
            raise ValueError("Unrolling requires a fixed number of timesteps.")
        unstack = lambda t: array_ops.unstack(t)[:: -1 if go_backwards else 1]  # noqa: E731
        steps = list(zip(*[unstack(t) for t in flat]))
        masks = [] if mask is None else unstack(mask)
        outputs, current = [], states
        for i, parts in enumerate(steps):
            sample, output, new = call(parts, current)
            if mask is not None:
                output = choose(masks[i], output, outputs[-1] if outputs else [zeros_like(o) for o in output])
                new = choose(masks[i], new, current)
            outputs.append(output)
            current = new
        last, final_states = outputs[-1], current
        stacked = [array_ops.stack(parts) for parts in zip(*outputs)]
        if mask is not None and zero_output_for_mask:
            last = [array_ops.where(widen(masks[-1], o), o, zeros_like(o)) for o in last]
            stacked = [array_ops.where(widen(mask, o, 2), o, zeros_like(o)) for o in stacked]
    else:
        from braid.tensorflow.python.ops import tensor_array_ops

        def new_array(name, dtype, **options):
            return tensor_array_ops.TensorArray(dtype=dtype, size=time, tensor_array_name=name, **options)

        arrays = [new_array(f"input_ta_{i}", t.dtype) for i, t in enumerate(flat)]
        arrays = [a.unstack(reverse(t, 0) if go_backwards else t) for a, t in zip(arrays, flat)]
        sample, samples, _ = call([t[0] for t in flat], states)
        written = tuple(
            new_array(f"output_ta_{i}", s.dtype, element_shape=s.shape) for i, s in enumerate(samples)
        )
        begin = constant_op.constant(0, dtype="int32", name="time")
        # With a mask the outputs of the step before are states of the loop, too.
        before = ()
        if mask is not None:
            if go_backwards:
                mask = reverse(mask, 0)
            mask_array = new_array("mask_ta", dtypes_module.bool).unstack(mask)
            before = zeros = tuple(array_ops.zeros_like(s) for s in samples)

        def step(t, written, *values):
            last, current = values[: len(before)], values[len(before) :]
            parts = [a.read(t) for a in arrays]
            m = None if mask is None else mask_array.read(t)
            for part, whole in zip(parts, flat):
                part.set_shape(whole.shape[1:])
            _, output, new = call(parts, current)
            if mask is not None:
                output = choose(m, output, zeros if zero_output_for_mask else last)
            for n, o in zip(new, current):
                n.set_shape(o.shape)
            if mask is not None:
                new = choose(m, new, current)
            written = tuple(a.write(t, o) for a, o in zip(written, output))
            return (t + 1, written, *(output if mask is not None else ()), *new)

        _, written, *values = control_flow_ops.while_loop(
            cond=lambda t, *_: t < time,
            body=step,
            loop_vars=(begin, written, *before, *states),
            parallel_iterations=32,
            swap_memory=True,
            maximum_iterations=input_length,
        )
        final_states = values[len(before) :]
        stacked = [array.stack() for array in written]
        last = [o[-1] for o in stacked]
    for whole in stacked:
        whole.set_shape([time_steps, batch] + whole.shape.as_list()[2:])
    outputs = stacked if time_major else [swap(t) for t in stacked]
    as_output = lambda ts: nest.pack_sequence_as(sample, list(ts))  # noqa: E731
    return as_output(last), as_output(outputs), pack(final_states)


# Activations and losses.


@keras_export("keras.backend.relu")
def relu(x, alpha=0.0, max_value=None, threshold=0):
    """x above the threshold and up to max_value; alpha * (x - threshold) below."""
    below = None
    if alpha != 0.0:
        if max_value is None and threshold == 0:
            return nn.leaky_relu(x, alpha=alpha)
        below = nn.relu(-x + threshold) if threshold != 0 else nn.relu(-x)
    clip_max = max_value is not None
    if threshold != 0:
        x = x * math_ops.cast(math_ops.greater(x, threshold), dtype(x))
    elif max_value == 6:
        x, clip_max = nn.relu6(x), False
    else:
        x = nn.relu(x)
    if clip_max:
        x = clip(x, 0.0, max_value)
    if below is not None:
        x -= constant_op.constant(alpha, dtype=x.dtype.base_dtype) * below
    return x


@keras_export("keras.backend.elu")
def elu(x, alpha=1.0):
    result = nn.elu(x)
    return result if alpha == 1 else array_ops.where(x > 0, result, alpha * result)


@keras_export("keras.backend.softmax")
def softmax(x, axis=-1):
    return nn.softmax(x, axis=axis)


@keras_export("keras.backend.softplus")
def softplus(x):
    return nn.softplus(x)


@keras_export("keras.backend.softsign")
def softsign(x):
    return nn.softsign(x)


@keras_export("keras.backend.sigmoid")
def sigmoid(x):
    return nn.sigmoid(x)


@keras_export("keras.backend.hard_sigmoid")
def hard_sigmoid(x):
    """0.2 * x + 0.5, within [0, 1]."""
    from braid.tensorflow.python.ops import clip_ops

    fifth, half = (constant_op.constant(c, dtype=x.dtype.base_dtype) for c in (0.2, 0.5))
    return clip_ops.clip_by_value(math_ops.add(math_ops.multiply(x, fifth), half), 0.0, 1.0)


@keras_export("keras.backend.tanh")
def tanh(x):
    return nn.tanh(x)


@keras_export("keras.backend.dropout")
def dropout(x, level, noise_shape=None, seed=None):
    """Sets the fraction `level` to zero, and scales the rest."""
    if seed is None:
        seed = np.random.randint(10**7)
    return nn.dropout(x, rate=level, noise_shape=noise_shape, seed=seed)


@keras_export("keras.backend.categorical_crossentropy")
def categorical_crossentropy(target, output, from_logits=False, axis=-1):
    """-sum(target * log(output)) over the axis of classes."""
    if from_logits:
        return nn.softmax_cross_entropy_with_logits_v2(labels=target, logits=output, axis=axis)
    if output.op.type == "Softmax":
        # The logits behind a softmax give the loss without a loss of precision.
        return nn.softmax_cross_entropy_with_logits_v2(labels=target, logits=output.op.inputs[0], axis=axis)
    output = _within_epsilon(output / math_ops.reduce_sum(output, axis, True))
    return -math_ops.reduce_sum(target * math_ops.log(output), axis)


def _within_epsilon(output):
    """Probabilities that are neither 0 nor 1."""
    from braid.tensorflow.python.ops import clip_ops

    least = constant_op.constant(epsilon(), dtype=output.dtype.base_dtype)
    return clip_ops.clip_by_value(output, least, 1.0 - least)


@keras_export("keras.backend.sparse_categorical_crossentropy")
def sparse_categorical_crossentropy(target, output, from_logits=False, axis=-1):
    """-log of the output for the class of each example."""
    if not from_logits:
        if output.op.type == "Softmax":
            output = output.op.inputs[0]
        else:
            output = math_ops.log(_within_epsilon(output))
    rank = output.shape.ndims
    if rank is None and axis != -1:
        raise ValueError(
            f"Cannot compute sparse categorical crossentropy with `axis={axis}` on an output tensor with unknown "
            "rank"
        )
    if rank is not None and axis % rank != rank - 1:
        axis = axis % rank
        output = array_ops.transpose(output, [i for i in range(rank) if i != axis] + [axis])
    target = cast(target, "int64")
    output_shape = array_ops.shape(output)
    # Targets of another rank, such as [batch, 1], are flattened.
    is_flat = None not in (rank, target.shape.ndims) and target.shape.ndims != rank - 1
    if is_flat:
        target = flatten(target)
        output = array_ops.reshape(output, [-1, output_shape[-1]])
    result = nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=output)
    return array_ops.reshape(result, output_shape[:-1]) if is_flat and rank >= 3 else result


@keras_export("keras.backend.binary_crossentropy")
def binary_crossentropy(target, output, from_logits=False):
    """The cross entropy of each element."""
    if not from_logits:
        if output.op.type != "Sigmoid":
            output = _within_epsilon(output)
            bce = target * math_ops.log(output + epsilon())
            bce += (1 - target) * math_ops.log(1 - output + epsilon())
            return -bce
        output = output.op.inputs[0]
    return nn.sigmoid_cross_entropy_with_logits(labels=target, logits=output)


@keras_export("keras.backend.in_top_k")
def in_top_k(predictions, targets, k):
    return nn.in_top_k(predictions, targets, k)


# Convolutions.


def _data_format(data_format):
    data_format = data_format or image_data_format()
    if data_format not in {"channels_first", "channels_last"}:
        raise ValueError(f"Unknown data_format: {data_format}")
    return data_format


def _tf_format(rank, data_format):
    return {
        (1, "channels_last"): "NWC",
        (1, "channels_first"): "NCW",
        (2, "channels_last"): "NHWC",
        (2, "channels_first"): "NCHW",
        (3, "channels_last"): "NDHWC",
        (3, "channels_first"): "NCDHW",
    }[rank, data_format]


def _padding(padding):
    if padding not in {"same", "valid"}:
        raise ValueError(f"Invalid padding: {padding}")
    return padding.upper()


@keras_export("keras.backend.conv1d")
def conv1d(x, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    data_format = _data_format(data_format)
    if padding == "causal":
        left = dilation_rate * (kernel.shape.as_list()[0] - 1)
        x = temporal_padding(x, (left, 0))
        padding = "valid"
    return nn.convolution(
        input=x,
        filter=kernel,
        dilation_rate=(dilation_rate,),
        strides=(strides,),
        padding=_padding(padding),
        data_format=_tf_format(1, data_format),
    )


@keras_export("keras.backend.conv2d")
def conv2d(x, kernel, strides=(1, 1), padding="valid", data_format=None, dilation_rate=(1, 1)):
    return nn.convolution(
        input=x,
        filter=kernel,
        dilation_rate=dilation_rate,
        strides=strides,
        padding=_padding(padding),
        data_format=_tf_format(2, _data_format(data_format)),
    )


@keras_export("keras.backend.conv2d_transpose")
def conv2d_transpose(
    x, kernel, output_shape, strides=(1, 1), padding="valid", data_format=None, dilation_rate=(1, 1)
):
    data_format = _data_format(data_format)
    first = data_format == "channels_first"
    if isinstance(output_shape, (tuple, list)):
        output_shape = list(output_shape)
        if output_shape[0] is None:
            output_shape[0] = array_ops.shape(x)[0]
        output_shape = array_ops.stack(output_shape)
    if tuple(dilation_rate) != (1, 1):
        if dilation_rate[0] != dilation_rate[1]:
            raise ValueError(
                f"A transposed convolution has one rate of dilation for both axes: {dilation_rate}"
            )
        if first:  # the op has channels last alone
            x = array_ops.transpose(x, (0, 2, 3, 1))
            output_shape = array_ops.gather(output_shape, (0, 2, 3, 1))
        y = nn.atrous_conv2d_transpose(x, kernel, output_shape, dilation_rate[0], _padding(padding))
        return array_ops.transpose(y, (0, 3, 1, 2)) if first else y
    steps = (1, 1) + tuple(strides) if first else (1,) + tuple(strides) + (1,)
    return nn.conv2d_transpose(
        x, kernel, output_shape, steps, padding=_padding(padding), data_format=_tf_format(2, data_format)
    )


@keras_export("keras.backend.depthwise_conv2d")
def depthwise_conv2d(
    x, depthwise_kernel, strides=(1, 1), padding="valid", data_format=None, dilation_rate=(1, 1)
):
    data_format = _data_format(data_format)
    first = data_format == "channels_first"
    steps = (1, 1) + tuple(strides) if first else (1,) + tuple(strides) + (1,)
    return nn.depthwise_conv2d(
        x,
        depthwise_kernel,
        strides=steps,
        padding=_padding(padding),
        rate=dilation_rate,
        data_format=_tf_format(2, data_format),
    )


@keras_export("keras.backend.separable_conv2d")
def separable_conv2d(
    x,
    depthwise_kernel,
    pointwise_kernel,
    strides=(1, 1),
    padding="valid",
    data_format=None,
    dilation_rate=(1, 1),
):
    data_format = _data_format(data_format)
    first = data_format == "channels_first"
    steps = (1, 1) + tuple(strides) if first else (1,) + tuple(strides) + (1,)
    return nn.separable_conv2d(
        x,
        depthwise_kernel,
        pointwise_kernel,
        strides=steps,
        padding=_padding(padding),
        rate=dilation_rate,
        data_format=_tf_format(2, data_format),
    )


@keras_export("keras.backend.conv3d")
def conv3d(x, kernel, strides=(1, 1, 1), padding="valid", data_format=None, dilation_rate=(1, 1, 1)):
    return nn.convolution(
        input=x,
        filter=kernel,
        dilation_rate=dilation_rate,
        strides=strides,
        padding=_padding(padding),
        data_format=_tf_format(3, _data_format(data_format)),
    )


def _pool(rank, x, pool_size, strides, padding, data_format, pool_mode):
    data_format = _data_format(data_format)
    if pool_mode not in ("max", "avg"):
        raise ValueError(f"Invalid pooling mode: {pool_mode}")
    wide = (
        (lambda t: (1, 1) + tuple(t))
        if data_format == "channels_first"
        else (lambda t: (1,) + tuple(t) + (1,))
    )
    name = {
        ("max", 2): "max_pool",
        ("avg", 2): "avg_pool",
        ("max", 3): "max_pool3d",
        ("avg", 3): "avg_pool3d",
    }
    return getattr(nn, name[pool_mode, rank])(
        x,
        wide(pool_size),
        wide(strides),
        padding=_padding(padding),
        data_format=_tf_format(rank, data_format),
    )


@keras_export("keras.backend.pool2d")
def pool2d(x, pool_size, strides=(1, 1), padding="valid", data_format=None, pool_mode="max"):
    return _pool(2, x, pool_size, strides, padding, data_format, pool_mode)


@keras_export("keras.backend.pool3d")
def pool3d(x, pool_size, strides=(1, 1, 1), padding="valid", data_format=None, pool_mode="max"):
    return _pool(3, x, pool_size, strides, padding, data_format, pool_mode)


@keras_export("keras.backend.bias_add")
def bias_add(x, bias, data_format=None):
    """x + bias, whose rank is 1, or one less than that of x."""
    data_format = _data_format(data_format)
    bias_shape = int_shape(bias)
    rank = ndim(x)
    if len(bias_shape) != 1 and len(bias_shape) != rank - 1:
        raise ValueError(f"Unexpected bias dimensions {len(bias_shape)}, expect to be 1 or {rank} dimensions")
    if len(bias_shape) == 1:
        if data_format == "channels_first" and rank > 2:
            return nn.bias_add(x, bias, data_format="NCHW")
        return nn.bias_add(x, bias)
    if data_format == "channels_first" and rank > 2:
        return x + reshape(bias, (1, bias_shape[-1]) + bias_shape[:-1])
    return x + reshape(bias, (1,) + bias_shape)


# Random numbers.


def _seed(seed):
    return np.random.randint(10**7) if seed is None else seed


@keras_export("keras.backend.random_normal")
def random_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    return random_ops.random_normal(
        shape, mean=mean, stddev=stddev, dtype=dtype or floatx(), seed=_seed(seed)
    )


@keras_export("keras.backend.random_uniform")
def random_uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    return random_ops.random_uniform(
        shape, minval=minval, maxval=maxval, dtype=dtype or floatx(), seed=_seed(seed)
    )


@keras_export("keras.backend.random_binomial")
def random_binomial(shape, p=0.0, dtype=None, seed=None):
    """1 with probability p, else 0."""
    dtype = dtype or floatx()
    numbers = random_ops.random_uniform(shape, dtype=dtype, seed=_seed(seed))
    return array_ops.where(
        numbers <= p, array_ops.ones(shape, dtype=dtype), array_ops.zeros(shape, dtype=dtype)
    )


@keras_export("keras.backend.truncated_normal")
def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    return random_ops.truncated_normal(shape, mean, stddev, dtype=dtype or floatx(), seed=_seed(seed))


# Connectionist temporal classification.


@keras_export("keras.backend.ctc_label_dense_to_sparse")
def ctc_label_dense_to_sparse(labels, label_lengths):
    """Labels [batch, longest] as a SparseTensor."""
    longest = array_ops.shape(labels)[1]
    inside = array_ops.sequence_mask(label_lengths, longest)
    indices = array_ops.where(inside)
    values = array_ops.gather_nd(labels, indices)
    return sparse_tensor.SparseTensor(indices, values, array_ops.shape(labels, out_type=dtypes_module.int64))


@keras_export("keras.backend.ctc_batch_cost")
def ctc_batch_cost(y_true, y_pred, input_length, label_length):
    """The loss of each example [batch, 1]. y_pred: probabilities [batch, time, classes]."""
    from braid.tensorflow.python.ops import ctc_ops

    label_length = math_ops.cast(array_ops.squeeze(label_length, axis=-1), dtypes_module.int32)
    input_length = math_ops.cast(array_ops.squeeze(input_length, axis=-1), dtypes_module.int32)
    sparse_labels = math_ops.cast(ctc_label_dense_to_sparse(y_true, label_length), dtypes_module.int32)
    y_pred = math_ops.log(array_ops.transpose(y_pred, perm=[1, 0, 2]) + epsilon())
    return array_ops.expand_dims(
        ctc_ops.ctc_loss(inputs=y_pred, labels=sparse_labels, sequence_length=input_length), 1
    )


@keras_export("keras.backend.ctc_decode")
def ctc_decode(y_pred, input_length, greedy=True, beam_width=100, top_paths=1):
    """(a list of decoded sequences, -1 where they end; the logarithms of their probabilities)."""
    from braid.tensorflow.python.ops import ctc_ops

    y_pred = math_ops.log(array_ops.transpose(y_pred, perm=[1, 0, 2]) + epsilon())
    input_length = math_ops.cast(input_length, dtypes_module.int32)
    if greedy:
        decoded, log_prob = ctc_ops.ctc_greedy_decoder(inputs=y_pred, sequence_length=input_length)
    else:
        decoded, log_prob = ctc_ops.ctc_beam_search_decoder(
            inputs=y_pred, sequence_length=input_length, beam_width=beam_width, top_paths=top_paths
        )
    dense = [
        sparse_ops.sparse_to_dense(st.indices, st.dense_shape, st.values, default_value=-1) for st in decoded
    ]
    return dense, log_prob


_read_config()
