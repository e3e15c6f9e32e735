"""What runs with watches have written: values of tensors, graphs, and what the runs were."""

import collections
import json
import os
import re

import numpy as np

from braid import protos
from braid.tensorflow.python.debug.lib import debug_graphs
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.platform import gfile
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.util import compat

METADATA_FILE_PREFIX = "_tfdbg_"
CORE_METADATA_TAG = "core_metadata_"
GRAPH_FILE_TAG = "graph_"
DEVICE_TAG = "device_"
HASH_TAG = "hash"
FETCHES_INFO_FILE_TAG = "fetches_info_"
FEED_KEYS_INFO_FILE_TAG = "feed_keys_info_"

_DT_RESOURCE = 20


class InconvertibleTensorProto:
    """A value that is no array: not initialized, or of a type such as tf.resource."""

    def __init__(self, tensor_proto, initialized=True):
        self._tensor_proto, self._initialized = tensor_proto, initialized

    def __str__(self):
        return ("" if self._initialized else "Uninitialized tensor:\n") + str(self._tensor_proto)

    @property
    def initialized(self):
        return self._initialized


def _read_event(path):
    event = protos.Event()
    with gfile.GFile(path, "rb") as f:
        event.ParseFromString(f.read())
    return event


def load_tensor_from_event_file(event_file_path):
    """The value in a file of a dump: load_tensor_from_event."""
    return load_tensor_from_event(_read_event(event_file_path))


def load_tensor_from_event(event):
    """The value in an Event: an array, or an InconvertibleTensorProto."""
    proto = event.summary.value[0].tensor
    is_empty = any(dim.size == 0 for dim in proto.tensor_shape.dim)
    if not (proto.tensor_content or proto.string_val or is_empty):
        return InconvertibleTensorProto(proto, False)
    if proto.dtype == _DT_RESOURCE:
        return InconvertibleTensorProto(proto)
    try:
        return tensor_util.MakeNdarray(proto)
    except (KeyError, TypeError):
        return InconvertibleTensorProto(proto)


def _is_graph_file(file_name):
    return file_name.startswith(METADATA_FILE_PREFIX + GRAPH_FILE_TAG)


def _is_run_fetches_info_file(file_name):
    return file_name == METADATA_FILE_PREFIX + FETCHES_INFO_FILE_TAG


def _is_run_feed_keys_info_file(file_name):
    return file_name == METADATA_FILE_PREFIX + FEED_KEYS_INFO_FILE_TAG


def _get_tensor_name(node_name, output_slot):
    return "%s:%d" % (node_name, output_slot)


def _get_tensor_watch_key(node_name, output_slot, debug_op):
    return "%s:%s" % (_get_tensor_name(node_name, output_slot), debug_op)


def has_inf_or_nan(datum, tensor):
    """Whether a value has a number that is infinite or none: a filter of tensors, as DebugDumpDir.find takes."""
    del datum
    if isinstance(tensor, InconvertibleTensorProto) or not np.issubdtype(tensor.dtype, np.number):
        return False
    return bool(np.any(np.isnan(tensor)) or np.any(np.isinf(tensor)))


_CoreMetadata = collections.namedtuple(
    "CoreMetadata",
    [
        "global_step",
        "session_run_index",
        "executor_step_index",
        "input_names",
        "output_names",
        "target_nodes",
    ],
)


def extract_core_metadata_from_event_proto(event):
    """What a run was: its numbers, and the names that it fed, fetched and ran."""
    found = json.loads(event.log_message.message)
    return _CoreMetadata(*(found[name] for name in _CoreMetadata._fields))


def device_name_to_device_path(device_name):
    """The directory of a device's values."""
    name = compat.as_text(device_name).replace(":", "_").replace("/", ",")
    return METADATA_FILE_PREFIX + DEVICE_TAG + name


