"""What the rewriters of graphs share."""

import re

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variable_scope

# Beginnings of the names of nodes of gradients and summaries, which are left alone.
SKIPPED_PREFIXES = ("gradients/", "RMSProp/", "Adagrad/", "Const_", "HistogramSummary", "ScalarSummary")

_BATCH_NORM = re.compile(r"^(.*)BatchNorm/batchnorm")
_ACTIVATIONS = ("Relu6", "Relu", "Identity")
_STEP = "fake_quantization_step"


def BatchNormGroups(graph):
    """The names before "BatchNorm/batchnorm", each once."""
    found = (_BATCH_NORM.search(op.name) for op in graph.get_operations())
    names = dict.fromkeys(match.group(1) for match in found if match)
    return [name for name in names if not name.startswith(SKIPPED_PREFIXES)]


def GetEndpointActivationOp(graph, prefix):
    """The activation whose name begins with prefix, or None."""
    for name in _ACTIVATIONS:
        try:
            return graph.get_operation_by_name(prefix + name)
        except KeyError:
            pass
    return None


def CreateOrGetQuantizationStep():
    """A tensor that counts the steps of the graph: one more in each step that reads it."""
    graph = ops.get_default_graph()
    try:
        return graph.get_tensor_by_name(f"{_STEP}/Identity:0")
    except KeyError:
        pass
    with graph.name_scope(None):
        step = variable_scope.get_variable(
            _STEP,
            shape=[],
            dtype=dtypes.int64,
            initializer=init_ops.zeros_initializer(),
            trainable=False,
            collections=[ops.GraphKeys.GLOBAL_VARIABLES],
            aggregation=variable_scope.VariableAggregation.ONLY_FIRST_REPLICA,
        )
        with graph.name_scope(step.op.name + "/"):
            return array_ops.identity(state_ops.assign_add(step, 1))


def DropStringPrefix(s, prefix):
    """s without the prefix, if it begins with it."""
    return s[len(prefix) :] if s.startswith(prefix) else s


def RerouteTensor(t0, t1, can_modify=None):
    """Gives t0 to the nodes that take t1, of those in can_modify if it is given.

    Returns how many inputs have changed.
    """
    count = 0
    for op in t1.consumers():
        if can_modify is not None and op not in can_modify:
            continue
        for i in [i for i, t in enumerate(op.inputs) if t is t1]:
            op._update_input(i, t0)
            count += 1
    return count
