"""Writes what is known of the nodes of a graph to a file (tf.profiler.write_op_log)."""

import os

from braid.tensorflow.core.profiler import tfprof_log_pb2
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.lib.io import file_io
from braid.tensorflow.python.profiler import profile_nodes
from braid.tensorflow.python.util.tf_export import tf_export


def merge_default_op_log(graph, op_log=None, add_trace=True, run_meta=None):
    """An OpLogProto with the operations of all nodes and the variables that are trained, and what `op_log`
    has.
    """
    entries = {}
    for node in profile_nodes.of_graph(graph, op_log=op_log).values():
        types = sorted(node.types & {profile_nodes.TRAINABLE})
        if node.own["float_ops"] or types:
            entries[node.name] = tfprof_log_pb2.OpLogEntry(
                name=node.name, float_ops=node.own["float_ops"], types=types
            )
    for entry in op_log.log_entries if op_log is not None else ():
        made = entries.setdefault(entry.name, tfprof_log_pb2.OpLogEntry(name=entry.name))
        made.types.extend(t for t in entry.types if t not in made.types)
        made.float_ops = entry.float_ops or made.float_ops
    return tfprof_log_pb2.OpLogProto(log_entries=entries.values())


@tf_export(v1=["profiler.write_op_log"])
def write_op_log(graph, log_dir, op_log=None, run_meta=None, add_trace=True):
    """Writes an OpLogProto to tfprof_log in a directory. The lines that made the nodes are not in it."""
    graph = ops.get_default_graph() if graph is None else graph
    log = merge_default_op_log(graph, op_log, add_trace, run_meta)
    file_io.write_string_to_file(os.path.join(log_dir, "tfprof_log"), log.SerializeToString())