def device_path_to_device_name(device_dir):
    """The device of such a directory."""
    items = os.path.basename(device_dir)[len(METADATA_FILE_PREFIX) + len(DEVICE_TAG) :].split(",")
    return "/".join(item.replace("device_", "device:").replace("_", ":", 1) for item in items)


class DebugTensorDatum:
    """One value of a tensor that a run has written: where it is, and what it is of."""

    def __init__(self, dump_root, debug_dump_rel_path):
        """`debug_dump_rel_path`: "DEVICE_DIRECTORY/SCOPE/NODE_OUTPUT_OP_MICROSECONDS"."""
        parts = os.path.normpath(debug_dump_rel_path).split(os.sep)
        if parts[-1].count("_") < 3:
            raise ValueError("Dump file path does not conform to the naming pattern: %s" % parts[-1])
        self._device_name = device_path_to_device_name(parts[0])
        node, slot, self._debug_op, self._extended_timestamp = parts[-1].rsplit("_", 3)
        self._timestamp = int(self._extended_timestamp.partition("-")[0])
        self._output_slot = int(slot)
        self._node_name = "/".join(parts[1:-1] + [node])
        self._file_path = os.path.join(dump_root, debug_dump_rel_path)
        exists = gfile.Exists(self._file_path)
        self._dump_size_bytes = gfile.Stat(self._file_path).length if exists else None

    def __str__(self):
        return "{DebugTensorDatum (%s) %s:%d @ %s @ %d}" % (
            self.device_name,
            self.node_name,
            self.output_slot,
            self.debug_op,
            self.timestamp,
        )

    __repr__ = __str__

    def get_tensor(self):
        """The value: load_tensor_from_event_file."""
        return load_tensor_from_event_file(self.file_path)

    @property
    def timestamp(self):
        """When it was written, in microseconds."""
        return self._timestamp

    @property
    def extended_timestamp(self):
        """The same as a text, with a number behind it where several values are of one microsecond."""
        return self._extended_timestamp

    @property
    def debug_op(self):
        return self._debug_op

    @property
    def device_name(self):
        return self._device_name

    @property
    def node_name(self):
        return self._node_name

    @property
    def output_slot(self):
        return self._output_slot

    @property
    def tensor_name(self):
        return _get_tensor_name(self.node_name, self.output_slot)

    @property
    def watch_key(self):
        """ "NODE:OUTPUT:OP"."""
        return _get_tensor_watch_key(self.node_name, self.output_slot, self.debug_op)

    @property
    def file_path(self):
        return self._file_path

    @property
    def dump_size_bytes(self):
        """Of its file; None: there is none."""
        return self._dump_size_bytes

    @property
    def _order(self):
        time, _, number = self._extended_timestamp.partition("-")
        return int(time), int(number or 0)


class WatchKeyDoesNotExistInDebugDumpDirError(ValueError):
    """A tensor has no values in the dump."""


