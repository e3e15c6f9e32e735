"""Gradients of tensors as they are made, found by nodes that mark the tensors."""

import re
import uuid

from braid.tensorflow.python.debug.lib import debug_data
from braid.tensorflow.python.debug.lib import debug_graphs
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import gen_array_ops
from braid.tensorflow.python.ops import variables

_GRADIENT_DEBUG_TAG = "gradient_debug_"

_gradient_debuggers = {}  # by the uuid that is part of the names of their nodes


def _tensor_to_grad_debug_op_name(tensor, grad_debugger_uuid):
    op_name, slot = debug_graphs.parse_node_or_tensor_name(tensor.name)
    return "%s_%d/%s%s" % (op_name, slot, _GRADIENT_DEBUG_TAG, grad_debugger_uuid)


def _parse_grad_debug_op_name(op_name):
    """The uuid of the debugger, and the name of the marked tensor."""
    scope, _, tag = op_name.rpartition("/")
    if not scope or not tag.startswith(_GRADIENT_DEBUG_TAG):
        return None, None
    tensor, _, slot = scope.rpartition("_")
    return tag[len(_GRADIENT_DEBUG_TAG) :].partition("_")[0], "%s:%d" % (tensor, int(slot))


class GradientsDebugger:
    """Knows the gradients of the tensors that it has marked, once they are made.

    With several debuggers, those learn of gradients that are made within their `with`.
    """

    def __init__(self, y_tensor=None):
        self._uuid = uuid.uuid4().hex
        _gradient_debuggers[self._uuid] = self
        self._gradient_tensors = {}
        self._y_tensor = y_tensor
        self._graph = y_tensor.graph if y_tensor is not None else None
        self._is_active_context = False

    @property
    def y_tensor(self):
        return self._y_tensor

    @property
    def graph(self):
        return self._graph

    def __enter__(self):
        self._is_active_context = True
        return self

    def __exit__(self, unused_type, unused_value, unused_traceback):
        self._is_active_context = False

    def identify_gradient(self, input_tensor):
        """An identity of a tensor. The gradient that reaches it is gradient_tensor(input_tensor)."""
        name = _tensor_to_grad_debug_op_name(input_tensor, self._uuid)
        is_ref = input_tensor.dtype._is_ref_dtype
        identity = (
            gen_array_ops.debug_gradient_ref_identity if is_ref else gen_array_ops.debug_gradient_identity
        )
        marked = identity(input_tensor, name=name)
        if marked.op.name != name:
            raise ValueError("The graph already contains an op named %s" % name)
        return marked

    def watch_gradients_by_tensors(self, graph, tensors):
        """Marks tensors that have consumers already, before gradients are made. Returns itself, for `with`."""
        tensors = tensors if isinstance(tensors, list) else [tensors]
        names = "|".join(re.escape(tensor.name) + "$" for tensor in tensors)
        return self.watch_gradients_by_tensor_names(graph, "(%s)" % names)

    def watch_gradients_by_tensor_names(self, graph, tensor_name_regex):
        """The same for tensors whose names match."""
        pattern = re.compile(tensor_name_regex)
        with graph.as_default():
            for op in graph.get_operations():
                for output in op.outputs:
                    if pattern.match(output.name):
                        self._put_between(output)
        return self

    def _put_between(self, output):
        marked = self.identify_gradient(output)
        for consumer in list(output.consumers()):
            if consumer is marked.op:
                continue
            for i, consumer_input in enumerate(consumer.inputs):
                if consumer_input is output:
                    consumer._update_input(i, marked)

    def register_gradient_tensor(self, x_tensor_name, gradient_tensor):
        """Takes the gradient of the tensor of that name, if this debugger is meant."""
        if len(_gradient_debuggers) != 1 and not self._is_active_context:
            return
        if self._graph is None:
            self._graph = gradient_tensor.graph
        elif self._graph != gradient_tensor.graph:
            raise ValueError(
                "The graph of the value (%s) is not the same as the graph %s"
                % (gradient_tensor.graph, self._graph)
            )
        self._gradient_tensors[x_tensor_name] = gradient_tensor

    def gradient_tensor(self, x_tensor):
        """The gradient of a tensor, a variable, or a name. LookupError: none is known."""
        name = self._get_tensor_name(x_tensor)
        if name not in self._gradient_tensors:
            raise LookupError(
                "This GradientsDebugger has not received any gradient tensor for x-tensor %s" % name
            )
        return self._gradient_tensors[name]

    def gradient_tensors(self):
        """The gradients that it knows, by names of tensors."""
        return self._gradient_tensors

    def _get_tensor_name(self, tensor):
        if isinstance(tensor, (ops.Tensor, variables.Variable)):
            return tensor.name
        if isinstance(tensor, str):
            return tensor
        raise TypeError(
            "x_tensor must be a str or tf.Tensor or tf.Variable, but instead has type %s" % type(tensor)
        )


def clear_gradient_debuggers():
    """Forgets all debuggers."""
    _gradient_debuggers.clear()


@ops.RegisterGradient("DebugGradientIdentity")
def _identify_gradient_grad(op, dy):
    debugger_uuid, tensor_name = _parse_grad_debug_op_name(op.name)
    if debugger_uuid in _gradient_debuggers:
        _gradient_debuggers[debugger_uuid].register_gradient_tensor(tensor_name, dy)
    return dy


@ops.RegisterGradient("DebugGradientRefIdentity")
def _identify_gradient_grad_ref(op, dy):
    return _identify_gradient_grad(op, dy)


def gradient_values_from_dump(grad_debugger, x_tensor, dump):
    """The values that a dump has of the gradient of `x_tensor`; none where it was not run."""
    if dump.python_graph and grad_debugger.graph and dump.python_graph != grad_debugger.graph:
        raise ValueError(
            "This GradientsDebugger instance has a graph (%s) that differs from the graph of the "
            "DebugDumpDir object (%s)." % (grad_debugger.graph, dump.python_graph)
        )
    gradient = grad_debugger.gradient_tensor(x_tensor)
    node_name, slot = debug_graphs.parse_node_or_tensor_name(gradient.name)
    try:
        return dump.get_tensors(node_name, slot, "DebugIdentity")
    except debug_data.WatchKeyDoesNotExistInDebugDumpDirError:
        return []
