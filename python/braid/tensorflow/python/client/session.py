"""Sessions: running parts of a graph, in this process or on a server."""

import collections
import contextlib
import json
import re
import warnings

import numpy as np

from braid import _native, protos
from braid.tensorflow.python.framework import arrays
from braid.tensorflow.python.framework import config as device_config
from braid.tensorflow.python.framework import device, dtypes, errors_impl, ops, sparse_tensor
from braid.tensorflow.python.util import compat, nest
from braid.tensorflow.python.util.tf_export import tf_export

# ---- Fetches ----


class _Fetches:
    """The graph elements that a structure of fetches needs, each once, and how results fit into it."""

    def __init__(self, graph):
        self.graph = graph
        self.elements = []  # tensors and operations
        self.place = {}

    def add(self, element):
        place = self.place.get(element)
        if place is None:
            place = self.place[element] = len(self.elements)
            self.elements.append(element)
        return place


def _element(fetches, fetch, original):
    try:
        element = fetches.graph.as_graph_element(fetch, allow_tensor=True, allow_operation=True)
    except TypeError as error:
        raise TypeError(
            f"Fetch argument {original!r} has invalid type {type(original)}, must be a string or Tensor. ({error})"
        ) from None
    except ValueError as error:
        raise ValueError(
            f"Fetch argument {original!r} cannot be interpreted as a Tensor. ({error})"
        ) from None
    except KeyError as error:
        raise ValueError(
            f"Fetch argument {original!r} cannot be interpreted as a Tensor. ({error})"
        ) from None
    return fetches.add(element)


def _builder(fetches, fetch):
    """A function from the list of results to the value of `fetch`."""
    if type(fetch) is ops.Tensor or type(fetch) is ops.Operation:
        place = _element(fetches, fetch, fetch) if fetch.graph is not fetches.graph else fetches.add(fetch)
        return lambda results: results[place]
    if fetch is None:
        raise TypeError(f"Fetch argument {fetch!r} has invalid type {type(fetch)}")
    for kind, expand, _, _ in reversed(_expansions):
        if isinstance(fetch, kind):
            parts, contract = expand(fetch)
            places = [_element(fetches, part, fetch) for part in parts]
            return lambda results: contract([results[p] for p in places])
    if isinstance(fetch, (list, tuple)) or isinstance(fetch, collections.abc.Mapping):
        return _structure_builder(fetches, fetch)
    if _is_attrs(fetch):
        names = [a.name for a in type(fetch).__attrs_attrs__]
        builders = [_builder(fetches, getattr(fetch, name)) for name in names]
        return lambda results: type(fetch)(*[build(results) for build in builders])
    place = _element(fetches, fetch, fetch)
    return lambda results: results[place]


def _is_attrs(value):
    return hasattr(type(value), "__attrs_attrs__")


def _structure_builder(fetches, fetch):
    if isinstance(fetch, collections.abc.Mapping):
        builders = {key: _builder(fetches, value) for key, value in fetch.items()}
        kind = type(fetch)

        def build(results):
            values = {key: part(results) for key, part in builders.items()}
            if kind is dict:
                return values
            try:
                made = kind(fetch) if issubclass(kind, collections.defaultdict) else kind()
                made.update(values)
                return made
            except TypeError:
                return values

        return build
    builders = [_builder(fetches, item) for item in fetch]
    if isinstance(fetch, tuple) and hasattr(fetch, "_fields"):
        return lambda results: type(fetch)(*[part(results) for part in builders])
    if isinstance(fetch, tuple):
        return lambda results: tuple(part(results) for part in builders)
    return lambda results: [part(results) for part in builders]


# Types that stand for several tensors: (type, fetch -> (tensors, results -> value), (feed key, value) ->
# [(tensor, value)], feed key -> [tensors]).
def _expand_sparse(fetch):
    shape = fetch.dense_shape
    return [fetch.indices, fetch.values, shape], lambda r: sparse_tensor.SparseTensorValue(*r)


def _expand_slices(fetch):
    parts = [fetch.values, fetch.indices] + ([] if fetch.dense_shape is None else [fetch.dense_shape])
    return parts, lambda r: ops.IndexedSlicesValue(*r, *([None] if len(r) == 2 else []))


