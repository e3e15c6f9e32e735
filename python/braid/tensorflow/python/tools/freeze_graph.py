"""Freezing: a graph and a checkpoint as one GraphDef with constants in place of variables."""

import argparse
import re
import sys

from google.protobuf import text_format

from braid import protos
from braid.tensorflow.python.client import session
from braid.tensorflow.python.framework import graph_util, importer, ops
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.saved_model import loader, tag_constants
from braid.tensorflow.python.training import checkpoint_management, py_checkpoint_reader
from braid.tensorflow.python.training import saver as saver_lib


def _parse(path, message, is_binary):
    """The message of a file. OSError: there is no such file."""
    with open(path, "rb") as f:
        content = f.read()
    if is_binary:
        message.ParseFromString(content)
    else:
        text_format.Merge(content.decode("utf-8"), message)
    return message


def freeze_graph_with_def_protos(
    input_graph_def,
    input_saver_def,
    input_checkpoint,
    output_node_names,
    restore_op_name,
    filename_tensor_name,
    output_graph,
    clear_devices,
    initializer_nodes,
    variable_names_whitelist="",
    variable_names_blacklist="",
    input_meta_graph_def=None,
    input_saved_model_dir=None,
    saved_model_tags=None,
    checkpoint_version=protos.SaverDef.V2,
):
    """The frozen GraphDef of a graph, also written to the file output_graph. Names are in strings with
    commas.

    ValueError: the checkpoint does not exist, or no output node is named.
    """
    if not input_saved_model_dir and not checkpoint_management.checkpoint_exists(input_checkpoint):
        raise ValueError(f"Input checkpoint '{input_checkpoint}' doesn't exist!")
    if not output_node_names:
        raise ValueError("You need to supply the name of a node to --output_node_names.")
    source = input_meta_graph_def.graph_def if input_meta_graph_def else input_graph_def
    with ops.Graph().as_default() as graph, session.Session(graph=graph) as sess:
        if source is not None:
            if clear_devices:
                for node in source.node:
                    node.device = ""
        if input_meta_graph_def:
            saver = saver_lib.import_meta_graph(input_meta_graph_def, clear_devices=True)
            saver.restore(sess, input_checkpoint)
        elif input_saved_model_dir:
            tags = saved_model_tags or [tag_constants.SERVING]
            source = loader.load(sess, tags, input_saved_model_dir).graph_def
        else:
            importer.import_graph_def(source, name="")
            _restore(graph, sess, input_saver_def, input_checkpoint, checkpoint_version)
        if initializer_nodes:
            sess.run(initializer_nodes.replace(" ", "").split(","))

        def names(text):
            return text.replace(" ", "").split(",") if text else None

        frozen = graph_util.convert_variables_to_constants(
            sess,
            source,
            names(output_node_names),
            variable_names_whitelist=names(variable_names_whitelist),
            variable_names_blacklist=names(variable_names_blacklist),
        )
    if output_graph:
        with open(output_graph, "wb") as f:
            f.write(frozen.SerializeToString())
    return frozen


def _restore(graph, sess, saver_def, checkpoint, version):
    if saver_def:
        saver = saver_lib.Saver(saver_def=saver_def, write_version=version)
    else:
        # The variables that the checkpoint and the graph both have.
        names = {}
        for key in py_checkpoint_reader.NewCheckpointReader(checkpoint).get_variable_to_shape_map():
            try:
                names[key] = graph.get_tensor_by_name(f"{key}:0")
            except KeyError:
                pass
        try:
            saver = saver_lib.Saver(var_list=names, write_version=version)
        except TypeError as error:
            parts = [op.name for op in graph.get_operations() if re.search(r"/part_\d+/", op.name)]
            if any(key in part for key in names for part in parts):
                raise ValueError(
                    "Models containing partition variables cannot be converted from checkpoint files. Please pass "
                    "in a SavedModel using the flag --input_saved_model_dir."
                ) from error
            if not any(op.type in ("Variable", "VariableV2", "VarHandleOp") for op in graph.get_operations()):
                raise ValueError(
                    "No variables were found in this model. It is likely the model was frozen previously. You "
                    "cannot freeze a graph twice."
                ) from error
            raise
    saver.restore(sess, checkpoint)


def freeze_graph(
    input_graph,
    input_saver,
    input_binary,
    input_checkpoint,
    output_node_names,
    restore_op_name,
    filename_tensor_name,
    output_graph,
    clear_devices,
    initializer_nodes,
    variable_names_whitelist="",
    variable_names_blacklist="",
    input_meta_graph=None,
    input_saved_model_dir=None,
    saved_model_tags=tag_constants.SERVING,
    checkpoint_version=protos.SaverDef.V2,
):
    """As freeze_graph_with_def_protos, by the names of files. input_binary: they are not text."""
    return freeze_graph_with_def_protos(
        _parse(input_graph, protos.GraphDef(), input_binary) if input_graph else None,
        _parse(input_saver, protos.SaverDef(), input_binary) if input_saver else None,
        input_checkpoint,
        output_node_names,
        restore_op_name,
        filename_tensor_name,
        output_graph,
        clear_devices,
        initializer_nodes,
        variable_names_whitelist,
        variable_names_blacklist,
        _parse(input_meta_graph, protos.MetaGraphDef(), input_binary) if input_meta_graph else None,
        input_saved_model_dir,
        saved_model_tags.replace(" ", "").split(","),
        checkpoint_version=checkpoint_version,
    )


def main(unused_args, flags):
    freeze_graph(
        flags.input_graph,
        flags.input_saver,
        flags.input_binary,
        flags.input_checkpoint,
        flags.output_node_names,
        flags.restore_op_name,
        flags.filename_tensor_name,
        flags.output_graph,
        flags.clear_devices,
        flags.initializer_nodes,
        flags.variable_names_whitelist,
        flags.variable_names_blacklist,
        flags.input_meta_graph,
        flags.input_saved_model_dir,
        flags.saved_model_tags,
    )


def _flag(text):
    return text.lower() in ("1", "true", "yes", "y", "t")


def run_main():
    """The program: python3 -m braid -m tensorflow.python.tools.freeze_graph --input_graph=..."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (
        ("input_graph", ""),
        ("input_saver", ""),
        ("input_checkpoint", ""),
        ("output_graph", ""),
        ("output_node_names", ""),
        ("restore_op_name", "save/restore_all"),
        ("filename_tensor_name", "save/Const:0"),
        ("initializer_nodes", ""),
        ("variable_names_whitelist", ""),
        ("variable_names_blacklist", ""),
        ("input_meta_graph", ""),
        ("input_saved_model_dir", ""),
        ("saved_model_tags", "serve"),
    ):
        parser.add_argument(f"--{name}", default=default)
    parser.add_argument("--input_binary", type=_flag, nargs="?", const=True, default=False)
    parser.add_argument("--clear_devices", type=_flag, nargs="?", const=True, default=True)
    flags, unparsed = parser.parse_known_args()
    if unparsed:
        logging.warning("Unknown arguments: %s", unparsed)
    main(sys.argv[:1] + unparsed, flags)


if __name__ == "__main__":
    run_main()
