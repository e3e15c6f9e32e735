"""Receptive fields: the part of an image on which an element of an output depends."""

import numpy as np

from braid.tensorflow.contrib.receptive_field.python.util import graph_compute_order
from braid.tensorflow.contrib.receptive_field.python.util import parse_layer_parameters
from braid.tensorflow.python.framework import ops as framework_ops
from braid.tensorflow.python.platform import tf_logging as logging


class ReceptiveField:
    """Of a network: the size of the field, the stride from one to the next, and the padding before the image.

    Each has an element for x and one for y; a padding that depends on the size of the image is None. The six
    numbers can be unpacked: size_x, size_y, stride_x, stride_y, padding_x, padding_y.
    """

    def __init__(self, size, stride, padding):
        self.size = np.asarray(size)
        self.stride = np.asarray(stride)
        self.padding = np.asarray(padding)

    def __iter__(self):
        return iter(np.concatenate([self.size, self.stride, self.padding]))

    def _axes(self, places, axis, what):
        places = np.asarray(places)
        axis = list(range(self.size.size) if axis is None else axis)
        if places.shape[-1] != len(axis):
            raise ValueError(
                "Dimensionality of the %s (%d) does not match dimensionality of `axis` (%d)"
                % (what, places.shape[-1], len(axis))
            )
        return places, axis

    def compute_input_center_coordinates(self, y, axis=None):
        """The centers in the image of elements of the output, an array [.., 2].

        axis: which coordinates the last dimension has, by default both. ValueError: it has another size.
        """
        y, axis = self._axes(y, axis, "feature coordinates `y`")
        return -self.padding[axis] + y * self.stride[axis] + (self.size[axis] - 1) / 2

    def compute_feature_coordinates(self, x, axis=None):
        """The elements of the output at centers in the image, an array [.., 2]. See above."""
        x, axis = self._axes(x, axis, "input center coordinates `x`")
        return (x + self.padding[axis] + (1 - self.size[axis]) / 2) / self.stride[axis]


class _Field:
    """What is known along one direction at the output of a node: size, stride and padding of the field."""

    def __init__(self, size=1, stride=1, padding=0):
        self.size, self.stride, self.padding = size, stride, padding

    def behind(self, kernel_size, stride, padding):
        """The field at the input of a layer with this window."""
        return _Field(
            stride * self.size + kernel_size - stride,
            stride * self.stride,
            None if padding is None or self.padding is None else stride * self.padding + padding,
        )

    def check_aligned(self, other, direction):
        """Two paths lead to one node: their fields have to have the same strides and centers."""
        if self.stride != other.stride:
            raise ValueError(
                "Graph is not aligned since effective stride from different paths is different in %s direction"
                % direction
            )
        if (self.size - 1) / 2 - self.padding != (other.size - 1) / 2 - other.padding:
            raise ValueError(
                "Graph is not aligned since center shift from different paths is different in %s direction"
                % direction
            )


_DIRECTIONS = ("horizontal", "vertical")


def _name_of(node):
    return node.op.name if isinstance(node, framework_ops.Tensor) else node


def compute_receptive_field_from_graph_def(
    graph_def, input_node, output_node, stop_propagation=None, input_resolution=None
):
    """The ReceptiveField of an output in an image (distill.pub/2019/computing-receptive-fields).

    graph_def: a GraphDef or a Graph. input_node, output_node: names of nodes, or tensors. stop_propagation:
    names, or beginnings of names, of nodes beyond which paths are not followed: for the field of one branch.
    input_resolution: [height, width] of the image, on which the padding may depend.

    Raises:
      ValueError: there is no such node, an op on the path is not known, or paths of the network are not
        aligned: their fields have different strides or centers, which is not checked where a padding is not
        known.
    """
    if isinstance(graph_def, framework_ops.Graph):
        graph_def = graph_def.as_graph_def()
    input_node, output_node = _name_of(input_node), _name_of(output_node)
    infos, name_to_node = graph_compute_order.get_compute_order(
        graph_def, input_node_name=input_node, input_node_size=input_resolution
    )
    fields = {}  # of the nodes that the output depends on: x and y
    is_known = True  # no padding so far depends on the image
    for info in sorted(infos.values(), key=lambda info: -info.order):
        node = info.node
        if node.name == input_node:
            break
        if node.name == output_node:
            fields[output_node] = [_Field(), _Field()]
        if node.name not in fields:
            continue
        size_x, size_y, stride_x, stride_y, x, y, _, _ = parse_layer_parameters.get_layer_params(
            node, name_to_node, info.input_size
        )
        is_known = is_known and x is not None and y is not None
        own = fields[node.name]
        below = [own[0].behind(size_x, stride_x, x), own[1].behind(size_y, stride_y, y)]
        if not is_known:
            below[0].padding = below[1].padding = None
        for name in node.input:
            if name.startswith(("^", *(stop_propagation or ()))):
                logging.vlog(3, "Skipping node %s.", name)
                continue
            known = fields.setdefault(name.split(":")[0], list(below))
            for i, direction in enumerate(_DIRECTIONS):
                if is_known:
                    known[i].check_aligned(below[i], direction)
                if known[i].size < below[i].size:
                    known[i] = below[i]
    if output_node not in fields:
        raise ValueError("Output node was not found")
    if input_node not in fields:
        raise ValueError("Input node was not found")
    x, y = fields[input_node]
    return ReceptiveField((x.size, y.size), (x.stride, y.stride), (x.padding, y.padding))
