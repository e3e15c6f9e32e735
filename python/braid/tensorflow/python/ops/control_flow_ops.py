"""Conditionals, loops and order: nodes that decide which nodes run.

A conditional is made of Switch and Merge nodes, a loop of Enter, Merge, LoopCond, Switch, NextIteration and
Exit nodes (Yu et al., Dynamic Control Flow in Large-Scale Machine Learning, EuroSys 2018). While a branch or
a body is built, the graph has a context; each new node is handed to it (`AddOp`), and it brings the node's
inputs in: through a Switch into a branch, through an Enter into a loop. Gradients are built by the engine
from these nodes alone, so the contexts serve building only.
"""

import abc
import collections
import contextlib
import functools

from braid.tensorflow.python.framework import composite_tensor
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_util as util
from braid.tensorflow.python.ops import gen_array_ops
from braid.tensorflow.python.ops import gen_control_flow_ops
from braid.tensorflow.python.ops import gen_logging_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import tensor_array_ops
from braid.tensorflow.python.ops.gen_control_flow_ops import *  # noqa: F401,F403
from braid.tensorflow.python.ops.gen_control_flow_ops import no_op
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util import tf_should_use
from braid.tensorflow.python.util.tf_export import tf_export

_builtin_tuple = tuple
MergeOutput = collections.namedtuple("Merge", ["output", "value_index"])


# ---- Nodes, of tensors, of references to variables and of values made of several tensors ----


def _each(value, plain, by_reference):
    """Applies `plain` to each tensor of a value, `by_reference` to references to variables."""
    value = ops.internal_convert_to_tensor_or_composite(value, as_ref=True)
    if isinstance(value, ops.Tensor):
        return (by_reference if value.dtype._is_ref_dtype else plain)(value)
    if not isinstance(value, composite_tensor.CompositeTensor):
        raise TypeError(f"'values' must be a Tensor or a CompositeTensor, but it is {type(value)}")
    return nest.map_structure(lambda x: _each(x, plain, by_reference), value, expand_composites=True)


def _Identity(data, name=None):
    """The same value; a reference to a variable stays one."""
    return _each(
        data,
        lambda x: array_ops.identity(x, name=name),
        lambda x: gen_array_ops.ref_identity(x, name=name),
    )


def _NextIteration(data, name=None):
    return _each(
        data,
        lambda x: gen_control_flow_ops.next_iteration(x, name=name),
        lambda x: gen_control_flow_ops.ref_next_iteration(x, name=name),
    )


def _Enter(
    data,
    frame_name,
    is_constant=False,
    parallel_iterations=10,
    use_ref=True,
    use_input_shape=True,
    name=None,
):
    """Brings `data` into the loop `frame_name`; a constant is there in every iteration."""

    def enter(x, make):
        result = make(x, frame_name, is_constant, parallel_iterations, name=name)
        if use_input_shape:
            result.set_shape(x.get_shape())
        return result

    return _each(
        data,
        lambda x: enter(x, gen_control_flow_ops.enter),
        lambda x: enter(x, gen_control_flow_ops.ref_enter if use_ref else gen_control_flow_ops.enter),
    )


def exit(data, name=None):  # noqa: A001
    """Takes `data` out of its loop."""
    return _each(
        data,
        lambda x: gen_control_flow_ops._exit(x, name),
        lambda x: gen_control_flow_ops.ref_exit(x, name),
    )


def switch(data, pred, dtype=None, name=None):
    """(data if not pred, data if pred); the other one of the two is dead: what takes it does not run."""
    with ops.name_scope(name, "Switch", [data, pred]) as name:
        data = ops.internal_convert_to_tensor_or_composite(data, dtype=dtype, name="data", as_ref=True)
        pred = ops.convert_to_tensor(pred, name="pred")
        if isinstance(data, ops.Tensor):
            return gen_control_flow_ops.switch(data, pred, name=name)
        if not isinstance(data, composite_tensor.CompositeTensor):
            raise TypeError(f"'data' must be a Tensor or a CompositeTensor, but it is {type(data)}")
        parts = [gen_control_flow_ops.switch(x, pred) for x in nest.flatten(data, expand_composites=True)]
        return _builtin_tuple(
            nest.pack_sequence_as(data, [p[i] for p in parts], expand_composites=True) for i in range(2)
        )


def _SwitchRefOrTensor(data, pred, name="Switch"):
    """As `switch`, on the device of `data`; a reference to a variable stays one."""
    data = ops.convert_to_tensor_or_composite(data, name="data")
    with ops.colocate_with(data, ignore_existing=True):
        if isinstance(data, ops.Tensor) and data.dtype._is_ref_dtype:
            return gen_control_flow_ops.ref_switch(data, pred, name=name)
        return switch(data, pred, name=name)


def merge(inputs, name=None):
    """The one of `inputs` that is not dead, and its index.

    Raises ValueError where an input is None, TypeError where they are not of one kind.
    """
    if any(x is None for x in inputs):
        raise ValueError("At least one of the merge inputs is None: %s" % inputs)
    with ops.name_scope(name, "Merge", inputs) as name:
        inputs = [ops.internal_convert_to_tensor_or_composite(x, as_ref=True) for x in inputs]
        if all(isinstance(x, ops.Tensor) for x in inputs):
            by_reference = all(x.dtype._is_ref_dtype for x in inputs)
            make = gen_control_flow_ops.ref_merge if by_reference else gen_control_flow_ops.merge
            return make(inputs, name)
        if all(isinstance(x, (ops.IndexedSlices, ops.Tensor)) for x in inputs):
            inputs = math_ops._as_indexed_slices_list(inputs, optimize=False)
        for x in inputs:
            if not isinstance(x, composite_tensor.CompositeTensor):
                raise TypeError(f"Type {type(x)} not supported")
        for x in inputs[1:]:
            nest.assert_same_structure(inputs[0], x, expand_composites=True)
        parts = zip(*(nest.flatten(x, expand_composites=True) for x in inputs))
        merged = [gen_control_flow_ops.merge(list(part)) for part in parts]
        whole = nest.pack_sequence_as(inputs[0], [m[0] for m in merged], expand_composites=True)
        return MergeOutput(whole, merged[0][1])


# ---- TensorArrays are their flows within contexts ----


def _convert_tensorarray_to_flow(value):
    return value.flow if isinstance(value, tensor_array_ops.TensorArray) else value


def _convert_flows_to_tensorarrays(templates, values):
    if len(templates) != len(values):
        raise ValueError(
            f"Lengths of original Tensor list and new list do not match: {len(templates)} vs. {len(values)}"
        )
    return [
        tensor_array_ops.build_ta_with_new_flow(t, v) if isinstance(t, tensor_array_ops.TensorArray) else v
        for t, v in zip(templates, values)
    ]


def _make_tensor_array(ta, t_or_flow):
    return tensor_array_ops.build_ta_with_new_flow(ta, t_or_flow)


# ---- Shapes of a loop's variables ----


def _ShapeLessThanOrEqual(shape1, shape2):
    """Whether every tensor of `shape1` has `shape2` too."""
    if shape2.dims is None:
        return True
    if shape1.ndims != shape2.ndims:
        return False
    return all(b.value is None or a.value == b.value for a, b in zip(shape1.dims, shape2.dims))