def _feed_parts(parts, value):
    return list(zip(parts, value))


def _sparse_parts(key):
    return [key.indices, key.values, key.dense_shape]


def _slices_parts(key):
    return [key.values, key.indices] + ([] if key.dense_shape is None else [key.dense_shape])


_expansions = [
    (
        sparse_tensor.SparseTensor,
        _expand_sparse,
        lambda k, v: _feed_parts(_sparse_parts(k), v),
        _sparse_parts,
    ),
    (ops.IndexedSlices, _expand_slices, lambda k, v: _feed_parts(_slices_parts(k), v), _slices_parts),
]


def register_session_run_conversion_functions(
    tensor_type, fetch_function, feed_function=None, feed_function_for_partial_run=None
):
    """Has objects of a type fetched and fed: see `_expansions` for the functions."""
    for kind, *_ in _expansions:
        if issubclass(tensor_type, kind):
            raise ValueError(f"{tensor_type} has already been registered so ignore it.")
    _expansions.append((tensor_type, fetch_function, feed_function, feed_function_for_partial_run))


def _expand_feed(key, value):
    for kind, _, feed, _ in reversed(_expansions):
        if isinstance(key, kind):
            if feed is None:
                raise TypeError(f"Cannot feed {key!r}: its type was registered without a function for feeds")
            return feed(key, value)
    return [(key, value)]


# ---- Feeds ----


def _feed_tensor(graph, key):
    try:
        return graph.as_graph_element(key, allow_operation=False)
    except Exception as error:
        raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error.args[0]}") from None


def _check_feed(value, tensor):
    if isinstance(value, ops.Tensor):
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, "
            "strings, lists, numpy ndarrays, or TensorHandles. For reference, the tensor object was "
            f"{value} which was passed to the feed with key {tensor}."
        )


def _feed_array(value, tensor):
    """The array that a value is for a tensor."""
    dtype = tensor._dtype.base_dtype
    wanted = np.object_ if dtype == dtypes.string else dtype.as_numpy_dtype
    if isinstance(value, int) and not isinstance(value, bool) and dtype.is_integer:
        if np.dtype(wanted).type(value) != value if _fits(value, wanted) else True:
            raise TypeError(
                f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type {wanted}. "
                "Try explicitly setting the type of the feed tensor to a larger type (e.g. int64)."
            )
    if hasattr(value, "get_raw_handle"):  # a TensorHandle, for a placeholder of handles or for any tensor
        value = value.handle if dtype == dtypes.string else value.eval()
    if dtype == dtypes.string:
        if isinstance(value, (int, float)):
            raise TypeError(
                f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type {wanted}."
            )
        array = value if isinstance(value, np.ndarray) else np.array(value, dtype=object)
    else:
        is_bfloat16 = getattr(wanted, "names", None) == ("bfloat16",)
        array = arrays.as_type(np.asarray(value), dtype) if is_bfloat16 else np.asarray(value, dtype=wanted)
    shape = tensor.shape
    if not shape._admits(array.shape):
        raise ValueError(
            f"Cannot feed value of shape {array.shape!r} for Tensor {tensor.name!r}, which has shape "
            f"{str(shape)!r}"
        )
    if not tensor.graph.is_feedable(tensor):
        raise ValueError(f"Tensor {tensor} may not be fed.")
    return array


def _fits(value, wanted):
    info = np.iinfo(wanted)
    return info.min <= value <= info.max


# ---- Errors ----

_NODE_NAME = re.compile(r"(?:node |\{\{node )['\"]?([A-Za-z0-9_.\-/]+)")


def _raise_for(error, graph):
    """Raises the exception of tf.errors, which shows the Python lines that built the node that failed."""
    code, message = error.args
    op = None
    for name in _NODE_NAME.findall(message):
        native = graph._native.find(name)
        if native is not None:
            op = graph.get_operation_by_name(name)
            break
    if op is not None and op._frames:
        message = message.partition(" (built at ")[0] if " (built at " in message else message
        message += f"\n\nOriginal stack trace for {op.name!r}:\n" + "".join(op_stack(op))
    node_def = op.node_def if op is not None else None
    raise errors_impl._make_specific_exception(node_def, op, message, code) from None


