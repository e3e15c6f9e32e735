"""Parts of a graph that are cut off, joined, or left out."""

from braid.tensorflow.contrib.graph_editor import reroute
from braid.tensorflow.contrib.graph_editor import select
from braid.tensorflow.contrib.graph_editor import subgraph
from braid.tensorflow.contrib.graph_editor import util
from braid.tensorflow.python.ops import array_ops

__all__ = [
    "detach_control_inputs",
    "detach_control_outputs",
    "detach_inputs",
    "detach_outputs",
    "detach",
    "connect",
    "bypass",
]


def detach_control_inputs(sgv):
    """The nodes of a view no longer wait for others."""
    sgv = subgraph.make_view(sgv)
    inside = set(sgv.ops)
    for op in sgv.ops:
        reroute.remove_control_inputs(op, [cop for cop in op.control_inputs if cop not in inside])


def detach_control_outputs(sgv, control_outputs):
    """Other nodes no longer wait for those of a view. `control_outputs`: a util.ControlOutputs."""
    if not isinstance(control_outputs, util.ControlOutputs):
        raise TypeError(f"Expected a util.ControlOutputs, got: {type(control_outputs)}")
    control_outputs.update()
    sgv = subgraph.make_view(sgv)
    inside = set(sgv.ops)
    for op in sgv.ops:
        for waiting in control_outputs.get(op):
            if waiting not in inside:
                reroute.remove_control_inputs(waiting, op)


def detach_inputs(sgv, control_inputs=False):
    """Placeholders in place of the inputs of a view: (view, placeholders)."""
    sgv = subgraph.make_view(sgv)
    with sgv.graph.as_default():
        made = [array_ops.placeholder(dtype=t.dtype, name=util.placeholder_name(t)) for t in sgv.inputs]
    reroute.swap_inputs(sgv, made)
    if control_inputs:
        detach_control_inputs(sgv)
    return sgv, made


def detach_outputs(sgv, control_outputs=None):
    """Placeholders for the nodes that take outputs of a view: (view of the outputs that are taken,
    placeholders)."""
    sgv = subgraph.make_view(sgv)
    taken = sgv.remap_outputs([i for i, t in enumerate(sgv.outputs) if t.consumers()])
    consumers = subgraph.SubGraphView(taken.consumers())
    outputs = set(taken.outputs)
    consumers = consumers.remap_inputs([i for i, t in enumerate(consumers.inputs) if t in outputs])
    with taken.graph.as_default():
        made = [util.make_placeholder_from_tensor(t) for t in consumers.inputs]
    reroute.swap_outputs(taken, made)
    if control_outputs is not None:
        detach_control_outputs(taken, control_outputs)
    return taken, made


def detach(sgv, control_inputs=False, control_outputs=None, control_ios=None):
    """Both: (view, placeholders of the inputs, placeholders of the outputs)."""
    sgv = subgraph.make_view(sgv)
    control_inputs, control_outputs = select.check_cios(control_inputs, control_outputs, control_ios)
    _, detached_inputs = detach_inputs(sgv, control_inputs)
    _, detached_outputs = detach_outputs(sgv, control_outputs)
    return sgv, detached_inputs, detached_outputs


def connect(sgv0, sgv1, disconnect_first=False):
    """The outputs of sgv0 become the inputs of sgv1.

    `disconnect_first`: the nodes that took the outputs get placeholders.
    """
    sgv0, sgv1 = subgraph.make_view(sgv0), subgraph.make_view(sgv1)
    util.check_graphs(sgv0, sgv1)
    if disconnect_first:
        detach_outputs(sgv0)
    reroute.reroute_inputs(subgraph.SubGraphView(passthrough_ts=sgv0.outputs), sgv1)
    return sgv0, sgv1


def bypass(sgv):
    """The nodes that took the outputs of a view get its inputs; the view gets placeholders: (view,
    placeholders)."""
    sgv = subgraph.make_view(sgv)
    inputs = list(sgv.inputs)
    sgv, made = detach_inputs(sgv)
    reroute.reroute_ts(inputs, sgv.outputs)
    return sgv, made