def _get_shape_invariant(var, shape=None):
    """The shapes that the tensors of a loop's variable keep; a list where it is made of several tensors.

    `shape` is the caller's: of a Tensor its shape, of a SparseTensor its dense shape, of IndexedSlices the
    shape of the values.
    """
    if isinstance(var, sparse_tensor.SparseTensor):
        given = var.dense_shape.get_shape() if shape is None else None
        if shape is not None and not isinstance(shape, tensor_shape.TensorShape):
            raise TypeError(f"'shape' must be a TensorShape, but it is {type(shape)}")
        rank = given if given is not None else tensor_shape.TensorShape([shape.ndims])
        return [tensor_shape.TensorShape([None, rank[0].value]), tensor_shape.TensorShape([None]), rank]
    if isinstance(var, ops.IndexedSlices):
        if shape is None:
            return [x.get_shape() for x in nest.flatten(var, expand_composites=True)]
        shape = tensor_shape.as_shape(shape)
        kept = [shape, tensor_shape.TensorShape([shape[0]])]
        return kept + ([tensor_shape.TensorShape([shape.ndims])] if var.dense_shape is not None else [])
    if isinstance(var, composite_tensor.CompositeTensor):
        if shape is not None:
            raise NotImplementedError(f"shape_invariants for a {type(var).__name__}: pass None")
        return [x.get_shape() for x in nest.flatten(var, expand_composites=True)]
    if isinstance(var, tensor_array_ops.TensorArray):
        return tensor_shape.TensorShape([]) if shape is None else shape
    return var.get_shape() if shape is None else shape


def _SetShapeInvariants(input_vars, enter_vars, shapes):
    """Gives the Enters of a loop's variables the shapes that these keep; ValueError where they begin
    otherwise.
    """
    for value, entered, shape in zip(input_vars, enter_vars, shapes):
        if not _ShapeLessThanOrEqual(value.get_shape(), shape):
            raise ValueError(
                f"The shape invariant specified for {value.name} is not compatible with the initial shape of the "
                f"loop variable. It enters the loop with shape {value.get_shape()}, but the specified shape "
                f"invariant is {shape}."
            )
        entered.set_shape(shape)


def _EnforceShapeInvariant(merge_var, next_var):
    """ValueError where the next value of a loop's variable may have another shape than the variable keeps."""
    if not isinstance(merge_var, ops.Tensor):
        for m, n in zip(*(nest.flatten(x, expand_composites=True) for x in (merge_var, next_var))):
            _EnforceShapeInvariant(m, n)
        return
    kept, after = merge_var.get_shape(), next_var.get_shape()
    if _ShapeLessThanOrEqual(after, kept):
        return
    enter = merge_var.op.inputs[0].op
    raise ValueError(
        f"Input tensor '{enter.inputs[0].name}' enters the loop with shape {kept}, but has shape {after} after one "
        "iteration. To allow the shape to vary across iterations, use the `shape_invariants` argument of "
        "tf.while_loop to specify a less-specific shape."
    )


def _AddNextAndBackEdge(m, v, enforce_shape_invariant=True):
    """Makes `v` the next value of the loop's variable whose Merge is `m`."""
    if isinstance(m, ops.Tensor):
        v = _NextIteration(ops.convert_to_tensor(v))
        if enforce_shape_invariant:
            _EnforceShapeInvariant(m, v)
        m.op._update_input(1, v)
        return v
    v = math_ops._as_indexed_slices(v, optimize=False) if isinstance(m, ops.IndexedSlices) else v
    nest.assert_same_structure(m, v, expand_composites=True)
    following = [
        _AddNextAndBackEdge(a, b, enforce_shape_invariant)
        for a, b in zip(*(nest.flatten(x, expand_composites=True) for x in (m, v)))
    ]
    return nest.pack_sequence_as(m, following, expand_composites=True)


def _names_of(value):
    return [x.name for x in nest.flatten(value, expand_composites=True)]


# ---- Contexts ----


class ControlFlowContext(metaclass=abc.ABCMeta):
    """What new nodes are in: a branch or a loop.

    `_values` has the names of the tensors that may be used within; `_external_values` leads from the name of
    a tensor outside to the tensor that it is within.
    """

    def __init__(self, values_def=None, import_scope=None):
        self._nested_contexts = []
        self._outer_context = ops.get_default_graph()._get_control_flow_context()
        if self._outer_context is not None:
            self._outer_context._nested_contexts.append(self)
        self._context_stack = []
        self._values, self._external_values = set(), {}
        if values_def is not None:
            self._init_values_from_proto(values_def, import_scope)

    # -- As messages --

    def _init_values_from_proto(self, values_def, import_scope=None):
        graph = ops.get_default_graph()
        self._values = {ops.prepend_name_scope(v, import_scope) for v in values_def.values}
        for outside, within in values_def.external_values.items():
            within = graph.as_graph_element(ops.prepend_name_scope(within, import_scope))
            self._external_values[ops.prepend_name_scope(outside, import_scope)] = within
        for name in sorted({v.split(":")[0] for v in self._values}):
            if name.startswith("^"):
                continue
            graph.as_graph_element(name)._set_control_flow_context(self)

    def _to_values_def(self, export_scope=None):
        values_def = _message("ValuesDef")()
        values_def.values.extend(ops.strip_name_scope(v, export_scope) for v in sorted(self._values))
        for outside, within in self._external_values.items():
            outside = ops.strip_name_scope(outside, export_scope)
            values_def.external_values[outside] = ops.strip_name_scope(within.name, export_scope)
        return values_def

    def _nested_to_proto(self, into, export_scope):
        for nested in self._nested_contexts:
            nested.to_control_flow_context_def(into.nested_contexts.add(), export_scope=export_scope)

    def _nested_from_proto(self, context_def, import_scope):
        self.Enter()
        for nested in context_def.nested_contexts:
            from_control_flow_context_def(nested, import_scope=import_scope)
        self.Exit()

    def to_control_flow_context_def(self, context_def, export_scope=None):
        """Writes itself into a ControlFlowContextDef."""
        raise NotImplementedError(f"{type(self).__name__} has no message")

    # -- What it is --

    @property
    def name(self):
        return self._name

    @property
    def outer_context(self):
        """The context around this one, or None."""
        return self._outer_context

    @property
    def grad_state(self):
        """None: gradients are built by the engine, without contexts."""
        return None

    @property
    def back_prop(self):
        return self._outer_context is not None and self._outer_context.back_prop

    def IsWhileContext(self):
        return False

    def IsCondContext(self):
        return False

    def IsXLAContext(self):
        return False

    def GetWhileContext(self):
        """The innermost loop around, itself included; or None."""
        return self._outer_context.GetWhileContext() if self._outer_context is not None else None

    def GetControlPivot(self):
        """The tensor whose node runs only where the context does; None: there is no such condition."""
        return None

    def __str__(self):
        return self.name

    # -- Being the graph's context --

    def Enter(self):
        """Makes it the context of new nodes."""
        graph = ops.get_default_graph()
        self._context_stack.append(graph._get_control_flow_context())
        graph._set_control_flow_context(self)

    def Exit(self):
        """Makes that the context of new nodes which was it before `Enter`."""
        ops.get_default_graph()._set_control_flow_context(self._context_stack.pop())

    def EnterGradientColocation(self, op, gradient_uid):
        if self._outer_context is not None:
            self._outer_context.EnterGradientColocation(op, gradient_uid)

    def ExitGradientColocation(self, op, gradient_uid):
        if self._outer_context is not None:
            self._outer_context.ExitGradientColocation(op, gradient_uid)

    # -- Nodes and tensors within --

    @abc.abstractmethod
    def AddValue(self, val):
        """The tensor within that has the value of `val`."""

    @abc.abstractmethod
    def AddOp(self, op):
        """Takes a new node in: its inputs become those of the context."""

    def AddInnerOp(self, op):
        """Hears of a node of a context within it."""
        if self._outer_context is not None:
            self._outer_context.AddInnerOp(op)

    def AddName(self, name):
        """Makes a tensor known by its name."""
        self._values.add(name)

    def ExitResult(self, result):
        """Makes the results known to the context around."""
        if self._outer_context is not None:
            for name in _names_of(result):
                self._outer_context.AddName(name)

    def _IsInOuterContext(self, op):
        return util.IsContainingContext(self.outer_context, util.GetOutputContext(op))

    def _RemoveExternalControlEdges(self, op):
        """Takes away the control inputs of `op` that come from outside of the innermost loop.

        Returns those that stay and those that were taken away.
        """
        loop = self.GetWhileContext()
        if loop is None:
            return list(op.control_inputs), []
        within, outside = [], []
        for x in op.control_inputs:
            context = util.GetOutputContext(x)
            is_within = context is not None and context.GetWhileContext() is loop
            (within if is_within else outside).append(x)
        if outside:
            op._remove_all_control_inputs()
            op._add_control_inputs(within)
        return within, outside

    def _known_outside(self, val):
        """`val` as the context around knows it."""
        if self._outer_context is None:
            return val
        known = self._outer_context.AddValue(val)
        self._values.add(known.name)
        return known

    def _announce(self, op):
        """Tells the graph and the context around of a node within."""
        if self._outer_context is not None or not util.IsLoopExit(op):
            op.graph.prevent_fetching(op)
            for x in op.outputs:
                op.graph.prevent_feeding(x)
        if self._outer_context is not None:
            self._outer_context.AddInnerOp(op)


