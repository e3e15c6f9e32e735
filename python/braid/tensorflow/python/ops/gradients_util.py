"""Symbolic gradients: the engine's walk over the graph, with the program's own gradient functions in it."""

import contextlib

from braid import _native
from braid.tensorflow.python.framework import constant_op, dtypes, ops
from braid.tensorflow.python.ops import control_flow_util
from braid.tensorflow.python.ops.unconnected_gradients import UnconnectedGradients


def _to_native(grad):
    """A gradient as the engine takes it: None, a pair, or the triple of rows."""
    if grad is None:
        return None
    if isinstance(grad, ops.IndexedSlices):
        shape = grad.dense_shape
        return (
            grad.values._pair,
            ops.convert_to_tensor(grad.indices)._pair,
            None if shape is None else ops.convert_to_tensor(shape)._pair,
        )
    return ops.convert_to_tensor(grad)._pair


def _from_native(graph, grad):
    if grad is None:
        return None
    if isinstance(grad[0], tuple):
        values, indices, shape = (None if part is None else graph._tensor_of(part) for part in grad)
        return ops.IndexedSlices(values, indices, shape)
    return graph._tensor_of(grad)


def engine_gradient(op, *grads):
    """The gradients of an op's inputs from those of its outputs, as the engine makes them."""
    graph = op.graph
    first = len(graph._native)
    try:
        found = op._native.gradient([_to_native(g) for g in grads])
    except _native.Error as error:
        raise _explained(error) from None
    _take(graph, first)
    return [_from_native(graph, g) for g in found]


def _take(graph, first, taken=()):
    """Gives the nodes that the engine has made from number `first` on what the scopes give to new ones."""
    graph._sync()
    made = [op for op in graph._nodes[first:] if op._frames is None]  # the others are the program's
    graph._adopt(first, taken)
    graph._place(made)
    if graph._swapping_loops:
        _mark_swapping(graph, [op for op in made if op.type == "StackPushV2"])


def _mark_swapping(graph, pushes):
    """What loops with swap_memory=True push bears that attribute."""
    from braid.protos import AttrValue

    for op in pushes:
        enter = op.inputs[0].op
        while enter.type == "Switch":  # into a branch
            enter = enter.inputs[0].op
        if enter.get_attr("frame_name").decode() in graph._swapping_loops:
            op._set_attr("swap_memory", AttrValue(b=True))


def _explained(error):
    if error.args[0] == 5:  # NOT_FOUND: an op on a path has no gradient
        return LookupError(error.args[1])
    if error.args[0] == 12 and "Second-order" in error.args[1]:
        return TypeError(error.args[1])
    return ops._building_error(error)


class _Caller:
    """Calls the program's gradient functions from the engine's walk."""

    def __init__(self, graph, xs):
        self.graph, self.xs = graph, xs
        self.taken = set()

    def __call__(self, native, grads):
        graph = self.graph
        graph._sync()
        op = graph._nodes[native.index]
        if self._enters_this_loop(op):
            return list(grads)
        self._check_is_no_variable_of_this_loop(op)
        function = self._function(op)
        if function is ops._NOT_REGISTERED:
            return None
        if function is None:
            return [None] * len(op.inputs)
        given = [_from_native(graph, g) for g in grads]
        with graph.name_scope(f"{op.name}_grad"), graph._original_op(op):
            for i, grad in enumerate(given):
                if grad is None and op.outputs[i].dtype.base_dtype in _WITH_GRADIENT:
                    from braid.tensorflow.python.ops import array_ops

                    given[i] = array_ops.zeros_like(op.outputs[i])
            made = function(op, *given)
        if not isinstance(made, (list, tuple)):
            made = [made]
        if len(made) != len(op.inputs):
            raise ValueError(
                f"Num gradients {len(made)} generated for op {op.node_def} do not match num inputs {len(op.inputs)}"
            )
        return [_to_native(g) for g in made]

    def take(self, native):
        """Takes a node of the walk into the context that the program builds."""
        graph = self.graph
        graph._sync()
        op, context = graph._nodes[native.index], graph._get_control_flow_context()
        if graph._scopes.controls:
            graph._add_scope_controls(op, set())
        with graph.name_scope(f"{op.name}/"):
            op._set_control_flow_context(context)
            first = len(graph._native)
            context.AddOp(op)
            graph._record_op_seen_by_control_dependencies(op)
            self.taken.update((op, *graph._nodes[first:]))  # and what brings its inputs in

    def conditions(self):
        """The conditions of the branches that the program is in."""
        context, found = self.graph._get_control_flow_context(), []
        while context is not None:
            if context.IsCondContext():
                found.append(context.pred._pair)
            context = context.outer_context
        return found

    def _enters_this_loop(self, op):
        """Whether a value comes into the loop that the program is building: gradients are built within it too."""
        context = self.graph._get_control_flow_context()
        if context is None or op.type not in ("Enter", "RefEnter"):
            return False
        return control_flow_util.IsContainingContext(context, op._get_control_flow_context())

    def _check_is_no_variable_of_this_loop(self, op):
        """ValueError: the gradient goes back to the first value of a variable of the loop that is being built."""
        loop = self.graph._get_control_flow_context()
        loop = loop.GetWhileContext() if loop is not None else None
        if loop is not None and op.type in ("Merge", "RefMerge") and op._get_control_flow_context() is loop:
            if not any(x.op.type not in ("Enter", "RefEnter") for x in op.inputs):
                names = "', '".join(x.op.name for x in self.xs)
                raise ValueError(
                    f"Cannot compute gradient inside while loop with respect to op '{names}'. We do not support "
                    "taking the gradient wrt or through the initial value of a loop variable. Gradients can be "
                    "computed through loop invariants or wrt the input parameters to the loop body."
                )

    def _function(self, op):
        own = getattr(op, "_gradient_function", None)
        if own is not None:
            return own
        function = self.graph._get_function(op.type)
        if function is not None and getattr(function, "python_grad_func", None) is not None:
            return function.python_grad_func
        return ops._registered_gradient(op)