def op_stack(op):
    return ops._summary(op._frames or []).format()


# ---- Sessions ----


# BRAID_REWRITE_... of include/braid/session.h, by the switch of RewriterConfig.
_REWRITES = {
    "constant_folding": 1,
    "common_subgraph_elimination": 2,
    "dependency_optimization": 32,
    "arithmetic_optimization": 8,
    "remapping": 4 | 16,
}


def _disabled_rewrites(options):
    """The rewrites of graphs that GraphOptions switch off."""
    off = 0
    if options.optimizer_options.opt_level == -1:  # L0
        off = sum(_REWRITES.values())
        off -= options.optimizer_options.do_constant_folding * 1
        off -= options.optimizer_options.do_common_subexpression_elimination * 2
    rewriter = options.rewrite_options
    if rewriter.disable_meta_optimizer:
        off |= 4 | 8 | 16 | 32
    for name, rewrites in _REWRITES.items():
        toggle = getattr(rewriter, name)
        if toggle == rewriter.OFF:
            off |= rewrites
        elif toggle in (rewriter.ON, rewriter.AGGRESSIVE) and not rewriter.disable_meta_optimizer:
            off &= ~rewrites
    return off


def _options(config):
    """The options of braid._native.Session for a ConfigProto."""
    if config is None:
        return {}
    options = {
        "inter_op_threads": config.inter_op_parallelism_threads,
        "intra_op_threads": config.intra_op_parallelism_threads,
        "allow_soft_placement": config.allow_soft_placement,
        "log_device_placement": config.log_device_placement,
        "place_pruned_graph": config.graph_options.place_pruned_graph,
        "isolate_session_state": config.isolate_session_state,
        "operation_timeout_ms": config.operation_timeout_in_ms,
        "cpu_devices": dict(config.device_count).get("CPU", 0),
        "device_filters": list(config.device_filters),
        "collective_leader": config.experimental.collective_group_leader,
        "enable_bfloat16_sendrecv": config.graph_options.enable_bfloat16_sendrecv,
        "disabled_rewrites": _disabled_rewrites(config.graph_options),
    }
    if config.cluster_def.job:
        options["cluster"] = json.dumps(
            {
                job.name: {str(i): address for i, address in job.tasks.items()}
                for job in config.cluster_def.job
            }
        )
        options["shares_session_state"] = config.experimental.share_session_state_in_clusterspec_propagation
    return {key: value for key, value in options.items() if value}


# While a profile is made (eager/profiler.py), the RunMetadata of its steps, as bytes; else None.
profile = None


def _records(options):
    """What RunOptions ask for: BRAID_RECORD_... of include/braid/run_metadata.h."""
    if options is None:
        return 0
    return (options.trace_level != 0) * 1 | options.output_partition_graphs * 2


class SessionInterface:
    """What a session has."""

    @property
    def graph(self):
        raise NotImplementedError("graph")

    @property
    def sess_str(self):
        raise NotImplementedError("sess_str")

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        raise NotImplementedError("run")

    def partial_run_setup(self, fetches, feeds=None):
        raise NotImplementedError("partial_run_setup")

    def partial_run(self, handle, fetches, feed_dict=None):
        raise NotImplementedError("partial_run")


class _Plan:
    """Fetches that were made ready once."""

    def __init__(self, graph, fetches, fed=()):
        """`fed`: tensors whose fed values are returned, where they are fetched."""
        found = _Fetches(graph)
        self.build = _builder(found, fetches)
        self.elements = found.elements
        for element in found.elements:
            if not graph.is_fetchable(element):
                name = (element.op if isinstance(element, ops.Tensor) else element).name
                raise ValueError(
                    f"Operation {name!r} has been marked as not fetchable: it is made in a conditional or a loop, "
                    "and runs only if that does"
                )
        self.fed = {tensor: i for i, tensor in enumerate(fed)}
        self.fetched = [e for e in found.elements if isinstance(e, ops.Tensor) and e not in self.fed]
        self.targets = [e._native for e in found.elements if not isinstance(e, ops.Tensor)]
        self.pairs = [t._pair for t in self.fetched]

    def value(self, fetched, fed=()):
        """The value of the fetches from what the step fetched, and the values of the fed tensors."""
        if len(fetched) == len(self.elements):
            return self.build(fetched)
        values = iter(fetched)
        return self.build(
            [
                None if not isinstance(e, ops.Tensor) else fed[self.fed[e]] if e in self.fed else next(values)
                for e in self.elements
            ]
        )


