"""Graphs of tensors, and the current name scope."""

from braid.tensorflow.python.framework import ops

__all__ = ["get_graph_from_inputs", "get_name_scope"]


def get_graph_from_inputs(op_input_list, graph=None):
    """The graph that all of these are in; the default one if there are none. ValueError: they are in
    several."""
    return ops._get_graph_from_inputs(op_input_list, graph)


def get_name_scope():
    return ops.get_default_graph().get_name_scope()