def _message(name):
    from braid import protos

    return getattr(protos, name)


def _scoped_name(name, export_scope):
    return export_scope is None or name.startswith(export_scope)


class CondContext(ControlFlowContext):
    """A branch of a conditional.

    Args:
      pred: the condition, a boolean scalar.
      pivot: a tensor that is dead where the branch is not taken.
      branch: 1, the branch that is taken if the condition holds, or 0.
    """

    def __init__(
        self, pred=None, pivot=None, branch=None, name="cond_text", context_def=None, import_scope=None
    ):
        self._name = ops.get_default_graph().unique_name(name)
        if context_def is not None:
            self._init_from_proto(context_def, import_scope=import_scope)
            return
        ControlFlowContext.__init__(self)
        self._pred, self._pivot, self._branch = pred, pivot, branch
        self._values.update((pred.name, pivot.name))
        # The condition is known within as it is.
        self._external_values[pred.name] = pred
        pivot.op._set_control_flow_context(self)

    def _init_from_proto(self, context_def, import_scope=None):
        graph = ops.get_default_graph()

        def element(name):
            return graph.as_graph_element(ops.prepend_name_scope(name, import_scope))

        self._name = ops.prepend_name_scope(context_def.context_name, import_scope)
        self._pred = element(context_def.pred_name)
        self._pivot = element(context_def.pivot_name)
        self._branch = context_def.branch
        ControlFlowContext.__init__(self, context_def.values_def, import_scope)

    def to_proto(self, export_scope=None):
        """Itself as a CondContextDef; None where it is not in `export_scope`."""
        if not _scoped_name(self.name, export_scope):
            return None
        made = _message("CondContextDef")(
            context_name=ops.strip_name_scope(self.name, export_scope),
            pred_name=ops.strip_name_scope(self._pred.name, export_scope),
            pivot_name=ops.strip_name_scope(self._pivot.name, export_scope),
            branch=self._branch,
            values_def=self._to_values_def(export_scope),
        )
        self._nested_to_proto(made, export_scope)
        return made

    @staticmethod
    def from_proto(context_def, import_scope=None):
        context = CondContext(context_def=context_def, import_scope=import_scope)
        context._nested_from_proto(context_def, import_scope)
        return context

    def to_control_flow_context_def(self, context_def, export_scope=None):
        context_def.cond_ctxt.CopyFrom(self.to_proto(export_scope=export_scope))

    @property
    def pred(self):
        return self._pred

    @property
    def pivot(self):
        return self._pivot

    @property
    def branch(self):
        return self._branch

    @property
    def back_prop(self):
        loop = self.GetWhileContext()
        return loop is not None and loop.back_prop

    def IsCondContext(self):
        return True

    def GetControlPivot(self):
        return self._pivot

    def AddValue(self, val):
        if val.name in self._values:
            within = self._external_values.get(val.name)
            return val if within is None else within
        self._values.add(val.name)
        result = self._known_outside(val)
        with ops.control_dependencies(None):
            result = _SwitchRefOrTensor(result, self._pred)[self._branch]
            if self._outer_context is not None:
                self._outer_context.AddInnerOp(result.op)
        result.op.graph.prevent_fetching(result.op)
        result.op.graph.prevent_feeding(result)
        # The contexts around know it, so that a context within this one does not bring it in again; and the other
        # output, which gradients take.
        context = self
        while context is not None:
            context._values.update(x.name for x in result.op.outputs)
            context = context._outer_context
        self._external_values[val.name] = result
        return result

    def AddOp(self, op):
        self._AddOpInternal(op)

    def _AddOpInternal(self, op):
        if not op.inputs:
            self._RemoveExternalControlEdges(op)
            if not any(util.OpInContext(x, self) for x in op.control_inputs):
                op._add_control_input(self._pivot.op)
        else:
            for index, x in enumerate(list(op.inputs)):
                # A loop that is imported into this branch: its back edges are within already.
                if util.IsMerge(op) and x.op.type in ("NextIteration", "RefNextIteration"):
                    continue
                within = self.AddValue(x)
                if within is not x:
                    op._update_input(index, within)
            self._RemoveExternalControlEdges(op)
            if op.graph._is_function(op.type) or op.type == "SymbolicGradient":
                op._add_control_input(self._pivot.op)
        names = [x.name for x in op.outputs]
        context = self
        while context is not None:
            context._values.update(names)
            context = context._outer_context
        self._announce(op)

    def _ProcessOutputTensor(self, val):
        """A result of the branch as a tensor within it: also where the branch's function returns what is
        outside.
        """
        if val.name in self._values:
            within = self._external_values.get(val.name)
            return val if within is None else within
        self._values.add(val.name)
        real = val
        if self._outer_context is not None:
            real = self._known_outside(val)
            self._external_values[real.name] = real
        real = _SwitchRefOrTensor(real, self._pred)[self._branch]
        self._external_values[val.name] = real
        return real

    def _BuildCondTensor(self, v):
        if isinstance(v, ops.Operation):
            # Its place is taken by the pivot after it.
            return with_dependencies([v], self._pivot)
        v = _convert_tensorarray_to_flow(v)
        return self._ProcessOutputTensor(ops.convert_to_tensor(v))

    def BuildCondBranch(self, fn):
        """Builds the branch; returns what `fn` returned, and that as a structure of tensors within."""
        original = _call_and_keep_summaries(fn, lambda x: x)
        if original is None:
            return None, None
        result = nest.map_structure(self._BuildCondTensor, original, expand_composites=True)
        if not isinstance(result, (list, _builtin_tuple)):
            result = [result]
        return original, result


