"""Graphs to serve, in which masked weights are constants."""

from braid.tensorflow.core.framework import graph_pb2
from braid.tensorflow.python.client import session as session_lib
from braid.tensorflow.python.framework import graph_util
from braid.tensorflow.python.framework import importer
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import checkpoint_management
from braid.tensorflow.python.training import saver as saver_lib


def strip_pruning_vars_fn(input_graph_def, output_node_names):
    """The GraphDef of these nodes with constants in place of the products of weights and masks.

    input_graph_def: one without variables.
    """
    names = [node.name for node in input_graph_def.node if "masked_weight" in node.name]
    with ops.Graph().as_default() as graph:
        importer.import_graph_def(input_graph_def, name="")
        with session_lib.Session(graph=graph) as session:
            values = dict(zip(names, session.run([f"{name}:0" for name in names]))) if names else {}
    stripped = graph_pb2.GraphDef()
    for node in input_graph_def.node:
        added = stripped.node.add()
        if node.name not in values:
            added.CopyFrom(node)
            continue
        value = values[node.name]
        logging.info("%s has %d values, %1.2f%% zeros", node.name, value.size, 100 * (value == 0).mean())
        added.op, added.name = "Const", node.name
        added.attr["dtype"].CopyFrom(node.attr["T"])
        added.attr["value"].tensor.CopyFrom(tensor_util.make_tensor_proto(value))
    return graph_util.extract_sub_graph(stripped, output_node_names)


def graph_def_from_checkpoint(checkpoint_dir, output_node_names):
    """The GraphDef of these nodes with constants in place of variables, from the last checkpoint of a
    directory."""
    path = checkpoint_management.latest_checkpoint(checkpoint_dir)
    if path is None:
        raise ValueError(f"Could not find a checkpoint at: {checkpoint_dir}.")
    saver = saver_lib.import_meta_graph(path + ".meta", clear_devices=True)
    with session_lib.Session() as session:
        saver.restore(session, path)
        graph_def = ops.get_default_graph().as_graph_def()
        return graph_util.convert_variables_to_constants(session, graph_def, output_node_names)