# Types that have gradients: nothing flows through others.
_WITH_GRADIENT = frozenset(
    dtypes.as_dtype(name) for name in ("float16", "float32", "float64", "bfloat16", "complex64", "complex128")
)


def _has_gradient(dtype):
    return dtype.base_dtype in _WITH_GRADIENT or dtype.base_dtype in (dtypes.resource, dtypes.variant)


def _needs_caller(graph):
    """Whether any node may have a gradient function of the program's."""
    return bool(
        ops._gradient_registry._registry
        or graph._functions
        or graph._uses_own_gradients
        or graph._get_control_flow_context()
    )


def _listed(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _as_source(x, name):
    """What the engine differentiates by: a resource variable's handle, a variable's reference."""
    if (
        hasattr(x, "handle")
        and isinstance(getattr(x, "handle"), ops.Tensor)
        and x.handle.dtype == dtypes.resource
    ):
        return x.handle
    return ops.internal_convert_to_tensor_or_indexed_slices(x, name=name, as_ref=True)


def _are_outside(function, values):
    """Whether values are of the graph that a function is being built in, not of its body."""
    outer = getattr(function, "outer_graph", None)
    return outer is not None and all(getattr(value, "graph", outer) is not function for value in values)


def _within(function, source):
    """What has the value of a tensor from outside in a function's body, if that has it."""
    captured = getattr(function, "_captured", {}).get(id(source))
    return source if captured is None else captured[1]


def _GradientsHelper(
    ys,
    xs,
    grad_ys=None,
    name="gradients",
    colocate_gradients_with_ops=False,
    gate_gradients=False,
    aggregation_method=None,
    stop_gradients=None,
    unconnected_gradients=UnconnectedGradients.NONE,
    src_graph=None,
):
    try:
        unconnected = UnconnectedGradients(unconnected_gradients)
    except ValueError:
        raise ValueError(f"Unknown value for unconnected_gradients: {unconnected_gradients!r}") from None
    method = AggregationMethod.DEFAULT if aggregation_method is None else aggregation_method
    if method not in (
        AggregationMethod.ADD_N,
        AggregationMethod.EXPERIMENTAL_TREE,
        AggregationMethod.EXPERIMENTAL_ACCUMULATE_N,
    ):
        raise ValueError(f"Invalid aggregation_method specified {method}.")
    graph = src_graph or ops.get_default_graph()
    graph._check_not_finalized()
    ys, given_xs = _listed(ys), _listed(xs)
    grad_ys = [None] * len(ys) if grad_ys is None else _listed(grad_ys)
    if len(grad_ys) != len(ys):
        raise ValueError(f"{len(grad_ys)} grad_ys for {len(ys)} ys")
    stops = [] if stop_gradients is None else _listed(stop_gradients)
    if graph._building_function and _are_outside(graph, ys + given_xs + stops):
        with graph.outer_graph.as_default():
            return _GradientsHelper(
                ys,
                given_xs,
                grad_ys,
                name,
                colocate_gradients_with_ops,
                gate_gradients,
                method,
                stops,
                unconnected,
            )
    values = ys + given_xs + stops + [g for g in grad_ys if g is not None]
    with ops.name_scope(name, "gradients", values) as scope:
        ys = [ops.convert_to_tensor_or_indexed_slices(y, name=f"y_{i}") for i, y in enumerate(ys)]
        ys = [y.values if isinstance(y, ops.IndexedSlices) else y for y in ys]
        sources = [_as_source(x, f"x_{number}") for number, x in enumerate(given_xs)]
        sources = [x.values if isinstance(x, ops.IndexedSlices) else x for x in sources]
        sources = [_within(graph, x) if x.graph is not graph else x for x in sources]
        stops = [_as_source(s, None) for s in stops] + graph._exits_without_gradient
        grad_ys = _initial_gradients(grad_ys, ys, colocate_gradients_with_ops)
        first = len(graph._native)
        caller = _Caller(graph, sources) if _needs_caller(graph) else None
        chosen = {} if method == AggregationMethod.DEFAULT else {"aggregation": method}
        if graph._get_control_flow_context() is not None:
            chosen.update(take=caller.take, conditions=caller.conditions())
        differentiable = [x for x in sources if _has_gradient(x.dtype)]
        try:
            found = graph._native.gradients(
                [y._pair for y in ys],
                [x._pair for x in differentiable],
                [_to_native(g) for g in grad_ys],
                [s._pair for s in stops],
                scope,
                bool(gate_gradients),
                bool(colocate_gradients_with_ops),
                caller,
                **chosen,
            )
        except _native.Error as error:
            raise _explained(error) from None
        _take(graph, first, () if caller is None else caller.taken)
        made = iter([_from_native(graph, g) for g in found])
        results = [
            next(made) if _has_gradient(x.dtype) else _gradient_of_itself(x, ys, grad_ys) for x in sources
        ]
        for grad, x, source in zip(results, given_xs, sources):
            if isinstance(grad, ops.Tensor) and hasattr(x, "shape") and source.dtype != dtypes.variant:
                grad.set_shape(x.shape)
    if unconnected is UnconnectedGradients.ZERO:
        from braid.tensorflow.python.ops import array_ops

        results = [
            array_ops.zeros_like(x if source.dtype == dtypes.resource else source) if g is None else g
            for g, x, source in zip(results, given_xs, sources)
        ]
    return results


def _gradient_of_itself(x, ys, grad_ys):
    """Of an x of a type without gradients: that by itself, None where it is no y."""
    from braid.tensorflow.python.ops import array_ops

    same = [array_ops.ones_like(x) if g is None else g for y, g in zip(ys, grad_ys) if y is x]
    return same[0] if same else None


def _initial_gradients(grads, ys, colocate):
    """The gradients to begin with, as the engine takes them: it makes the ones itself when none is given."""
    for grad, y in zip(grads, ys):
        if grad is None and y.dtype.is_complex:
            raise TypeError(f"Gradients of complex tensors must set grad_ys (y.dtype = {y.dtype!r})")
    if all(grad is None for grad in grads):
        return list(grads)
    grads = [
        None if grad is None else ops.convert_to_tensor_or_indexed_slices(grad, name=f"grad_y_{i}")
        for i, grad in enumerate(grads)
    ]
    made = []
    for number, (grad, y) in enumerate(zip(grads, ys)):
        with ops.colocate_with(y.op) if colocate else contextlib.nullcontext():
            made.append(_initial_gradient(grad, y, number))
    return made


def _initial_gradient(grad, y, number):
    """A gradient of a y as a node in the scope of the gradients: arrays know by it whose theirs are."""
    from braid.tensorflow.python.ops import array_ops

    if grad is None:
        shape = array_ops.shape(y)
        return array_ops.fill(shape, constant_op.constant(1, dtype=y.dtype, name=f"grad_ys_{number}"))
    if grad.dtype.base_dtype != y.dtype.base_dtype:
        raise TypeError(
            f"Gradient type {grad.dtype.name} generated for tensor {y} with type {y.dtype.name} does not match"
        )
    if isinstance(grad, ops.IndexedSlices):
        parts = {
            name: None if part is None else array_ops.identity(part, name=f"grad_ys_{number}_{name}")
            for name, part in (
                ("indices", grad.indices),
                ("values", grad.values),
                ("shape", grad.dense_shape),
            )
        }
        return ops.IndexedSlices(parts["values"], parts["indices"], parts["shape"])
    return array_ops.identity(grad, name=f"grad_ys_{number}")


class AggregationMethod:
    """How gradients of several paths are added up; those of rows are always joined.

    ADD_N: by a tf.add_n on each device, then one of their sums. EXPERIMENTAL_TREE: one after the other, so
    that each can be freed before the next is there. EXPERIMENTAL_ACCUMULATE_N: by a tf.accumulate_n where
    there are more than two and their shape is known, otherwise one after the other.
    """

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2