def _call_and_keep_summaries(fn, as_list):
    """Calls `fn`; summaries that it makes are evaluated with its results, not by those who collect summaries.

    A summary within a branch or a loop cannot be fetched, so it leaves the collection.
    """
    key = ops.GraphKeys._SUMMARY_COLLECTION
    before = ops.get_collection(key)
    result = as_list(fn())
    after = ops.get_collection(key)
    if len(after) <= len(before):
        return result
    ops.get_collection_ref(key)[:] = before
    with ops.control_dependencies(after[len(before) :]):
        if result is None:
            return no_op()
        if isinstance(result, ops.Operation):
            return group(result)
        return nest.map_structure(
            lambda x: x if isinstance(x, tensor_array_ops.TensorArray) else array_ops.identity(x),
            result,
            expand_composites=True,
        )


class WhileContext(ControlFlowContext):
    """A loop.

    Args:
      maximum_iterations: kept for those who ask; `while_loop` builds the bound into the condition.
      parallel_iterations: how many iterations may run at a time.
      back_prop: whether gradients go through the loop.
      swap_memory: kept for those who ask: the engine does not move values off a device.
    """

    def __init__(
        self,
        maximum_iterations=None,
        parallel_iterations=10,
        back_prop=True,
        swap_memory=False,
        name="while_context",
        grad_state=None,
        context_def=None,
        import_scope=None,
    ):
        del grad_state
        if context_def is not None:
            self._init_from_proto(context_def, import_scope=import_scope)
        else:
            ControlFlowContext.__init__(self)
            self._name = ops.get_default_graph().unique_name(name)
            self._maximum_iterations = maximum_iterations
            self._parallel_iterations = parallel_iterations
            self._back_prop, self._swap_memory = back_prop, swap_memory
            self._pivot_for_pred = self._pivot_for_body = self._pivot = None
            self._loop_exits, self._loop_enters = [], []
        self._graph = ops.get_default_graph()

    def _init_from_proto(self, context_def, import_scope=None):
        graph = ops.get_default_graph()

        def element(name):
            return graph.as_graph_element(ops.prepend_name_scope(name, import_scope)) if name else None

        self._name = ops.prepend_name_scope(context_def.context_name, import_scope)
        self._maximum_iterations = element(context_def.maximum_iterations_name)
        self._parallel_iterations = context_def.parallel_iterations
        self._back_prop, self._swap_memory = context_def.back_prop, context_def.swap_memory
        self._pivot_for_pred = element(context_def.pivot_for_pred_name)
        self._pivot_for_body = element(context_def.pivot_for_body_name)
        self._pivot = element(context_def.pivot_name)
        self._loop_exits = [element(name) for name in context_def.loop_exit_names]
        self._loop_enters = [element(name) for name in context_def.loop_enter_names]
        ControlFlowContext.__init__(self, context_def.values_def, import_scope)
        # The frame's name has the scope too: two imports of a loop are two loops.
        if import_scope:
            for name in sorted(self._values):
                op = graph.as_graph_element(name.split(":")[0])
                if util.IsLoopEnter(op):
                    frame = ops.prepend_name_scope(op.get_attr("frame_name").decode(), import_scope)
                    op._set_attr("frame_name", _message("AttrValue")(s=frame.encode()))

    def to_proto(self, export_scope=None):
        """Itself as a WhileContextDef; None where it is not in `export_scope`."""
        if not _scoped_name(self.name, export_scope):
            return None

        def name_of(x):
            return ops.strip_name_scope(x.name, export_scope) if x is not None else ""

        bound = self._maximum_iterations
        made = _message("WhileContextDef")(
            context_name=ops.strip_name_scope(self.name, export_scope),
            parallel_iterations=self._parallel_iterations,
            back_prop=self._back_prop,
            swap_memory=self._swap_memory,
            pivot_for_pred_name=name_of(self._pivot_for_pred),
            pivot_for_body_name=name_of(self._pivot_for_body),
            pivot_name=name_of(self._pivot),
            loop_exit_names=[name_of(x) for x in self._loop_exits],
            loop_enter_names=[name_of(x) for x in self._loop_enters],
            maximum_iterations_name=name_of(bound) if isinstance(bound, ops.Tensor) else "",
            values_def=self._to_values_def(export_scope),
        )
        self._nested_to_proto(made, export_scope)
        return made

    @staticmethod
    def from_proto(context_def, import_scope=None):
        context = WhileContext(context_def=context_def, import_scope=import_scope)
        context._nested_from_proto(context_def, import_scope)
        return context

    def to_control_flow_context_def(self, context_def, export_scope=None):
        context_def.while_ctxt.CopyFrom(self.to_proto(export_scope=export_scope))

    @property
    def maximum_iterations(self):
        return self._maximum_iterations

    @property
    def parallel_iterations(self):
        return self._parallel_iterations

    @property
    def back_prop(self):
        return self._back_prop

    @property
    def swap_memory(self):
        return self._swap_memory

    @property
    def pivot(self):
        """The LoopCond."""
        return self._pivot

    @property
    def loop_enters(self):
        return self._loop_enters

    @property
    def loop_exits(self):
        return self._loop_exits

    def IsWhileContext(self):
        return True

    def GetWhileContext(self):
        return self

    def GetControlPivot(self):
        return self._pivot_for_pred if self._pivot_for_body is None else self._pivot_for_body

    def AddValue(self, val):
        # A value of this loop that it was not told of is one that the engine's gradients made within it.
        if val.name in self._values or val.op._get_control_flow_context() is self:
            within = self._external_values.get(val.name)
            return val if within is None else within
        self._values.add(val.name)
        result = val if self._outer_context is None else self._outer_context.AddValue(val)
        with ops.control_dependencies(None):
            enter = _Enter(
                result, self._name, is_constant=True, parallel_iterations=self._parallel_iterations
            )
            enter.graph.prevent_feeding(enter)
            if self._outer_context is not None:
                self._outer_context.AddInnerOp(enter.op)
        self._FixControlInputsAndContext([enter])
        self._values.add(enter.name)
        self._external_values[val.name] = enter
        return enter

    def AddOp(self, op):
        self._AddOpInternal(op)

    def _AddOpInternal(self, op):
        if not op.inputs:
            within, outside = self._RemoveExternalControlEdges(op)
            if not within:
                op._add_control_input(self.GetControlPivot().op)
        else:
            for index, x in enumerate(list(op.inputs)):
                brought = self.AddValue(x)
                if brought is not x:
                    op._update_input(index, brought)
            _, outside = self._RemoveExternalControlEdges(op)
            self._MaybeAddControlDependency(op)
        self._values.update(x.name for x in op.outputs)
        if outside:
            # A control edge cannot enter a loop, but a value can: its Enter runs after the node outside.
            with ops.control_dependencies(None):
                self.Enter()
                outside = [array_ops.identity(x.outputs[0]).op for x in outside if x.outputs]
                self.Exit()
            op._add_control_inputs(outside)
        self._announce(op)

    def _MaybeAddControlDependency(self, op):
        """Keeps a node that takes only the loop's constants from running in an iteration that does not
        happen.
        """
        if not op.control_inputs and all(util.IsLoopConstantEnter(x.op) for x in op.inputs):
            op._add_control_input(self.GetControlPivot().op)

    def _InitializeValues(self, values):
        self._values = set(_names_of(values))

    def _FixControlInputsAndContext(self, enters):
        """Puts Enters into this loop, after the control dependencies that hold outside for their inputs."""
        graph = ops.get_default_graph()
        around = self.outer_context.GetWhileContext() if self.outer_context is not None else None
        for entered in enters:
            for x in nest.flatten(entered, expand_composites=True):
                controls = []
                for op in graph._control_dependencies_for_inputs([x.op.inputs[0].op]):
                    context, of_op = self.outer_context, util.GetOutputContext(op)
                    # Those of a context around this loop, up to the next loop, can be waited for.
                    while context is not of_op and context is not None and context is not around:
                        context = context.outer_context
                    if context is of_op:
                        controls.append(op)
                x.op._set_control_flow_context(self)
                x.op._add_control_inputs(controls)
                graph._record_op_seen_by_control_dependencies(x.op)

    def _enter_variables(self, loop_vars, shape_invariants):
        """The loop's variables at the start of an iteration: their Merges, which lack the next values."""
        self._InitializeValues(loop_vars)
        real = loop_vars
        if self._outer_context is not None:
            real = [self._outer_context.AddValue(x) for x in loop_vars]
        with ops.control_dependencies(None):
            enters = [
                _Enter(
                    x,
                    self._name,
                    is_constant=False,
                    parallel_iterations=self._parallel_iterations,
                    use_input_shape=shape_invariants is None,
                )
                for x in real
            ]
            for x in enters:
                x.graph.prevent_feeding(x)
                if self._outer_context is not None:
                    self._outer_context.AddInnerOp(x.op)
        pivot, context = None, self._outer_context
        while context is not None and pivot is None:
            pivot, context = context.GetControlPivot(), context.outer_context
        if pivot is not None:
            # A constant of the loop around is there in iterations that do not happen: this loop must not
            # begin.
            for x in enters:
                if util.IsLoopConstantEnter(x.op.inputs[0].op):
                    x.op._add_control_input(pivot.op)
        if shape_invariants is not None:
            _SetShapeInvariants(real, enters, shape_invariants)
        self._FixControlInputsAndContext(enters)
        self._InitializeValues(enters)
        self._loop_enters = enters
        merges = [merge([x, x])[0] for x in enters]
        self._pivot_for_pred = merges[0]
        return merges

    def _BuildLoop(self, pred, body, original_loop_vars, loop_vars, shape_invariants):
        """Builds the loop's nodes; returns what `body` returned, and the Exits."""
        templates = nest.flatten(original_loop_vars, expand_composites=True)

        def packed(flat):
            return nest.pack_sequence_as(
                structure=original_loop_vars,
                flat_sequence=_convert_flows_to_tensorarrays(templates, flat),
                expand_composites=True,
            )

        merges = self._enter_variables(loop_vars, shape_invariants)
        self._pivot = gen_control_flow_ops.loop_cond(
            ops.convert_to_tensor(pred(*packed(merges))), name="LoopCond"
        )
        switches = [_SwitchRefOrTensor(x, self._pivot) for x in merges]
        values = [_Identity(x[1]) for x in switches]
        self._pivot_for_body = values[0]
        given = packed(values)
        returned = _call_and_keep_summaries(
            lambda: body(*given), lambda x: x if nest.is_sequence_or_composite(x) else [x]
        )
        nest.assert_same_structure(list(given), list(returned), expand_composites=True)
        result = [_convert_tensorarray_to_flow(x) for x in nest.flatten(returned, expand_composites=True)]
        result = ops.convert_n_to_tensor_or_composite(result)
        if len(merges) != len(result):
            raise ValueError(
                "Number of inputs and outputs of body must match loop_vars: " f"{len(merges)}, {len(result)}"
            )
        following = [_AddNextAndBackEdge(m, v) for m, v in zip(merges, result)]
        exits = [exit(x[0]) for x in switches]
        self._loop_exits = exits
        for m, n in zip(merges, following):
            _EnforceShapeInvariant(m, n)
        self.ExitResult(exits)
        return returned, exits

    def BuildLoop(self, pred, body, loop_vars, shape_invariants, return_same_structure):
        """Builds the loop; returns the variables' last values, in the structure that `body` returned."""
        original = loop_vars
        flat = [_convert_tensorarray_to_flow(x) for x in nest.flatten(loop_vars, expand_composites=True)]
        flat = ops.convert_n_to_tensor_or_composite(flat)
        if shape_invariants is not None:
            shape_invariants = nest.flatten(shape_invariants)
        try:
            self.Enter()
            with _mutation_lock(ops.get_default_graph()):
                returned, exits = self._BuildLoop(pred, body, original, flat, shape_invariants)
        finally:
            self.Exit()
        templates = nest.flatten(returned, expand_composites=True)
        packed = nest.pack_sequence_as(
            structure=returned,
            flat_sequence=_convert_flows_to_tensorarrays(templates, exits),
            expand_composites=True,
        )
        if return_same_structure:
            return packed
        return packed[0] if len(exits) == 1 else packed


