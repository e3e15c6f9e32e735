"""Graphs without the nodes that outputs do not need when some nodes are fed."""

from google.protobuf import text_format

from braid import protos
from braid.tensorflow.python.framework import graph_util
from braid.tensorflow.python.platform import gfile


def strip_unused(input_graph_def, input_node_names, output_node_names, placeholder_type_enum):
    """The nodes that outputs need, as a new GraphDef in which the inputs are placeholders.

    Args:
      placeholder_type_enum: the type of the placeholders (tf.float32.as_datatype_enum), or a list of one for
        each input.

    ValueError: an input is named as a tensor. KeyError: the graph has no such input.
    """
    for name in input_node_names:
        if ":" in name:
            raise ValueError(f"Name '{name}' appears to refer to a Tensor, not a Operation.")
    types = placeholder_type_enum
    if not isinstance(types, list):
        types = [types] * len(input_node_names)
    types = dict(zip(input_node_names, types))
    absent = types.keys() - {node.name for node in input_graph_def.node}
    if absent:
        raise KeyError(f"The following input nodes were not found: {absent}")
    fed = protos.GraphDef()
    for node in input_graph_def.node:
        if node.name not in types:
            fed.node.add().CopyFrom(node)
            continue
        placeholder = fed.node.add(name=node.name, op="Placeholder")
        placeholder.attr["dtype"].type = types[node.name]
        for key in ("_output_shapes", "shape"):
            if key in node.attr:
                placeholder.attr[key].CopyFrom(node.attr[key])
    return graph_util.extract_sub_graph(fed, output_node_names)


def strip_unused_from_files(
    input_graph,
    input_binary,
    output_graph,
    output_binary,
    input_node_names,
    output_node_names,
    placeholder_type_enum,
):
    """As strip_unused, from a file to another. Names are in strings with commas. -1: something is missing."""
    if not gfile.Exists(input_graph):
        print(f"Input graph file '{input_graph}' does not exist!")
        return -1
    if not output_node_names:
        print("You need to supply the name of a node to --output_node_names.")
        return -1
    graph_def = protos.GraphDef()
    with gfile.GFile(input_graph, "rb" if input_binary else "r") as f:
        if input_binary:
            graph_def.ParseFromString(f.read())
        else:
            text_format.Merge(f.read(), graph_def)
    stripped = strip_unused(
        graph_def, input_node_names.split(","), output_node_names.split(","), placeholder_type_enum
    )
    with gfile.GFile(output_graph, "wb" if output_binary else "w") as f:
        f.write(stripped.SerializeToString() if output_binary else text_format.MessageToString(stripped))
    print(f"{len(stripped.node)} ops in the final graph.")
    return None