_DEAD_HANDLES_AT_ONCE = 10  # so many are freed by one step


_opened = 0  # the number of sessions that this process has begun to open


class BaseSession(SessionInterface):
    """A session on a graph (the default one). `target`: "" (in this process) or "grpc://host:port"."""

    def __init__(self, target="", graph=None, config=None):
        if graph is None:
            graph = ops.get_default_graph()
        elif not isinstance(graph, ops.Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph)}")
        if target is not None and not isinstance(target, (str, bytes)):
            raise TypeError(f"target must be a string, but got {type(target)}")
        if config is None:
            config = device_config.default_config()
        elif not isinstance(config, protos.ConfigProto):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
        self._graph = graph
        self._dead_handles = []  # of tf.get_session_handle, to be freed
        self._target = compat.as_str(target or "")
        self._config = config
        self._add_shapes = config is not None and config.graph_options.infer_shapes
        self._closed = False
        self._session = None
        self._partial_runs = {}
        global _opened
        _opened += 1
        try:
            self._session = _native.Session(graph._native, target=self._target, **_options(config))
        except _native.Error as error:
            raise ops.error_of(error) from None

    @property
    def graph(self):
        return self._graph

    @property
    def graph_def(self):
        return self._graph.as_graph_def(add_shapes=self._add_shapes)

    @property
    def sess_str(self):
        return self._target

    @property
    def session(self):
        return self._session

    def close(self):
        """Ends steps in progress and frees the session."""
        session, self._session = self._session, None
        self._closed = True
        if session is not None:
            try:
                session.close()
            except _native.Error as error:
                raise ops.error_of(error) from None

    def __del__(self):
        try:
            self.close()
        except Exception:
            pass  # the interpreter may be ending

    def list_devices(self):
        """The devices, as objects with name, device_type, memory_limit_bytes and incarnation."""
        try:
            return [_DeviceAttributes(*device) for device in self._open().list_devices()]
        except _native.Error as error:
            raise ops.error_of(error) from None

    def _open(self):
        if self._session is None:
            raise RuntimeError("Attempted to use a closed Session.")
        return self._session

    def _check(self):
        if self._session is None:
            raise RuntimeError("Attempted to use a closed Session.")
        if self._graph.version == 0 and len(self._graph._native) == 0:
            raise RuntimeError(
                "The Session graph is empty.  Add operations to the graph before calling run()."
            )

    def as_default(self):
        """A context manager in which this is the default session of the thread. It does not close it."""
        return ops.default_session(self)

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """Runs what `fetches` need, and returns their values in the same structure.

        `fetches`: a tensor, an operation (None is its value), a name, or lists, tuples and dicts of these.
        `feed_dict`: values by tensors, which take their place. Errors: tf.errors.
        """
        self._check()
        graph = self._graph
        plan = _Plan(graph, fetches)
        feeds, fed = [], {}
        if feed_dict:
            self._feed(nest.flatten_dict_items(feed_dict), feeds, fed)
        records = _records(options) if run_metadata is not None else 0
        profiled = profile
        if profiled is not None:
            records |= 1
        timeout = options.timeout_in_ms if options is not None else 0
        watches = None
        if options is not None and options.debug_options.debug_tensor_watch_opts:
            watches = options.debug_options.SerializeToString()
        try:
            if records:
                got, metadata = self._open().run(feeds, plan.pairs, plan.targets, timeout, records, watches)
                if run_metadata is not None:
                    run_metadata.ParseFromString(metadata)
                if profiled is not None:
                    profiled.append(metadata)
            else:
                got = self._open().run(feeds, plan.pairs, plan.targets, timeout, 0, watches)
                if run_metadata is not None:
                    run_metadata.Clear()
        except _native.Error as error:
            _raise_for(error, graph)
        values = [fed[t] if fed and t in fed else arrays.to_numpy(v) for t, v in zip(plan.fetched, got)]
        if graph._session_handles:
            values = self._with_handles(plan.fetched, values)
        return plan.value(values)

    def _with_handles(self, tensors, values):
        """The values, with TensorHandles for handles. Tensors of those that are gone are freed, some at a
        time.
        """
        from braid.tensorflow.python.ops import session_ops

        dtypes_of = self._graph._session_handles
        values = [
            session_ops.TensorHandle(v, dtypes_of[t], self) if t in dtypes_of else v
            for t, v in zip(tensors, values)
        ]
        if len(self._dead_handles) >= _DEAD_HANDLES_AT_ONCE:
            dead, self._dead_handles = self._dead_handles, []
            session_ops._delete(self, dead)
        return values

    def _feed(self, items, feeds, fed):
        graph = self._graph
        for key, value in items.items():
            for part, part_value in _expand_feed(key, value):
                tensor = _feed_tensor(graph, part)
                _check_feed(part_value, tensor)
                if isinstance(part_value, _native.Tensor):
                    feeds.append((*tensor._pair, part_value))
                    continue
                array = _feed_array(part_value, tensor)
                if tensor in fed:
                    raise ValueError(f"{tensor} is fed twice")
                fed[tensor] = array
                feeds.append((*tensor._pair, arrays.to_native(array, int(tensor._dtype.base_dtype))))

    # -- One step in several calls --

    def partial_run_setup(self, fetches, feeds=None):
        """Sets up a step whose values several calls of partial_run feed and fetch. Returns its handle."""
        self._check()
        plan = _Plan(self._graph, fetches)
        pairs = []
        for feed in feeds or []:
            for kind, _, _, parts_of in reversed(_expansions):
                if isinstance(feed, kind):
                    parts = parts_of(feed)
                    break
            else:
                parts = [feed]
            pairs.extend(_feed_tensor(self._graph, part)._pair for part in parts)
        try:
            made = self._open().partial_run(pairs, plan.pairs, plan.targets)
        except _native.Error as error:
            _raise_for(error, self._graph)
        handle = f"partial_run_{ops.uid()}"
        self._partial_runs[handle] = made
        return handle

    def partial_run(self, handle, fetches, feed_dict=None):
        """Feeds and fetches a part of what partial_run_setup named."""
        self._check()
        if handle not in self._partial_runs:
            raise errors_impl.InvalidArgumentError(
                None, None, f"There is no partial run {handle!r} in progress"
            )
        plan = _Plan(self._graph, fetches)
        feeds, fed = [], {}
        if feed_dict:
            self._feed(nest.flatten_dict_items(feed_dict), feeds, fed)
        try:
            got = self._partial_runs[handle].run(feeds, plan.pairs)
        except _native.Error as error:
            _raise_for(error, self._graph)
        return plan.value([fed[t] if t in fed else arrays.to_numpy(v) for t, v in zip(plan.fetched, got)])

    # -- Callables --

    def make_callable(self, fetches, feed_list=None, accept_options=False):
        """A function that runs the fetches with the values of `feed_list` as its arguments."""
        self._check()
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise TypeError("`feed_list` must be a list or tuple.")
        tensors = [_feed_tensor(self._graph, feed) for feed in feed_list or []]
        plan = _Plan(self._graph, fetches, tensors)
        if accept_options:
            return self._callable_with_options(fetches, tensors)
        try:
            made = self._open().make_callable([t._pair for t in tensors], plan.pairs, plan.targets)
        except _native.Error as error:
            _raise_for(error, self._graph)
        numbers = [int(t._dtype.base_dtype) for t in tensors]

        def call(*args):
            if len(args) != len(tensors):
                raise TypeError(f"the callable takes {len(tensors)} values, not {len(args)}")
            values = [_feed_array(value, t) for value, t in zip(args, tensors)]
            try:
                got = made.run([arrays.to_native(v, number) for v, number in zip(values, numbers)])
            except _native.Error as error:
                _raise_for(error, self._graph)
            return plan.value([arrays.to_numpy(v) for v in got], values)

        return call

    def _callable_with_options(self, fetches, tensors):
        def call(*args, options=None, run_metadata=None):
            if len(args) != len(tensors):
                raise TypeError(f"the callable takes {len(tensors)} values, not {len(args)}")
            return self.run(fetches, dict(zip(tensors, args)), options, run_metadata)

        return call

    def _make_callable_from_options(self, callable_options):
        graph = self._graph

        def tensor(name):  # "x" is "x:0"
            return graph.as_graph_element(name if ":" in name else name + ":0", allow_operation=False)

        tensors = [tensor(name) for name in callable_options.feed]
        fetches = [tensor(name) for name in callable_options.fetch]
        targets = [graph.get_operation_by_name(name) for name in callable_options.target]
        call = self.make_callable(fetches + targets, tensors, accept_options=True)

        def run(*args, run_metadata=None):
            return call(*args, options=callable_options.run_options, run_metadata=run_metadata)[
                : len(fetches)
            ]

        return run