class _Frames:
    """Which loop the outputs of nodes are in, by the name of its frame; None: in none."""

    def __init__(self):
        self._of, self._enters = {}, {}
        self.loops = {}  # the WhileContexts by their names

    def of_context(self, context):
        loop = context.GetWhileContext() if context is not None else None
        if loop is None:
            return None
        self.loops[loop.name] = loop
        return loop.name

    def around(self, frame):
        """The frame that a frame is in."""
        loop = self.loops.get(frame)
        if loop is not None:
            return self.of_context(loop.outer_context)
        enter = self._enters.get(frame)
        return None if enter is None else self.of_output(enter.inputs[0].op)

    def of_output(self, op):
        passed = []
        while op not in self._of:
            context = util.GetOutputContext(op)
            source = op.inputs[0].op if op.inputs else next(iter(op.control_inputs), None)
            if context is not None or source is None:
                self._of[op] = self.of_context(context)
            elif util.IsLoopEnter(op):
                self._of[op] = op.get_attr("frame_name").decode()
                self._enters.setdefault(self._of[op], op)
            else:
                passed.append(op)
                op = source
        frame = self._of[op]
        for op in reversed(passed):
            if util.IsLoopExit(op):
                frame = self.around(frame)
            self._of[op] = frame
        return frame

    def of_node(self, op):
        """The frame that a node runs in, or brings a value into."""
        return self.of_output(op.inputs[0].op) if util.IsLoopExit(op) else self.of_output(op)


