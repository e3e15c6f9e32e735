"""Which nodes take a tensor, as it was before the graph is changed."""

from braid.tensorflow.contrib.quantize.python import common


class InputToOps:
    """The nodes of a graph by their inputs."""

    def __init__(self, graph):
        self.mapping = {}
        for op in graph.get_operations():
            if not op.name.startswith(common.SKIPPED_PREFIXES):
                for tensor in op.inputs:
                    self.mapping.setdefault(tensor, set()).add(op)

    def ConsumerOperations(self, producer_op):
        """The set of nodes that take an output of a node."""
        return {op for tensor in producer_op.outputs for op in self.mapping.get(tensor, ())}
