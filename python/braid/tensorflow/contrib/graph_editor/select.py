"""Nodes and tensors that are chosen by their names, or by a walk along the edges."""

import re

from braid.tensorflow.contrib.graph_editor import util
from braid.tensorflow.python.framework import ops as tf_ops
from braid.tensorflow.python.ops import op_selector

__all__ = [
    "can_be_regex",
    "make_regex",
    "filter_ts",
    "filter_ts_from_regex",
    "filter_ops",
    "filter_ops_from_regex",
    "get_name_scope_ops",
    "check_cios",
    "get_ops_ios",
    "compute_boundary_ts",
    "get_within_boundary_ops",
    "get_forward_walk_ops",
    "get_backward_walk_ops",
    "get_walks_intersection_ops",
    "get_walks_union_ops",
    "select_ops",
    "select_ts",
    "select_ops_and_ts",
]


def can_be_regex(obj):
    """Whether it is a regular expression, compiled or not."""
    return isinstance(obj, (str, re.Pattern))


def make_regex(obj):
    if not can_be_regex(obj):
        raise ValueError(f"Expected a string or a regex, got: {type(obj)}")
    return re.compile(obj)


def _get_input_ts(ops):
    return util.concatenate_unique([], [t for op in util.make_list_of_op(ops) for t in op.inputs])


def _get_output_ts(ops):
    return [t for op in util.make_list_of_op(ops) for t in op.outputs]


def filter_ts(ops, positive_filter):
    """The inputs and outputs of nodes for which the function is true; True: all."""
    ops = util.make_list_of_op(ops)
    ts = util.concatenate_unique(_get_input_ts(ops), _get_output_ts(ops))
    return ts if positive_filter is True else [t for t in ts if positive_filter(t)]


def filter_ts_from_regex(ops, regex):
    """Those whose names match."""
    regex = make_regex(regex)
    return filter_ts(ops, lambda t: regex.search(t.name))


def filter_ops(ops, positive_filter):
    """The nodes for which the function is true; True: all."""
    ops = util.make_list_of_op(ops)
    return ops if positive_filter is True else [op for op in ops if positive_filter(op)]


def filter_ops_from_regex(ops, regex):
    """Those whose names match."""
    regex = make_regex(regex)
    return filter_ops(ops, lambda op: regex.search(op.name))


def get_name_scope_ops(ops, scope):
    """The nodes of a name scope."""
    scope = scope[:-1] if scope.endswith("/") else scope
    return filter_ops_from_regex(ops, f"^{scope}(/.*)?$")


def check_cios(control_inputs=False, control_outputs=None, control_ios=None):
    """(control_inputs, control_outputs); `control_ios`, a ControlOutputs, stands for both."""
    if control_ios is not None:
        if not isinstance(control_ios, util.ControlOutputs):
            raise TypeError(f"Expected a util.ControlOutputs, got: {type(control_ios)}")
        if control_outputs is not None:
            raise ValueError("control_outputs should be None when using control_ios.")
        control_inputs, control_outputs = True, control_ios
    elif control_outputs is not None and not isinstance(control_outputs, util.ControlOutputs):
        raise TypeError(f"Expected a util.ControlOutputs, got: {type(control_outputs)}")
    if control_outputs is not None:
        control_outputs.update()
    return control_inputs, control_outputs


def _after(op, control_outputs, stop_at_ts=()):
    """The nodes that take an output of a node, or wait for it."""
    found = [consumer for t in op.outputs if t not in stop_at_ts for consumer in t.consumers()]
    return found + list(control_outputs.get(op) if control_outputs is not None else [])


def get_ops_ios(ops, control_inputs=False, control_outputs=None, control_ios=None):
    """The nodes that have an edge to or from one of `ops`."""
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    found = []
    for op in util.make_list_of_op(ops):
        util.concatenate_unique(found, [t.op for t in op.inputs])
        util.concatenate_unique(found, _after(op, control_outputs))
        if control_inputs:
            util.concatenate_unique(found, op.control_inputs)
    return found