class _DeviceAttributes:
    """A device of a session."""

    def __init__(self, name, device_type, memory_limit_bytes, incarnation):
        self.name, self.device_type = device.canonical_name(name), device_type
        self.memory_limit_bytes, self.incarnation = memory_limit_bytes, incarnation

    def __repr__(self):
        return (
            f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes}, "
            f"{self.incarnation})"
        )


@tf_export(v1=["Session"])
class Session(BaseSession):
    """A session. In a `with` statement it is the default one, and is closed at its end."""

    def __init__(self, target="", graph=None, config=None):
        super().__init__(target, graph, config)
        self._entered = None

    def __enter__(self):
        if self._entered is not None:
            raise RuntimeError(
                "Session context managers are not re-entrant. Use `Session.as_default()` if you want to enter a "
                "session multiple times."
            )
        graph, session = self.graph.as_default(), self.as_default()
        graph.__enter__()
        session.__enter__()
        self._entered = (graph, session)
        return self

    def __exit__(self, kind, value, trace):
        (graph, session), self._entered = self._entered, None
        session.__exit__(kind, value, trace)
        graph.__exit__(kind, value, trace)
        self.close()

    @staticmethod
    def reset(target, containers=None, config=None):
        """Clears the variables of a server's containers (all), and closes the sessions that use them.

        Of `config`, device_filters and operation_timeout_in_ms count.
        """
        if target is not None:
            target = compat.as_str(target)
        options = _options(config)
        options = {key: options[key] for key in ("device_filters", "operation_timeout_ms") if key in options}
        try:
            _native.reset(target, [compat.as_str(c) for c in containers or []], **options)
        except _native.Error as error:
            raise ops.error_of(error) from None


