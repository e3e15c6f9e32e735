"""Graphs of runs with watches: names of their debug nodes, and the graphs without these."""

from braid import protos
from braid.tensorflow.python.framework import op_def_registry
from braid.tensorflow.python.platform import tf_logging as logging

_COPY_PREFIX, _DEBUG_PREFIX = "__copy_", "__dbg_"


def parse_node_or_tensor_name(name):
    """("a", 1) of "a:1", ("a", None) of "a"."""
    node_name, colon, slot = name.rpartition(":")
    return (node_name, int(slot)) if colon and slot else (name, None)


def get_node_name(element_name):
    return parse_node_or_tensor_name(element_name)[0]


def get_output_slot(element_name):
    return parse_node_or_tensor_name(element_name)[1] or 0


def is_copy_node(node_name):
    """Whether a node passes on a watched tensor."""
    return node_name.startswith(_COPY_PREFIX)


def is_debug_node(node_name):
    """Whether a node writes a watched tensor."""
    return node_name.startswith(_DEBUG_PREFIX)


def parse_debug_node_name(node_name):
    """(watched node, its output, number of the debug op, debug op) of "__dbg_NODE:OUTPUT_NUMBER_OP"."""
    if not is_debug_node(node_name):
        raise ValueError("Invalid prefix in debug node name: '%s'" % node_name)
    name = node_name[len(_DEBUG_PREFIX) :]
    if name.count("_") < 2:
        raise ValueError("Invalid debug node name: '%s'" % node_name)
    tensor, number, debug_op = name.rsplit("_", 2)
    number = int(number)
    if tensor.count(":") != 1:
        raise ValueError("Invalid tensor name in debug node name: '%s'" % node_name)
    watched, slot = tensor.split(":")
    return watched, int(slot), number, debug_op


class GraphTracingReachedDestination(Exception):
    """The node that was looked for is found."""


class DFSGraphTracer:
    """Follows inputs, depth first.

    `input_lists`: dicts from nodes to the names of their inputs. Nodes of `skip_node_names` are not followed.
    """

    def __init__(self, input_lists, skip_node_names=None, destination_node_name=None):
        self._input_lists = input_lists
        self._skipped = frozenset(skip_node_names or ())
        self._destination = destination_node_name
        self._visited = set()
        self._inputs, self._depths, self._path = [], [], []

    def _inputs_of(self, node_name):
        for inputs in self._input_lists:
            yield from inputs.get(node_name, ())

    def _enter(self, node_name):
        """The inputs that are still to be followed; None: the node is not followed."""
        if node_name == self._destination:
            raise GraphTracingReachedDestination()
        if node_name in self._skipped or node_name in self._visited:
            return None
        self._visited.add(node_name)
        return self._inputs_of(node_name)

    def trace(self, graph_element_name):
        """Raises GraphTracingReachedDestination where it comes to the destination."""
        self._path = [graph_element_name]
        first = self._enter(get_node_name(graph_element_name))
        stack = [] if first is None else [first]
        while stack:
            name = next((n for n in stack[-1] if get_node_name(n) not in self._visited), None)
            if name is None:
                stack.pop()
                self._path.pop()
                continue
            self._inputs.append(name)
            self._depths.append(len(stack))
            self._path.append(name)
            inputs = self._enter(get_node_name(name))
            if inputs is None:
                self._path.pop()
            else:
                stack.append(inputs)

    def inputs(self):
        """The inputs in the order in which they were met."""
        return self._inputs

    def depth_list(self):
        """How far each of them is."""
        return self._depths

    def path(self):
        """From what was traced to the destination that was reached."""
        return self._path


def _infer_device_name(graph_def):
    """The device of the first node that has one."""
    device_name = next((node.device for node in graph_def.node if node.device), None)
    if device_name is None:
        logging.warn(
            "Failed to infer device name from partition GraphDef: none of the "
            "nodes of the GraphDef has a non-empty device name."
        )
    return device_name


_ref_outputs = {}  # of ops: whether each output argument is a reference