def adopt(context, new):
    """Takes the nodes of gradients, which the engine made outside of all contexts, into a context.

    They may have loops of their own: what is in them stays as it is. Nodes that were added to a loop outside of
    the context, and what these need, stay outside.
    """
    frames, here, loop = _Frames(), {None}, context.GetWhileContext()
    while loop is not None:
        here.add(loop.name)
        loop = loop.outer_context.GetWhileContext() if loop.outer_context is not None else None
    made = set(new)
    outside = set()
    waiting = [op for op in new if _is_outside(frames, here, context, op)]
    while waiting:
        op = waiting.pop()
        if op not in outside:
            outside.add(op)
            waiting += [x for x in [t.op for t in op.inputs] + op.control_inputs if x in made]
    # Where they are is asked before any is changed.
    runs_in = {op: frames.of_node(op) for op in new if op not in outside}
    leaves_to = {op: frames.of_output(op) for op in runs_in if util.IsLoopExit(op)}
    for op, frame in runs_in.items():
        if frame in here:
            op._set_control_flow_context(context)
            context.AddOp(op)
        elif util.IsLoopEnter(op):
            if frames.around(frame) in here:
                _enter_from(context, op)
        elif op in leaves_to and leaves_to[op] in here:
            around = context
            while around is not None:
                around.AddName(op.outputs[0].name)
                around = around.outer_context


def _is_outside(frames, here, context, op):
    """Whether a node was added to a loop that is not within `context`."""
    frame = frames.of_node(op)
    loop = frames.loops.get(frame)
    return loop is not None and frame not in here and not util.IsContainingContext(loop, context)


def _enter_from(context, op):
    """Brings the input of an Enter into the context that its loop is in."""
    value = op.inputs[0]
    within = context.AddValue(value)
    if within is not value:
        op._update_input(0, within)
    pivot = context.GetControlPivot()
    if pivot is not None and not op.control_inputs and util.IsLoopConstantEnter(within.op):
        op._add_control_input(pivot.op)


def _mutation_lock(graph):
    """Keeps runs of sessions from taking the graph while nodes in it are not yet connected."""
    lock = getattr(graph, "_mutation_lock", None)
    return lock() if lock is not None else contextlib.nullcontext()


class XLAControlFlowContext(ControlFlowContext):
    """A context of nodes that TensorFlow compiles by XLA; here they are ordinary nodes."""

    def __init__(self):
        super().__init__()
        self._name = "XLAControlFlowContext"

    def IsXLAContext(self):
        return True

    def AddOp(self, op):
        pass

    def AddValue(self, x):
        return x


# ---- Conditionals ----


def _UnpackIfSingleton(result):
    if isinstance(result, (list, _builtin_tuple)) and len(result) == 1:
        return result[0]
    return result


@tf_export(v1=["cond"])
def cond(pred, true_fn=None, false_fn=None, strict=False, name=None, fn1=None, fn2=None):
    """What `true_fn` returns if `pred` holds, else what `false_fn` returns.

    Only nodes made within a function belong to its branch: what they take from outside runs in any case.

    Args:
      pred: a boolean scalar, not a Python bool.
      true_fn: makes the values of one branch: a tensor, an operation, or a structure of them.
      false_fn: makes the values of the other, in the same structure and of the same types.
      strict: whether a list or tuple of one value stays one.
      name: of the nodes, "cond" if None.
      fn1, fn2: former names of `true_fn` and `false_fn`.

    Raises TypeError where a function is missing, ValueError where the branches do not fit.
    """
    if fn1 is not None:
        if true_fn is not None:
            raise TypeError("cond(): true_fn and fn1 may not be set simultaneously.")
        true_fn = fn1
    elif true_fn is None:
        raise TypeError("cond(): true_fn argument required")
    if fn2 is not None:
        if false_fn is not None:
            raise TypeError("cond(): false_fn and fn2 may not be set simultaneously.")
        false_fn = fn2
    elif false_fn is None:
        raise TypeError("cond(): false_fn argument required")
    if not callable(true_fn):
        raise TypeError("true_fn must be callable.")
    if not callable(false_fn):
        raise TypeError("false_fn must be callable.")
    with ops.name_scope(name, "cond", [pred]):
        if isinstance(pred, bool):
            raise TypeError("pred must not be a Python bool")
        if_false, if_true = switch(pred, pred)
        pivot_true = array_ops.identity(if_true, name="switch_t")
        pivot_false = array_ops.identity(if_false, name="switch_f")
        pred = array_ops.identity(pred, name="pred_id")
        for x in (if_true, if_false, pivot_true, pivot_false, pred):
            x.op.graph.prevent_fetching(x.op)
        context_true, original_true, result_true = _branch(pred, pivot_true, 1, true_fn, "true_fn")
        context_false, original_false, result_false = _branch(pred, pivot_false, 0, false_fn, "false_fn")
        if not strict:
            original_true, original_false = map(_UnpackIfSingleton, (original_true, original_false))
        try:
            nest.assert_same_structure(original_true, original_false, expand_composites=True)
        except (TypeError, ValueError) as e:
            raise type(e)(
                f"Incompatible return types of true_fn and false_fn: {e}"
                if isinstance(e, TypeError)
                else f"Incompatible return values of true_fn and false_fn: {e}"
            ) from None
        results = _merge_branches(result_true, result_false)
        templates = nest.flatten(original_true, expand_composites=True)
        results = _convert_flows_to_tensorarrays(templates, results)
        # Contexts within others are found through these.
        if context_true.outer_context is None:
            ops.add_to_collection(ops.GraphKeys.COND_CONTEXT, context_true)
            ops.add_to_collection(ops.GraphKeys.COND_CONTEXT, context_false)
        results = nest.pack_sequence_as(original_true, results, expand_composites=True)
        return results if strict else _UnpackIfSingleton(results)


def _branch(pred, pivot, which, fn, what):
    """The context of a branch, what its function returned, and that as tensors within the branch."""
    context = CondContext(pred, pivot, branch=which)
    try:
        context.Enter()
        original, result = context.BuildCondBranch(fn)
        if original is None:
            raise ValueError(f"{what} must have a return value.")
        context.ExitResult(result)
    finally:
        context.Exit()
    return context, original, result


def _merge_branches(result_true, result_false):
    flat = [nest.flatten(x, expand_composites=True) for x in (result_false, result_true)]
    for f, t in zip(*flat):
        if f.dtype.base_dtype != t.dtype.base_dtype:
            raise ValueError(
                f"Outputs of true_fn and false_fn must have the same type: {t.dtype.name}, {f.dtype.name}"
            )
    return [merge(pair)[0] for pair in zip(*flat)]


@tf_export("cond", v1=[])
def cond_for_tf_v2(pred, true_fn=None, false_fn=None, name=None):
    """`cond` as TensorFlow 2 has it: a list of one value stays a list."""
    return cond(pred, true_fn=true_fn, false_fn=false_fn, strict=True, name=name)


# ---- Loops ----


