"""The graph of objects of a checkpoint, for Graphviz."""

from braid.tensorflow.python.training import py_checkpoint_reader
from braid.tensorflow.python.training.tracking import util


def _quoted(text):
    return '"' + text.replace('"', '\\"') + '"'


def dot_graph_from_checkpoint(save_path):
    """The graph in the language DOT: variables are blue points, slots orange ones, optimizers red ones."""
    graph = util.object_metadata(save_path)
    reader = py_checkpoint_reader.NewCheckpointReader(save_path)
    shapes, types = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    slots = {s.slot_variable_node_id for node in graph.nodes for s in node.slot_variables}
    lines = []
    for number, node in enumerate(graph.nodes):
        style = 'shape=point label="" width=.25'
        if [a.name for a in node.attributes] == ["VARIABLE_VALUE"]:
            attribute = node.attributes[0]
            kind, color = ("Slot variable", "orange") if number in slots else ("Variable", "blue")
            key = attribute.checkpoint_key
            tip = f"{kind} {attribute.full_name} shape={shapes[key]} {types[key].name}"
            style += f" color={color} tooltip={_quoted(tip)}"
        elif node.slot_variables:
            style += ' color=red tooltip="Optimizer"'
        lines.append(f"N_{number} [{style}]")
        for child in node.children:
            lines.append(f"N_{number} -> N_{child.node_id} [label={_quoted(child.local_name)}]")
        for s in node.slot_variables:
            slot = f"N_{s.slot_variable_node_id}"
            lines.append(f"N_{number} -> {slot} [label={_quoted(s.slot_name)} style=dotted]")
            lines.append(f"N_{s.original_variable_node_id} -> {slot} [style=dotted]")
    return "digraph {\n" + "\n".join(lines) + "\n}\n"
