"""What is in a graph."""

from braid.tensorflow.python.framework import ops

__all__ = ["get_placeholders"]


def get_placeholders(graph):
    """The tensors of all placeholders without a default."""
    if not isinstance(graph, ops.Graph):
        raise TypeError(f"Input graph needs to be a Graph: {graph}")
    return [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]