@tf_export(v1=["while_loop"])
def while_loop(
    cond,
    body,
    loop_vars,
    shape_invariants=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    name=None,
    maximum_iterations=None,
    return_same_structure=False,
):
    """Repeats `body` while `cond` holds, and returns the last values of `loop_vars`.

    Args:
      cond: a function of the variables; returns a boolean scalar.
      body: a function of the variables; returns their next values, in the same structure.
      loop_vars: the first values: a list, a tuple or a structure of tensors and TensorArrays.
      shape_invariants: the shapes that the variables keep, in their structure; None: those of the first
      values.
      parallel_iterations: how many iterations may run at a time.
      back_prop: whether gradients go through the loop.
      swap_memory: accepted; values are not moved off a device.
      name: of the nodes, "while" if None.
      maximum_iterations: a scalar: the most iterations; None: no bound.
      return_same_structure: whether a list of one value stays a list.

    Raises TypeError where `cond` or `body` is no function or `parallel_iterations` no positive number,
    ValueError where there are no variables or their shapes change against the invariants.
    """
    if not callable(cond):
        raise TypeError("cond must be callable.")
    if not callable(body):
        raise TypeError("body must be callable.")
    if parallel_iterations < 1:
        raise TypeError("parallel_iterations must be a positive integer.")
    with ops.name_scope(name, "while", loop_vars):
        if not loop_vars:
            raise ValueError("No loop variables provided")
        if maximum_iterations is not None:
            maximum_iterations = ops.convert_to_tensor(maximum_iterations, name="maximum_iterations")
            if maximum_iterations.shape.ndims != 0:
                raise ValueError(
                    f"maximum_iterations must be a scalar, saw shape: {maximum_iterations.shape}"
                )
            cond, body, loop_vars = _bounded(cond, body, loop_vars, maximum_iterations)
        if shape_invariants is not None:
            if maximum_iterations is not None:
                wrapped = shape_invariants
                if len(wrapped) == 1:
                    wrapped = wrapped[0]
                shape_invariants = (tensor_shape.TensorShape([]), wrapped)
            shape_invariants = _invariants_of(loop_vars, shape_invariants)
        context = WhileContext(
            maximum_iterations=maximum_iterations,
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
        )
        # Contexts within others are found through these.
        if context.outer_context is None:
            ops.add_to_collection(ops.GraphKeys.WHILE_CONTEXT, context)
        result = context.BuildLoop(cond, body, loop_vars, shape_invariants, return_same_structure)
        return result if maximum_iterations is None else result[1]


def _bounded(cond, body, loop_vars, maximum_iterations):
    """The loop with a counter as its first variable."""
    counter = constant_op.constant(0, dtype=maximum_iterations.dtype, name="iteration_counter")
    if len(loop_vars) == 1:
        return (
            lambda i, x: math_ops.logical_and(i < maximum_iterations, cond(x)),
            lambda i, x: (i + 1, body(x)),
            (counter, loop_vars[0]),
        )
    return (
        lambda i, x: math_ops.logical_and(i < maximum_iterations, cond(*x)),
        lambda i, x: (i + 1, body(*x)),
        (counter, loop_vars),
    )


def _invariants_of(loop_vars, shape_invariants):
    """The shapes that the tensors of the variables keep, as a flat list."""
    nest.assert_same_structure(loop_vars, shape_invariants, expand_composites=False)
    kept = []
    for var, shape in zip(nest.flatten(loop_vars), nest.flatten(shape_invariants)):
        if not isinstance(var, (tensor_array_ops.TensorArray, composite_tensor.CompositeTensor)):
            var = ops.convert_to_tensor_or_composite(var)
        of_var = _get_shape_invariant(var, shape)
        kept.extend(of_var if isinstance(of_var, list) else [tensor_shape.as_shape(of_var)])
    return kept


# ---- Order ----


def with_dependencies(dependencies, output_tensor, name=None):
    """`output_tensor`, available only after `dependencies` ran."""
    with ops.name_scope(name, "control_dependency", list(dependencies) + [output_tensor]) as name:
        with ops.colocate_with(output_tensor):
            with ops.control_dependencies(dependencies):
                output_tensor = ops.convert_to_tensor_or_composite(output_tensor)
                if isinstance(output_tensor, ops.IndexedSlices):
                    return ops.IndexedSlices(
                        _Identity(output_tensor.values, name=name),
                        output_tensor.indices,
                        output_tensor.dense_shape,
                    )
                return _Identity(output_tensor, name=name)


def _GroupControlDeps(dev, deps, name=None):
    with ops.control_dependencies(deps):
        if dev is None:
            return no_op(name=name)
        with ops.device(dev):
            return no_op(name=name)