def compute_boundary_ts(ops):
    """(tensors that `ops` take from others, tensors that they make and not only they take, tensors that go
    from one to another)."""
    ops = util.make_list_of_op(ops)
    taken, made, inside_ops = _get_input_ts(ops), _get_output_ts(ops), set(ops)
    taken_set, made_set = set(taken), set(made)
    inside = [t for t in taken if t in made_set]

    def is_only_inside(t):
        return t in taken_set and all(op in inside_ops for op in t.consumers())

    inputs = [t for t in taken if t not in made_set]
    return inputs, [t for t in made if not is_only_inside(t)], inside


def get_within_boundary_ops(
    ops,
    seed_ops,
    boundary_ops=(),
    inclusive=True,
    control_inputs=False,
    control_outputs=None,
    control_ios=None,
):
    """Those of `ops` that are reached from `seed_ops` along edges, in either direction, without going through
    `boundary_ops`. `inclusive`: with those of the boundary that are reached."""
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    ops = util.make_list_of_op(ops)
    found = util.concatenate_unique([], util.make_list_of_op(seed_ops, allow_graph=False))
    visited, boundary = set(found), set(util.make_list_of_op(boundary_ops))
    if boundary & visited:
        raise ValueError("Boundary is intersecting with the seeds.")
    reached = set()
    for op in found:  # which grows meanwhile
        for other in get_ops_ios(op, control_inputs, control_outputs):
            if other in boundary:
                reached.add(other)
            elif other not in visited:
                visited.add(other)
                found.append(other)
    if inclusive:
        visited |= reached
    return [op for op in ops if op in visited]


def get_forward_walk_ops(
    seed_ops, inclusive=True, within_ops=None, within_ops_fn=None, stop_at_ts=(), control_outputs=None
):
    """The nodes whose values come from `seed_ops`, nodes or tensors.

    Args:
      inclusive: whether the seeds (the consumers of seeds that are tensors) are among them.
      within_ops, within_ops_fn: nodes that the walk keeps to, as a list and as a function of a node.
      stop_at_ts: tensors that the walk does not go through.
      control_outputs: a ControlOutputs, to go along control edges too.
    """
    _, control_outputs = check_cios(False, control_outputs)
    seeds = list(seed_ops) if util.is_iterable(seed_ops) else [seed_ops]
    if not seeds:
        return []
    if isinstance(seeds[0], tf_ops.Tensor):
        seeds = util.get_consuming_ops(seeds)
    seeds = util.concatenate_unique([], util.make_list_of_op(seeds, allow_graph=False))
    stops = set(util.make_list_of_t(stop_at_ts))
    within = set(util.make_list_of_op(within_ops, allow_graph=False)) if within_ops else None
    if within is not None:
        seeds = [op for op in seeds if op in within]
    found, visited = list(seeds), set(seeds)
    for op in found:  # which grows meanwhile
        for consumer in _after(op, control_outputs, stops):
            if consumer in visited or (within is not None and consumer not in within):
                continue
            if within_ops_fn is None or within_ops_fn(consumer):
                visited.add(consumer)
                found.append(consumer)
    return found if inclusive else found[len(seeds) :]


def get_backward_walk_ops(
    seed_ops, inclusive=True, within_ops=None, within_ops_fn=None, stop_at_ts=(), control_inputs=False
):
    """The nodes from which the values of `seed_ops`, nodes or tensors, come."""
    return op_selector.get_backward_walk_ops(
        seed_ops, inclusive, within_ops, within_ops_fn, stop_at_ts, control_inputs
    )


