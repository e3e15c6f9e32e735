"""Edges that go to other nodes: tensors are exchanged, or one takes the place of another."""

from braid.tensorflow.contrib.graph_editor import subgraph
from braid.tensorflow.contrib.graph_editor import util
from braid.tensorflow.python.framework import ops as tf_ops

__all__ = [
    "swap_ts",
    "reroute_ts",
    "swap_inputs",
    "reroute_inputs",
    "swap_outputs",
    "reroute_outputs",
    "swap_ios",
    "reroute_ios",
    "remove_control_inputs",
    "add_control_inputs",
]


def _check_compatible(ts0, ts1):
    if len(ts0) != len(ts1):
        raise ValueError(f"ts0 and ts1 have different sizes: {len(ts0)} != {len(ts1)}")
    for t0, t1 in zip(ts0, ts1):
        if not t0.dtype.is_compatible_with(t1.dtype):
            raise ValueError(f"Dtypes {t0.dtype} and {t1.dtype} are not compatible.")
        if not t0.get_shape().is_compatible_with(t1.get_shape()):
            raise ValueError(f"Shapes {t0.get_shape()} and {t1.get_shape()} are not compatible.")


def _reroute_ts(ts0, ts1, swap, can_modify=None, cannot_modify=None):
    """Gives the consumers of ts1 the tensors ts0, and with `swap` those of ts0 the tensors ts1.

    Returns how many inputs have changed.
    """
    ts0, ts1 = util.make_list_of_t(ts0), util.make_list_of_t(ts1)
    _check_compatible(ts0, ts1)
    can_modify = None if can_modify is None else set(util.make_list_of_op(can_modify))
    cannot_modify = set(util.make_list_of_op(cannot_modify or []))

    def uses(t):
        """(node, number of the input) of all that take a tensor and may change."""
        return [
            (op, i)
            for op in util.concatenate_unique([], t.consumers())
            if (can_modify is None or op in can_modify) and op not in cannot_modify
            for i, taken in enumerate(op.inputs)
            if taken is t
        ]

    updates = []  # all are found before the first changes
    for t0, t1 in zip(ts0, ts1):
        if t0 is not t1:
            updates += [(op, i, t0) for op, i in uses(t1)]
            updates += [(op, i, t1) for op, i in uses(t0)] if swap else []
    for op, i, t in updates:
        op._update_input(i, t)
    return len(updates)


def swap_ts(ts0, ts1, can_modify=None, cannot_modify=None):
    """Exchanges the consumers of tensors in pairs; returns how many inputs have changed.

    `can_modify`: the only nodes that may change; `cannot_modify`: nodes that may not.
    """
    return _reroute_ts(ts0, ts1, True, can_modify, cannot_modify)


def reroute_ts(ts0, ts1, can_modify=None, cannot_modify=None):
    """Gives the consumers of each tensor of ts1 that of ts0 in its place; returns how many inputs have
    changed."""
    return _reroute_ts(ts0, ts1, False, can_modify, cannot_modify)


def _views(sgv0, sgv1):
    sgv0, sgv1 = subgraph.make_view(sgv0), subgraph.make_view(sgv1)
    util.check_graphs(sgv0, sgv1)
    return sgv0, sgv1


def _remap_after(view, inputs, passthroughs, passed):
    """The view gets other inputs; outputs that passed through `passed` are its inputs in those places."""
    made = view.copy()
    made._input_ts, made._passthrough_ts = list(inputs), list(passthroughs)
    for i, t in enumerate(made._output_ts):
        if t in passed and t in view._input_ts:
            made._output_ts[i] = made._input_ts[view._input_ts.index(t)]
    return made


def _reroute_inputs(sgv0, sgv1, swap):
    sgv0, sgv1 = _views(sgv0, sgv1)
    can_modify = sgv0.ops + sgv1.ops
    can_modify += util.get_consuming_ops(sgv0.passthroughs) + util.get_consuming_ops(sgv1.passthroughs)
    _reroute_ts(sgv0.inputs, sgv1.inputs, swap, can_modify=can_modify)
    new0 = _remap_after(sgv0, sgv1._input_ts, sgv1._passthrough_ts, sgv0._passthrough_ts) if swap else sgv0
    new1 = _remap_after(sgv1, sgv0._input_ts, sgv0._passthrough_ts, sgv1._passthrough_ts)
    sgv0._assign_from(new0)
    sgv1._assign_from(new1)
    return sgv0, sgv1


def _reroute_outputs(sgv0, sgv1, swap):
    sgv0, sgv1 = _views(sgv0, sgv1)
    _reroute_ts(sgv0.outputs, sgv1.outputs, swap, cannot_modify=sgv0.ops + sgv1.ops)
    return sgv0, sgv1


def _reroute_both(sgv0, sgv1, swap):
    sgv0, sgv1 = _reroute_outputs(sgv0, sgv1, swap)
    return _reroute_inputs(sgv0, sgv1, swap)


def swap_inputs(sgv0, sgv1):
    """Exchanges the inputs of two views, which are changed; returns both."""
    return _reroute_inputs(sgv0, sgv1, True)


def reroute_inputs(sgv0, sgv1):
    """Gives sgv1 the inputs of sgv0."""
    return _reroute_inputs(sgv0, sgv1, False)


def swap_outputs(sgv0, sgv1):
    """Exchanges the consumers of the outputs of two views."""
    return _reroute_outputs(sgv0, sgv1, True)


def reroute_outputs(sgv0, sgv1):
    """Gives the consumers of the outputs of sgv1 those of sgv0."""
    return _reroute_outputs(sgv0, sgv1, False)


def swap_ios(sgv0, sgv1):
    """Exchanges inputs and outputs."""
    return _reroute_both(sgv0, sgv1, True)


def reroute_ios(sgv0, sgv1):
    """Inputs and outputs as reroute_inputs and reroute_outputs do."""
    return _reroute_both(sgv0, sgv1, False)


def _checked(op, cops):
    if not isinstance(op, tf_ops.Operation):
        raise TypeError(f"Expected a tf.Operation, got: {type(op)}")
    return util.make_list_of_op(cops, allow_graph=False)


def remove_control_inputs(op, cops):
    """A node no longer waits for some nodes. ValueError: it does not wait for one of them."""
    cops = _checked(op, cops)
    left = op.control_inputs
    for cop in cops:
        if cop not in left:
            raise ValueError(f"{cop.name} is not a control_input of {op.name}")
        left.remove(cop)
    op._remove_all_control_inputs()
    op._add_control_inputs(left)


def add_control_inputs(op, cops):
    """A node waits for some more. ValueError: it waits for one of them already."""
    cops = _checked(op, cops)
    for cop in cops:
        if cop in op.control_inputs:
            raise ValueError(f"{cop.name} is already a control_input of {op.name}")
    op._add_control_inputs(cops)
