"""Writing graphs as files."""

import os

from google.protobuf import text_format

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.lib.io import file_io
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("io.write_graph", v1=["io.write_graph", "train.write_graph"])
def write_graph(graph_or_graph_def, logdir, name, as_text=True):
    """Writes a graph, or any message, to the file logdir/name, as text or as bytes. Returns the path."""
    if isinstance(graph_or_graph_def, ops.Graph):
        graph_or_graph_def = graph_or_graph_def.as_graph_def()
    path = os.path.join(logdir, name)
    file_io.recursive_create_dir(logdir)
    if as_text:
        content = text_format.MessageToString(graph_or_graph_def)
    else:
        content = graph_or_graph_def.SerializeToString()
    file_io.atomic_write_string_to_file(path, content)
    return path
