"""Nodes of a graph found by their edges: what makes a tensor, what uses it, what lies behind a node."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.util import object_identity


def is_differentiable(op):
    """Whether gradients go through a node: the engine or the program has a gradient of its type."""
    try:
        return ops.get_gradient_function(op) is not None
    except LookupError:
        return False


def is_iterable(obj):
    """Whether it can be iterated over; a tensor cannot."""
    if isinstance(obj, ops.Tensor):
        return False
    try:
        iter(obj)
    except Exception:
        return False
    return True


def concatenate_unique(la, lb):
    """Appends the elements of `lb` that `la` lacks to `la`, which it returns."""
    known = set(la)
    for element in lb:
        if element not in known:
            known.add(element)
            la.append(element)
    return la


def get_tensors(graph):
    """All outputs of the nodes of a graph."""
    if not isinstance(graph, ops.Graph):
        raise TypeError(f"Expected a graph, got: {type(graph)}")
    return [t for op in graph.get_operations() for t in op.outputs]


def get_unique_graph(tops, check_types=None, none_if_empty=False):
    """The graph of all nodes and tensors in `tops`; ValueError: they have several, or there are none."""
    if isinstance(tops, ops.Graph):
        return tops
    if not is_iterable(tops):
        raise TypeError(f"{type(tops)} is not iterable")
    if check_types is None:
        check_types = (ops.Operation, ops.Tensor)
    elif not is_iterable(check_types):
        check_types = (check_types,)
    graph = None
    for element in tops:
        if not isinstance(element, tuple(check_types)):
            names = ", ".join(str(t) for t in check_types)
            raise TypeError(f"Expected a type in ({names}), got: {type(element)}")
        if graph is None:
            graph = element.graph
        elif graph._graph_key != element.graph._graph_key:
            raise ValueError(f"Operation {element} does not belong to given graph")
    if graph is None and not none_if_empty:
        raise ValueError("Can't find the unique graph of an empty list")
    return graph


def check_graphs(*args):
    """ValueError: the arguments, which have a `graph`, are not all of one."""
    graph = None
    for i, element in enumerate(args):
        graph = element.graph if graph is None else graph
        if element.graph is not None and element.graph is not graph:
            raise ValueError(f"Argument[{i}]: Wrong graph!")


def _make_list(given, kind, all_of, check_graph, allow_graph, ignore_others):
    if isinstance(given, ops.Graph):
        if not allow_graph:
            raise TypeError("allow_graph is False: cannot convert a tf.Graph.")
        return all_of(given)
    given = list(given) if is_iterable(given) else [given]
    if given and check_graph:
        get_unique_graph(given, check_types=None if ignore_others else kind)
    return [element for element in given if isinstance(element, kind)]


def make_list_of_t(ts, check_graph=True, allow_graph=True, ignore_ops=False):
    """The tensors of a list, of a graph, or the one given. TypeError: an operation, unless `ignore_ops`."""
    return _make_list(ts, ops.Tensor, get_tensors, check_graph, allow_graph, ignore_ops)


def make_list_of_op(tops, check_graph=True, allow_graph=True, ignore_ts=False):
    """The nodes of a list, of a graph, or the one given. TypeError: a tensor, unless `ignore_ts`."""
    all_of = ops.Graph.get_operations
    return _make_list(tops, ops.Operation, all_of, check_graph, allow_graph, ignore_ts)


def get_generating_ops(ts):
    """The nodes that make the tensors."""
    return [t.op for t in make_list_of_t(ts, allow_graph=False)]


def get_consuming_ops(ts):
    """The nodes that take one of the tensors, each once."""
    consumers = [op for t in make_list_of_t(ts, allow_graph=False) for op in t.consumers()]
    return concatenate_unique([], consumers)


def get_backward_walk_ops(
    seed_ops,
    inclusive=True,
    within_ops=None,
    within_ops_fn=None,
    stop_at_ts=(),
    control_inputs=False,
    only_differentiable=False,
):
    """The nodes behind `seed_ops`, nodes or tensors, whose values come from them.

    Args:
      inclusive: whether the seeds themselves are among them.
      within_ops, within_ops_fn: nodes that the walk keeps to, as a list and as a function of a node.
      stop_at_ts: tensors that the walk does not go through.
      control_inputs: whether it goes along control inputs too.
      only_differentiable: whether it goes through nodes with gradients only, then along no control input.
    """
    seeds = list(seed_ops) if is_iterable(seed_ops) else [seed_ops]
    if not seeds:
        return []
    if isinstance(seeds[0], ops.Tensor):
        seeds = get_generating_ops(seeds)
    seeds = concatenate_unique([], make_list_of_op(seeds, allow_graph=False))
    stops = object_identity.ObjectIdentitySet(make_list_of_t(stop_at_ts))
    within = set(make_list_of_op(within_ops, allow_graph=False)) if within_ops else None
    if within is not None:
        seeds = [op for op in seeds if op in within]

    def before(op):
        if only_differentiable and not is_differentiable(op):
            return []
        makers = [t.op for t in op.inputs if t not in stops]
        return makers + (op.control_inputs if control_inputs and not only_differentiable else [])

    found, visited = list(seeds), set(seeds)
    for op in found:  # which grows meanwhile
        for maker in before(op):
            if maker in visited or (within is not None and maker not in within):
                continue
            if within_ops_fn is None or within_ops_fn(maker):
                visited.add(maker)
                found.append(maker)
    return found if inclusive else found[len(seeds) :]


class UnliftableError(Exception):
    """A tensor cannot be computed without a placeholder that is not given."""


def graph_inputs(op):
    """The nodes that a node waits for."""
    return [t.op for t in op.inputs] + list(op.control_inputs)


def map_subgraph(init_tensor, sources, disallowed_placeholders, visited_ops, op_outputs, add_sources):
    """Walks from a tensor or node back to `sources`.

    Adds each node to the set `visited_ops`, and to op_outputs[node] the nodes that take it. Returns the
    placeholders on the way that are no sources. UnliftableError: one of `disallowed_placeholders` is on the
    way, or, where that is None, any placeholder without `add_sources`.
    """
    first = init_tensor.op if isinstance(init_tensor, ops.Tensor) else init_tensor
    more, left = object_identity.ObjectIdentitySet(), [first]
    while left:
        op = left.pop()
        if op in visited_ops:
            continue
        visited_ops.add(op)
        refused = disallowed_placeholders is not None and op in disallowed_placeholders
        if op.type == "Placeholder" and not refused:
            refused = disallowed_placeholders is None and not add_sources
            more.update(op.outputs)
        if refused:
            raise UnliftableError(f"Unable to lift tensor {init_tensor!r} because it depends on {op!r}.")
        for maker in graph_inputs(op):
            op_outputs[maker].add(op)
            if maker not in visited_ops and maker not in (sources or more):
                left.append(maker)
    return more