class DebugDumpDir:
    """What one run has written to a directory."""

    def __init__(self, dump_root, partition_graphs=None, validate=True):
        """`partition_graphs`: those of the run's RunMetadata, for devices that have written no graph.

        `validate`: checks that the values are of nodes of the graphs, and each is later than its inputs.
        ValueError: they are not.
        """
        if not gfile.IsDirectory(dump_root):
            raise IOError("Dump root directory %s does not exist" % dump_root)
        self._dump_root = dump_root
        self._python_graph, self._node_traceback = None, {}
        self._core_metadata = [
            extract_core_metadata_from_event_proto(event) for event in self._events(CORE_METADATA_TAG)
        ]
        self._run_fetches_info = [e.log_message.message for e in self._events(FETCHES_INFO_FILE_TAG)]
        self._run_feed_keys_info = [e.log_message.message for e in self._events(FEED_KEYS_INFO_FILE_TAG)]
        self._device_names, self._dump_tensor_data, self._dump_graph_file_paths = [], {}, {}
        self._debug_watches = {}  # device -> node -> output -> debug ops
        for device_dir in gfile.Glob(os.path.join(dump_root, METADATA_FILE_PREFIX + DEVICE_TAG + "*")):
            self._load_device_dumps(device_path_to_device_name(device_dir), device_dir)
        self._debug_graphs, self._node_devices, self._merge_node_names = {}, {}, {}
        self._load_partition_graphs(partition_graphs, validate)
        times = [data[0].timestamp for data in self._dump_tensor_data.values() if data]
        self._t0 = min(times) if times else None
        self._watch_key_to_datum = {}  # device -> watch key -> values
        for device_name, data in self._dump_tensor_data.items():
            by_key = self._watch_key_to_datum[device_name] = {}
            for datum in data:
                by_key.setdefault(datum.watch_key, []).append(datum)

    # -- Loading --

    def _events(self, tag):
        pattern = os.path.join(self._dump_root, METADATA_FILE_PREFIX + tag + "*")
        return [_read_event(path) for path in gfile.Glob(pattern)]

    def _load_device_dumps(self, device_name, device_dir):
        self._device_names.append(device_name)
        watches = collections.defaultdict(lambda: collections.defaultdict(set))
        data = []
        for root, _, files in gfile.Walk(device_dir):
            for name in files:
                if _is_graph_file(name):
                    self._dump_graph_file_paths[device_name] = os.path.join(root, name)
                    continue
                path = os.path.join(os.path.relpath(root, self._dump_root), name)
                datum = DebugTensorDatum(self._dump_root, path)
                data.append(datum)
                watches[datum.node_name][datum.output_slot].add(datum.debug_op)
        self._debug_watches[device_name] = watches
        self._dump_tensor_data[device_name] = sorted(data, key=lambda datum: datum._order)

    def _load_partition_graphs(self, client_graphs, validate):
        graphs = []
        for device_name in self._device_names:
            if device_name in self._dump_graph_file_paths:
                event = _read_event(self._dump_graph_file_paths[device_name])
                graphs.append((protos.GraphDef.FromString(event.graph_def), device_name))
                continue
            logging.warn(
                "Failed to load partition graphs for device %s from disk. As a fallback, the client graphs "
                "will be used. This may cause mismatches in device names.",
                device_name,
            )
            for graph_def in client_graphs or ():
                if any(node.device == device_name for node in graph_def.node):
                    graphs.append((graph_def, device_name))
                    break
        for graph_def, device_name in graphs:
            graph = debug_graphs.DebugGraph(graph_def, device_name=device_name)
            self._debug_graphs[graph.device_name] = graph
            for node_name, devices in graph.node_devices.items():
                self._node_devices.setdefault(node_name, set()).update(devices)
            if validate and graph.device_name in self._dump_tensor_data:
                self._validate_dump_with_graphs(graph.device_name)

    def _validate_dump_with_graphs(self, device_name):
        graph, data = self._debug_graphs[device_name], self._dump_tensor_data[device_name]
        for datum in data:
            if datum.node_name not in graph.node_inputs:
                raise ValueError(
                    "Node name '%s' is not found in partition graphs of device %s."
                    % (datum.node_name, device_name)
                )
        pending = {node: self._watched_inputs(graph, node, device_name) for node in graph.node_inputs}
        for i, datum in enumerate(data):
            waits = pending[datum.node_name]
            if waits and not self._are_written_at(data[i + 1 :], waits, datum.timestamp):
                raise ValueError(
                    "Causality violated in timing relations of debug dumps: %s (%d): "
                    "these input(s) are not satisfied: %s" % (datum.node_name, datum.timestamp, repr(waits))
                )
            written = (datum.node_name, datum.output_slot)
            for recipient in graph.node_recipients[datum.node_name]:
                if written not in pending[recipient]:
                    continue
                if graph.node_op_types[recipient] == "Merge":
                    pending[recipient].clear()  # one of its inputs is enough
                else:
                    pending[recipient].remove(written)

    def _watched_inputs(self, graph, node, device_name):
        """The outputs that have to be written before a node runs."""
        watches, found = self._debug_watches[device_name], []
        for name in graph.node_inputs[node]:
            source, slot = debug_graphs.get_node_name(name), debug_graphs.get_output_slot(name)
            # Consumers of these do not wait for them.
            if graph.node_op_types.get(source) in ("Enter", "NextIteration"):
                continue
            if source in watches and slot in watches[source] and (source, slot) not in found:
                found.append((source, slot))
        return found

    @staticmethod
    def _are_written_at(data, waits, timestamp):
        """Whether the rest of `waits` is written in the same microsecond. Removes what is."""
        for datum in data:
            if datum.timestamp > timestamp or not waits:
                break
            if (datum.node_name, datum.output_slot) in waits:
                waits.remove((datum.node_name, datum.output_slot))
        return not waits

    # -- The run --

    def set_python_graph(self, python_graph):
        """Gives the graph of the program, which knows its lines: node_traceback."""
        self._python_graph = python_graph
        ops = python_graph.get_operations() if python_graph else []
        self._node_traceback = {op.name: op for op in ops}

    @property
    def python_graph(self):
        return self._python_graph

    @staticmethod
    def _one_or_list(items):
        return items[0] if len(items) == 1 else items

    @property
    def core_metadata(self):
        """What the run was; a list where there were several."""
        return self._one_or_list(self._core_metadata)

    @property
    def run_fetches_info(self):
        return self._one_or_list(self._run_fetches_info)

    @property
    def run_feed_keys_info(self):
        return self._one_or_list(self._run_feed_keys_info)

    @property
    def dumped_tensor_data(self):
        """All values, in the order in which they were written."""
        data = [datum for of_device in self._dump_tensor_data.values() for datum in of_device]
        return data if len(self._device_names) == 1 else sorted(data, key=lambda datum: datum._order)

    @property
    def t0(self):
        """When the first one was written, in microseconds; None: there is none."""
        return self._t0

    @property
    def size(self):
        return sum(len(data) for data in self._dump_tensor_data.values())

    def devices(self):
        return self._device_names

    # -- Graphs --

    def loaded_partition_graphs(self):
        return bool(self._debug_graphs)

    def _need_graphs(self, what="No partition graphs have been loaded."):
        if not self._debug_graphs:
            raise LookupError(what)

    def partition_graphs(self):
        """The graphs of the devices, with their debug nodes."""
        self._need_graphs()
        return [graph.debug_graph_def for graph in self._debug_graphs.values()]

    def reconstructed_non_debug_partition_graphs(self):
        """By device, the graphs without debug nodes."""
        return {device: graph.non_debug_graph_def for device, graph in self._debug_graphs.items()}

    def _infer_device_name(self, device_name, node_name):
        if device_name is not None:
            return device_name
        devices = self._node_devices.get(node_name)
        if not devices:
            raise ValueError(
                "None of the %d device(s) has a node named '%s'." % (len(self._device_names), node_name)
            )
        if len(devices) > 1:
            raise ValueError(
                "There are multiple (%d) devices with nodes named '%s' but device_name is not specified."
                % (len(devices), node_name)
            )
        return next(iter(devices))

    def _graph_of(self, node_name, device_name, what):
        self._need_graphs(what)
        return self._debug_graphs[self._infer_device_name(device_name, node_name)]

    def nodes(self, device_name=None):
        """The names of all nodes, or of those of a device."""
        self._need_graphs()
        if device_name is None:
            return [name for graph in self._debug_graphs.values() for name in graph.node_inputs]
        if device_name not in self._debug_graphs:
            raise ValueError("Invalid device name: %s" % device_name)
        return self._debug_graphs[device_name].node_inputs.keys()

    def node_attributes(self, node_name, device_name=None):
        graph = self._graph_of(node_name, device_name, "No partition graphs have been loaded.")
        return graph.node_attributes[node_name]

    def node_inputs(self, node_name, is_control=False, device_name=None):
        """The names of a node's inputs, or of its control inputs."""
        graph = self._graph_of(
            node_name, device_name, "Node inputs are not loaded from partition graphs yet."
        )
        return (graph.node_ctrl_inputs if is_control else graph.node_inputs)[node_name]

    def node_recipients(self, node_name, is_control=False, device_name=None):
        """The names of the nodes that take a node's outputs, or wait for it."""
        graph = self._graph_of(
            node_name, device_name, "Node recipients are not loaded from partition graphs yet."
        )
        return (graph.node_ctrl_recipients if is_control else graph.node_recipients)[node_name]

    def _tracer(self, device_name, include_control, include_reversed_ref, destination=None):
        graph = self._debug_graphs[device_name]
        lists = [graph.node_inputs]
        if include_control:
            lists.append(graph.node_ctrl_inputs)
        if include_reversed_ref:
            lists.append(graph.node_reversed_ref_inputs)
        if device_name not in self._merge_node_names:
            self._merge_node_names[device_name] = [
                node for node, op_type in graph.node_op_types.items() if op_type == "Merge"
            ]
        return debug_graphs.DFSGraphTracer(lists, self._merge_node_names[device_name], destination)

    def transitive_inputs(
        self, node_name, include_control=True, include_reversed_ref=False, device_name=None
    ):
        """All that a node depends on, up to Merge nodes."""
        self._need_graphs("Node inputs are not loaded from partition graphs yet.")
        device_name = self._infer_device_name(device_name, node_name)
        tracer = self._tracer(device_name, include_control, include_reversed_ref)
        tracer.trace(node_name)
        return tracer.inputs()

    def find_some_path(
        self,
        src_node_name,
        dst_node_name,
        include_control=True,
        include_reversed_ref=False,
        device_name=None,
    ):
        """A path from one node to another of the same device, as names; None: there is none.

        `include_reversed_ref`: what takes a reference of a variable counts as an input of it, too.
        """
        src_device = self._infer_device_name(device_name, src_node_name)
        dst_device = self._infer_device_name(device_name, dst_node_name)
        if src_device != dst_device:
            raise ValueError(
                "Source (%s) and destination (%s) are not on the same device: %s vs. %s"
                % (src_node_name, dst_node_name, src_device, dst_device)
            )
        tracer = self._tracer(dst_device, include_control, include_reversed_ref, src_node_name)
        try:
            tracer.trace(dst_node_name)
        except debug_graphs.GraphTracingReachedDestination:
            return tracer.path()[::-1]
        return None

    def node_exists(self, node_name, device_name=None):
        self._need_graphs("Nodes have not been loaded from partition graphs yet.")
        if device_name is not None and device_name not in self._debug_graphs:
            raise ValueError("The specified device_name '%s' cannot be found." % device_name)
        return any(
            node_name in graph.node_inputs
            for device, graph in self._debug_graphs.items()
            if device_name in (None, device)
        )

    def node_device(self, node_name):
        """The device of a node; a list where several have one of that name."""
        self._need_graphs("Node devices are not loaded from partition graphs yet.")
        if node_name not in self._node_devices:
            raise ValueError("Node '%s' does not exist in partition graphs." % node_name)
        return self._one_or_list(list(self._node_devices[node_name]))

    def node_op_type(self, node_name, device_name=None):
        graph = self._graph_of(
            node_name, device_name, "Node op types are not loaded from partition graphs yet."
        )
        return graph.node_op_types[node_name]

    def node_traceback(self, element_name):
        """The lines of the program that built a node, outermost first: (file, line, function, text).

        LookupError: set_python_graph was not called. KeyError: the graph of the program has no such node.
        """
        if self._python_graph is None:
            raise LookupError("Python graph is not available for traceback lookup")
        node_name = debug_graphs.get_node_name(element_name)
        if node_name not in self._node_traceback:
            raise KeyError('Cannot find node "%s" in Python graph' % node_name)
        return tuple(self._node_traceback[node_name].traceback)

    # -- Values --

    def debug_watch_keys(self, node_name, device_name=None):
        """The watch keys of a node that have values."""
        try:
            device_name = self._infer_device_name(device_name, node_name)
        except ValueError:
            return []
        watches = self._debug_watches.get(device_name, {})
        if node_name not in watches:
            return []
        return [
            _get_tensor_watch_key(node_name, slot, debug_op)
            for slot, debug_ops in watches[node_name].items()
            for debug_op in debug_ops
        ]

    def watch_key_to_data(self, debug_watch_key, device_name=None):
        """The values of a watch key, as DebugTensorDatum."""
        if device_name is None:
            devices = [d for d, by_key in self._watch_key_to_datum.items() if debug_watch_key in by_key]
            if not devices:
                return []
            if len(devices) > 1:
                raise ValueError(
                    "The debug watch key '%s' exists on multiple (%d) devices, but device name is not "
                    "specified." % (debug_watch_key, len(devices))
                )
            device_name = devices[0]
        elif device_name not in self._watch_key_to_datum:
            raise ValueError("There is no device named '%s' consisting of debug watch keys." % device_name)
        return self._watch_key_to_datum[device_name].get(debug_watch_key, [])

    def find(self, predicate, first_n=0, device_name=None, exclude_node_names=None):
        """The values, in the order in which they were written, for which predicate(datum, value) is true.

        `first_n`: at most as many; 0: all. Nodes whose names match `exclude_node_names` are left out.
        """
        excluded = re.compile(exclude_node_names) if exclude_node_names else None
        found = []
        for device in self._dump_tensor_data if device_name is None else (device_name,):
            for datum in self._dump_tensor_data[device]:
                if excluded and excluded.match(datum.node_name):
                    continue
                if predicate(datum, datum.get_tensor()):
                    found.append(datum)
                    if 0 < first_n <= len(found):
                        return found
        return found

    def _data_of(self, node_name, output_slot, debug_op, device_name):
        key = _get_tensor_watch_key(node_name, output_slot, debug_op)
        device_name = self._infer_device_name(device_name, node_name)
        data = self._watch_key_to_datum.get(device_name, {}).get(key)
        if data is None:
            raise WatchKeyDoesNotExistInDebugDumpDirError(
                'Watch key "%s" does not exist in the debug dump of device %s' % (key, device_name)
            )
        return data

    def get_tensor_file_paths(self, node_name, output_slot, debug_op, device_name=None):
        data = self._data_of(node_name, output_slot, debug_op, device_name)
        return [datum.file_path for datum in data]

    def get_tensors(self, node_name, output_slot, debug_op, device_name=None):
        """The values of a tensor: several of one in a loop."""
        try:
            data = self._data_of(node_name, output_slot, debug_op, device_name)
        except WatchKeyDoesNotExistInDebugDumpDirError:
            raise
        except ValueError:
            raise WatchKeyDoesNotExistInDebugDumpDirError(
                'Watch key "%s" does not exist in the debug dump of device %s'
                % (_get_tensor_watch_key(node_name, output_slot, debug_op), device_name)
            ) from None
        return [datum.get_tensor() for datum in data]

    def get_rel_timestamps(self, node_name, output_slot, debug_op, device_name=None):
        """When they were written, in microseconds since the first value of the run."""
        data = self._data_of(node_name, output_slot, debug_op, device_name)
        return [datum.timestamp - self._t0 for datum in data]

    def get_dump_sizes_bytes(self, node_name, output_slot, debug_op, device_name=None):
        data = self._data_of(node_name, output_slot, debug_op, device_name)
        return [datum.dump_size_bytes for datum in data]