def _walks(
    forward_seed_ops,
    backward_seed_ops,
    forward_inclusive,
    backward_inclusive,
    within_ops,
    within_ops_fn,
    cios,
):
    control_inputs, control_outputs = check_cios(*cios)
    forward = get_forward_walk_ops(
        forward_seed_ops, forward_inclusive, within_ops, within_ops_fn, control_outputs=control_outputs
    )
    backward = get_backward_walk_ops(
        backward_seed_ops, backward_inclusive, within_ops, within_ops_fn, control_inputs=control_inputs
    )
    return forward, backward


def get_walks_intersection_ops(
    forward_seed_ops,
    backward_seed_ops,
    forward_inclusive=True,
    backward_inclusive=True,
    within_ops=None,
    within_ops_fn=None,
    control_inputs=False,
    control_outputs=None,
    control_ios=None,
):
    """The nodes of a walk forward that are also in a walk backward."""
    forward, backward = _walks(
        forward_seed_ops,
        backward_seed_ops,
        forward_inclusive,
        backward_inclusive,
        within_ops,
        within_ops_fn,
        (control_inputs, control_outputs, control_ios),
    )
    backward = set(backward)
    return [op for op in forward if op in backward]


def get_walks_union_ops(
    forward_seed_ops,
    backward_seed_ops,
    forward_inclusive=True,
    backward_inclusive=True,
    within_ops=None,
    within_ops_fn=None,
    control_inputs=False,
    control_outputs=None,
    control_ios=None,
):
    """The nodes of a walk forward and of a walk backward."""
    forward, backward = _walks(
        forward_seed_ops,
        backward_seed_ops,
        forward_inclusive,
        backward_inclusive,
        within_ops,
        within_ops_fn,
        (control_inputs, control_outputs, control_ios),
    )
    return util.concatenate_unique(forward, backward)


def _select(args, kwargs, prefix, other_prefix, restrict, from_regex, make_list):
    graph, positive_filter = kwargs.pop("graph", None), kwargs.pop("positive_filter", None)
    restricted = kwargs.pop(restrict, False)
    for other in ("restrict_ops_regex", "restrict_ts_regex"):
        kwargs.pop(other, None)
    if kwargs:
        raise ValueError(f"Wrong keywords argument: {next(iter(kwargs))}.")
    if graph is not None and not isinstance(graph, tf_ops.Graph):
        raise TypeError(f"Expected a tf.Graph, got: {type(graph)}")
    found = []
    for arg in args:
        if can_be_regex(arg):
            if graph is None:
                raise ValueError("Use the keyword argument 'graph' to use regex.")
            regex = make_regex(arg)
            if regex.pattern.startswith(other_prefix):
                continue
            if restricted and not regex.pattern.startswith(prefix):
                continue
            chosen = from_regex(graph, regex)
        else:
            chosen = make_list(arg)
        util.concatenate_unique(found, [e for e in chosen if positive_filter is None or positive_filter(e)])
    return found


def select_ops(*args, **kwargs):
    """Nodes: those given, singly or in lists, among which tensors do not count, and those whose names match
    a regular expression.

    Keyword arguments: `graph`, which regular expressions need; `positive_filter`, a function of a node;
    `restrict_ops_regex`: only expressions that begin with (?#ops) count.
    """
    make_list = lambda arg: util.make_list_of_op(arg, ignore_ts=True)
    return _select(args, kwargs, "(?#ops)", "(?#ts)", "restrict_ops_regex", filter_ops_from_regex, make_list)


def select_ts(*args, **kwargs):
    """Tensors, as select_ops chooses nodes, with `restrict_ts_regex` and expressions that begin with
    (?#ts)."""
    make_list = lambda arg: util.make_list_of_t(arg, ignore_ops=True)
    return _select(args, kwargs, "(?#ts)", "(?#ops)", "restrict_ts_regex", filter_ts_from_regex, make_list)


def select_ops_and_ts(*args, **kwargs):
    """(nodes, tensors); a regular expression that tensors are to match begins with (?#ts)."""
    return (
        select_ops(*args, restrict_ops_regex=False, **kwargs),
        select_ts(*args, restrict_ts_regex=True, **kwargs),
    )