def _is_ref(op_type, slot):
    if op_type not in _ref_outputs:
        op_def = op_def_registry.get(op_type)
        _ref_outputs[op_type] = [arg.is_ref for arg in op_def.output_arg] if op_def is not None else []
    refs = _ref_outputs[op_type]
    return slot < len(refs) and refs[slot]


class DebugGraph:
    """A graph with debug nodes: its edges as they would be without them."""

    def __init__(self, debug_graph_def, device_name=None):
        self._debug_graph_def = debug_graph_def
        self._non_debug_graph_def = None
        self._device_name = device_name or _infer_device_name(debug_graph_def)
        self._node_attributes, self._node_inputs, self._node_ctrl_inputs = {}, {}, {}
        self._node_recipients, self._node_ctrl_recipients = {}, {}
        self._node_reversed_ref_inputs, self._node_devices, self._node_op_types = {}, {}, {}
        copied = {n.name: n.input[0] for n in debug_graph_def.node if is_copy_node(n.name)}
        for node in debug_graph_def.node:
            if not is_debug_node(node.name):
                self._add_node(node, copied)
        self._add_recipients()

    def _add_node(self, node, copied):
        if node.name in self._node_op_types:
            raise ValueError("Duplicate node name on device %s: '%s'" % (self._device_name, node.name))
        self._node_op_types[node.name] = node.op
        self._node_attributes[node.name] = node.attr
        self._node_devices[node.name] = {node.device or self._device_name}
        if is_copy_node(node.name):
            return
        self._node_inputs[node.name] = [
            copied.get(get_node_name(name), name) for name in node.input if not name.startswith("^")
        ]
        self._node_ctrl_inputs[node.name] = [
            name[1:] for name in node.input if name.startswith("^") and not is_debug_node(name[1:])
        ]
        self._node_recipients[node.name] = []
        self._node_ctrl_recipients[node.name] = []

    def _add_recipients(self):
        for node, inputs in self._node_inputs.items():
            for name in inputs:
                source = get_node_name(name)
                self._node_recipients.setdefault(source, []).append(node)
                if _is_ref(self._node_op_types.get(source), get_output_slot(name)):
                    self._node_reversed_ref_inputs.setdefault(source, []).append(node)
        for node, inputs in self._node_ctrl_inputs.items():
            for name in inputs:
                self._node_ctrl_recipients.setdefault(name, []).append(node)

    @property
    def device_name(self):
        return self._device_name

    @property
    def debug_graph_def(self):
        """The graph as it was run."""
        return self._debug_graph_def

    @property
    def non_debug_graph_def(self):
        """The graph without the nodes that watch."""
        if self._non_debug_graph_def is None:
            graph_def = protos.GraphDef()
            for node in self._debug_graph_def.node:
                if is_copy_node(node.name) or is_debug_node(node.name):
                    continue
                copy = graph_def.node.add()
                copy.CopyFrom(node)
                del copy.input[:]
                copy.input.extend(self._node_inputs[node.name])
                copy.input.extend("^" + name for name in self._node_ctrl_inputs[node.name])
            self._non_debug_graph_def = graph_def
        return self._non_debug_graph_def

    @property
    def node_devices(self):
        return self._node_devices

    @property
    def node_op_types(self):
        return self._node_op_types

    @property
    def node_attributes(self):
        return self._node_attributes

    @property
    def node_inputs(self):
        return self._node_inputs

    @property
    def node_ctrl_inputs(self):
        return self._node_ctrl_inputs

    @property
    def node_reversed_ref_inputs(self):
        """By node, those that take a reference from it."""
        return self._node_reversed_ref_inputs

    @property
    def node_recipients(self):
        return self._node_recipients

    @property
    def node_ctrl_recipients(self):
        return self._node_ctrl_recipients


def reconstruct_non_debug_graph_def(debug_graph_def):
    """The graph of a run (RunMetadata.partition_graphs) without the nodes that watch its tensors."""
    return DebugGraph(debug_graph_def).non_debug_graph_def