@tf_export("group")
def group(*inputs, **kwargs):
    """An operation that has run when all `inputs` have; with one node for each device that they are on.

    Args:
      *inputs: operations and tensors, or structures of them.
      name: of the operation, "group_deps" if None.

    Raises TypeError where an input is something else, ValueError for an unknown argument.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError("Unknown keyword arguments: " + ", ".join(kwargs))
    with ops.name_scope(name, "group_deps", inputs) as name:
        if not inputs:
            return no_op(name=name)
        by_device = {}
        for x in nest.flatten(inputs, expand_composites=True):
            if not hasattr(x, "device"):
                raise TypeError(f"Expected tf.group() expected Tensor objects not None or {type(x)}: {x!r}")
            by_device.setdefault(x.device, []).append(x)
        if len(by_device) == 1:
            ((device, deps),) = by_device.items()
            return _GroupControlDeps(device, deps, name=name)
        nodes = [
            _GroupControlDeps(device, by_device[device])
            for device in sorted(by_device, key=lambda d: d or "")
        ]
        with ops.control_dependencies(nodes):
            return no_op(name=name)


@tf_export(v1=["tuple"])
def tuple(tensors, name=None, control_inputs=None):  # noqa: A001
    """`tensors`, each available only when all are; None stays None.

    Args:
      tensors: tensors, IndexedSlices, operations and None.
      name: of the nodes, "tuple" if None.
      control_inputs: operations and tensors to wait for too.

    Raises ValueError where there is nothing to wait for, TypeError for a wrong control input.
    """
    with ops.name_scope(name, "tuple", tensors) as name:
        tensors = [
            t
            if isinstance(t, ops.Operation) or tensor_util.is_tensor(t) or t is None
            else ops.convert_to_tensor(t)
            for t in tensors
        ]
        waited = [t if isinstance(t, ops.Operation) else t.op for t in tensors if t is not None]
        for c in control_inputs or ():
            if not isinstance(c, (ops.Operation, ops.Tensor)):
                raise TypeError(f"Control input must be Operation or Tensor: {c}")
            waited.append(c if isinstance(c, ops.Operation) else c.op)
        waited = sorted(set(waited), key=lambda op: op._id)
        if not waited:
            raise ValueError("Must have at least one Tensor: %s" % tensors)
        gate = group(*waited)
        made = []
        for t in tensors:
            if tensor_util.is_tensor(t):
                made.append(with_dependencies([gate], t))
            elif isinstance(t, ops.Operation):
                with ops.control_dependencies([gate]):
                    made.append(group(t))
            else:
                made.append(None)
        return made


# ---- Assertions ----


@tf_export("debugging.Assert", "Assert")
@tf_should_use.should_use_result
def Assert(condition, data, summarize=None, name=None):
    """An operation that fails with InvalidArgumentError, whose message has `data`, unless `condition` holds.

    Args:
      condition: a boolean scalar.
      data: tensors to show.
      summarize: how many elements of each are shown; 3 if None.
      name: of the nodes, "Assert" if None.
    """
    with ops.name_scope(name, "Assert", [condition, data]):
        values = ops.convert_n_to_tensor(data)
        # Strings and int32 are on the host in any case.
        if all(x.dtype in (dtypes.string, dtypes.int32) for x in values):
            return gen_logging_ops._assert(condition, data, summarize, name="Assert")
        condition = ops.convert_to_tensor(condition, name="Condition")

        def fail():
            return gen_logging_ops._assert(condition, data, summarize, name="Assert")

        return cond(condition, no_op, fail, name="AssertGuard").op


# ---- Cases ----


def _case_pairs(pred_fn_pairs, exclusive):
    """The conditions and functions of a list of pairs or of a dict, checked."""
    if not isinstance(pred_fn_pairs, (list, _builtin_tuple, dict)):
        raise TypeError("fns must be a list, tuple, or dict")
    if isinstance(pred_fn_pairs, dict):
        if not exclusive and not isinstance(pred_fn_pairs, collections.OrderedDict):
            logging.warn(
                "tf.case: a dictionary of predicate/function pairs without exclusive=True: the order of "
                "conditional tests is that of the dictionary."
            )
        pred_fn_pairs = list(pred_fn_pairs.items())
    for pair in pred_fn_pairs:
        if not isinstance(pair, _builtin_tuple) or len(pair) != 2:
            raise TypeError("Each entry in pred_fn_pairs must be a 2-tuple")
        pred, fn = pair
        if isinstance(pred, ops.Tensor):
            if pred.dtype != dtypes.bool:
                raise TypeError(f"pred must be Tensor of type bool: {pred.name}")
        elif not isinstance(pred, bool):
            raise TypeError(f"pred must be a Tensor, got: {pred}")
        if not callable(fn):
            raise TypeError(f"fn for pred {pred} must be callable.")
    return [list(part) for part in zip(*pred_fn_pairs)]


def _assert_at_most_n_true(predicates, n, msg):
    """An operation that fails where more than `n` predicates hold."""
    stacked = array_ops.stack(predicates, name="preds_c")
    count = math_ops.reduce_sum(math_ops.cast(stacked, dtypes.int32), name="num_true_conds")
    at_most = math_ops.less_equal(count, constant_op.constant(n, name="n_true_conds"))
    names = ", ".join(getattr(p, "name", "?") for p in predicates)
    what = ["%s: more than %d conditions (%s) evaluated as True:" % (msg, n, names), stacked]
    return Assert(at_most, data=what, summarize=len(predicates))


def _no_case_holds(predicates, actions):
    """The default of a case that has none: the last action, after a check that its condition alone holds.

    Returns it, and the conditions and actions that are left.
    """

    def default():
        others = (
            f"Implementation error: selected default action #{len(actions) - 1} was called, but some of other "
            "predicates are True: "
        )
        none = (
            "Input error: None of conditions evaluated as True:",
            array_ops.stack(predicates, name="preds_c"),
        )
        checks = [
            _assert_at_most_n_true(predicates[:-1], n=0, msg=others),
            Assert(predicates[-1], data=none),
        ]
        with ops.control_dependencies(checks):
            return actions[-1]()

    return default, predicates[:-1], actions[:-1]


def _case_helper(cond_fn, pred_fn_pairs, default, exclusive, name, allow_python_preds=False, **cond_kwargs):
    """Chains `cond_fn` over the pairs, the first of them outermost."""
    predicates, actions = _case_pairs(pred_fn_pairs, exclusive) if pred_fn_pairs else ([], [])
    with ops.name_scope(name, "case", [predicates]):
        if default is None:
            if not predicates:
                raise ValueError("pred_fn_pairs must not be empty without a default")
            default, predicates, actions = _no_case_holds(predicates, actions)
        if not callable(default):
            raise TypeError("default must be callable.")
        if not predicates:
            return default()
        checks = []
        if exclusive:
            checks.append(_assert_at_most_n_true(predicates, n=1, msg="Input error: exclusive=True"))
        fn = default
        for predicate, action in reversed(list(zip(predicates, actions))):
            fn = functools.partial(
                cond_fn, predicate, true_fn=action, false_fn=fn, name="cond", **cond_kwargs
            )
        with ops.control_dependencies(checks):
            return fn()


@tf_export(v1=["case"])
def case(pred_fn_pairs, default=None, exclusive=False, strict=False, name="case"):
    """What the function of the first condition that holds returns, else what `default` does.

    Args:
      pred_fn_pairs: pairs of a boolean scalar tensor and a function; a list, or a dict by the tensors.
      default: a function; None: one of the conditions must hold, else the step fails.
      exclusive: whether the step fails where several conditions hold.
      strict: as in `cond`.
      name: of the nodes.

    Raises TypeError for what is no such pair, ValueError where the functions' results do not fit.
    """
    return _case_helper(
        cond, pred_fn_pairs, default, exclusive, name, allow_python_preds=False, strict=strict
    )


@tf_export("switch_case")
def switch_case(branch_index, branch_fns, default=None, name="switch_case"):
    """What the function of number `branch_index` returns, else what `default` or the last function does.

    Args:
      branch_index: an int32 scalar tensor.
      branch_fns: functions, in a dict by their numbers, as a list of such pairs, or a list of functions.
      default: for numbers without a function; the function of the greatest number if None.
      name: of the nodes.
    """
    if isinstance(branch_index, ops.Tensor):
        if branch_index.dtype != dtypes.int32:
            raise TypeError(f"branch_index must be Tensor of type int32, got: {branch_index.dtype.name}")
    elif not isinstance(branch_index, int):
        raise TypeError(f"branch_index must be a Tensor, got {type(branch_index)}")
    if not branch_fns:
        raise ValueError("Must provide at least one item in branch_fns")
    if not isinstance(branch_fns, (list, _builtin_tuple, dict)):
        raise TypeError("branch_fns must be a list, tuple, or dict")
    if isinstance(branch_fns, dict):
        pairs = list(branch_fns.items())
    elif all(callable(fn) for fn in branch_fns):
        pairs = list(enumerate(branch_fns))
    else:
        pairs = list(branch_fns)
    for pair in pairs:
        if not isinstance(pair, _builtin_tuple) or len(pair) != 2:
            raise TypeError("Each entry in branch_fns must be a 2-tuple")
        if not isinstance(pair[0], int):
            raise TypeError(f"key must be a Python `int`, got {type(pair[0])}")
        if not callable(pair[1]):
            raise TypeError(f"fn for key {pair[0]} must be callable.")
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("switch_case: two functions have the same number")
    pairs.sort(key=lambda pair: pair[0])
    if default is None:
        default = pairs[-1][1]
        pairs = pairs[:-1]
    if not callable(default):
        raise TypeError("default must be callable.")
    with ops.name_scope(name, "case", [branch_index]):
        branch_index = ops.convert_to_tensor(branch_index, name="branch_index")
        fn = default
        for key, action in reversed(pairs):
            fn = functools.partial(_cond_of_number, branch_index, key, action, fn)
        return fn()


def _cond_of_number(branch_index, key, action, otherwise):
    return cond(math_ops.equal(branch_index, key), true_fn=action, false_fn=otherwise, strict=True)


# ---- Contexts as messages ----


def from_control_flow_context_def(context_def, import_scope=None):
    """The context that a ControlFlowContextDef describes."""
    if context_def.HasField("cond_ctxt"):
        return CondContext.from_proto(context_def.cond_ctxt, import_scope=import_scope)
    if context_def.HasField("while_ctxt"):
        return WhileContext.from_proto(context_def.while_ctxt, import_scope=import_scope)
    raise NotImplementedError(f"Unknown ControlFlowContextDef field: {context_def.WhichOneof('ctxt')}")


def _register_contexts():
    for key, name, context in (
        (ops.GraphKeys.COND_CONTEXT, "CondContextDef", CondContext),
        (ops.GraphKeys.WHILE_CONTEXT, "WhileContextDef", WhileContext),
    ):
        ops.register_proto_function(
            key, proto_type=_message(name), to_proto=context.to_proto, from_proto=context.from_proto
        )


_register_contexts()
