"""In which order nodes are computed, and the sizes of the images between them."""

import collections

from braid.tensorflow.contrib.receptive_field.python.util import parse_layer_parameters

_node_info = collections.namedtuple("NodeInfo", ["order", "node", "input_size", "output_size"])


def parse_graph_nodes(graph_def):
    """The NodeDefs by their names."""
    return {node.name: node for node in graph_def.node}


def _compute_output_resolution(input_spatial_resolution, kernel_size, stride, total_padding):
    """How many windows fit along a direction; None: a number is not known."""
    if None in (input_spatial_resolution, kernel_size, stride, total_padding):
        return None
    return int(-((kernel_size - 1 - input_spatial_resolution - total_padding) // stride))


def _output_size(node, name_to_node, input_size):
    """[height, width] of a node's output."""
    if input_size is None:
        return None
    size_x, size_y, stride_x, stride_y, _, _, padding_x, padding_y = parse_layer_parameters.get_layer_params(
        node, name_to_node, input_size, force=True
    )
    return [
        _compute_output_resolution(input_size[0], size_y, stride_y, padding_y),
        _compute_output_resolution(input_size[1], size_x, stride_x, padding_x),
    ]


def _data_inputs(node):
    return [name.split(":")[0] for name in node.input if not name.startswith("^")]


def get_compute_order(graph_def, input_node_name="", input_node_size=None):
    """The order of the nodes of a GraphDef, and the sizes of images.

    input_node_name, input_node_size: the node of the image and its [height, width].

    Returns:
      A dict of tuples (order, node, input_size, output_size) by the names of the nodes: order is the length
      of the longest path to it, 0 for the image's node; the sizes are [height, width], or None, or have
      None, where they are not known; input_size is that of a node's first input. And a dict of the NodeDefs.
    """
    name_to_node = parse_graph_nodes(graph_def)
    infos = collections.defaultdict(_node_info)
    for first in name_to_node:
        waiting = [first]
        while waiting:
            name = waiting[-1]
            node = name_to_node[name]
            if name in infos:
                waiting.pop()
            elif name == input_node_name:
                infos[name] = _node_info(0, node, None, input_node_size)
            elif missing := [source for source in _data_inputs(node) if source not in infos]:
                if not set(missing).isdisjoint(waiting):
                    raise ValueError("The graph has a loop at node %s" % name)
                waiting += missing
            else:
                sources = [infos[source] for source in _data_inputs(node)]
                order = max((source.order + 1 for source in sources), default=0)
                size = sources[0].output_size if sources else None
                infos[name] = _node_info(order, node, size, _output_size(node, name_to_node, size))
    return infos, name_to_node