@tf_export(v1=["InteractiveSession"])
class InteractiveSession(BaseSession):
    """A session that is the default one from its making until it is closed."""

    _active_session_count = 0

    def __init__(self, target="", graph=None, config=None):
        given = device_config.default_config() if config is None else config
        if given is None or isinstance(given, protos.ConfigProto):
            config = protos.ConfigProto()
            config.MergeFrom(given or protos.ConfigProto())
            config.graph_options.place_pruned_graph = True  # the program builds the graph while it uses it
        super().__init__(target, graph, config)
        if InteractiveSession._active_session_count > 0:
            warnings.warn(
                "An interactive session is already active. This can cause out-of-memory errors in some cases. You "
                "must explicitly call `InteractiveSession.close()` to release resources held by the other session(s)."
            )
        InteractiveSession._active_session_count += 1
        self._stack = contextlib.ExitStack()
        default = self.as_default()
        default.enforce_nesting = False
        self._stack.enter_context(default)
        if graph is not None:
            default = graph.as_default()
            default.enforce_nesting = False
            self._stack.enter_context(default)

    def close(self):
        stack, self._stack = getattr(self, "_stack", None), None
        if stack is not None:
            InteractiveSession._active_session_count -= 1
            with contextlib.suppress(ValueError):  # another thread's stack, or one that was reset
                stack.close()
        super().close()
