"""A node: one call of a layer, between the tensors it took and those it gave."""

import collections

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras.engine import base_layer_utils
from braid.tensorflow.python.util import nest

KerasHistory = collections.namedtuple("KerasHistory", ["layer", "node_index", "tensor_index"])


class Node:
    """One call of `outbound_layer`.

    input_tensors, output_tensors: structures of tensors. arguments: the keyword arguments of the call.
    inbound_layers, node_indices, tensor_indices: where the inputs come from, in their structure.
    """

    def __init__(self, outbound_layer, input_tensors, output_tensors, arguments=None):
        self.outbound_layer = outbound_layer
        self.input_tensors = input_tensors
        self.output_tensors = output_tensors
        self.arguments = dict(arguments or {})
        tensors = [t for t in nest.flatten(self.arguments) if isinstance(t, ops.Tensor)]
        for t in tensors:
            if base_layer_utils.needs_keras_history(t):
                base_layer_utils.create_keras_history(t)
        self._keras_arguments = [t for t in tensors if hasattr(t, "_keras_history")]
        history = [t._keras_history for t in nest.flatten(input_tensors)]
        pack = lambda part: nest.pack_sequence_as(input_tensors, [h[part] for h in history])  # noqa: E731
        self.inbound_layers, self.node_indices, self.tensor_indices = pack(0), pack(1), pack(2)
        for layer in nest.flatten(self.inbound_layers):
            if layer is not None:
                layer._outbound_nodes.append(self)
        self.input_shapes = nest.map_structure(_shape, input_tensors)
        self.output_shapes = nest.map_structure(_shape, output_tensors)
        index = len(outbound_layer._inbound_nodes)
        for i, t in enumerate(nest.flatten(output_tensors)):
            t._keras_history = KerasHistory(outbound_layer, index, i)
        outbound_layer._inbound_nodes.append(self)

    def iterate_inbound(self, include_arguments=False):
        """(layer, node index, tensor index, tensor) of each input, also of those among the keyword arguments."""
        yield from zip(
            nest.flatten(self.inbound_layers),
            nest.flatten(self.node_indices),
            nest.flatten(self.tensor_indices),
            nest.flatten(self.input_tensors),
        )
        for t in self._keras_arguments if include_arguments else ():
            yield (*t._keras_history, t)


def _shape(tensor):
    shape = tensor.shape
    return None if shape.ndims is None else tuple(shape.as_list())
