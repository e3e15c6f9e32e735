"""What new nodes are in while a branch of a conditional or a loop's body is built.

The graph has a context then, and each new node is handed to it (`AddOp`): it brings the node's inputs in,
through a Switch into a branch, through an Enter into a loop. Gradients are built by the engine from the nodes
alone, so contexts serve building only.
"""

import abc
import contextlib

from braid.tensorflow.python.framework import op_def_library
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_util as util
from braid.tensorflow.python.ops import gen_control_flow_ops
from braid.tensorflow.python.ops import tensor_array_ops
from braid.tensorflow.python.ops.control_flow_nodes import (
    _AddNextAndBackEdge,
    _convert_flows_to_tensorarrays,
    _convert_tensorarray_to_flow,
    _EnforceShapeInvariant,
    _Enter,
    _Identity,
    _names_of,
    _SetShapeInvariants,
    _SwitchRefOrTensor,
    exit,
    group,
    merge,
    with_dependencies,
)
from braid.tensorflow.python.ops.gen_control_flow_ops import no_op
from braid.tensorflow.python.util import nest


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

    def AddValue(self, val):
        """The tensor within that has the value of `val`."""
        raise NotImplementedError(f"{type(self).__name__}.AddValue")

    def AddOp(self, op):
        """Takes a new node in: its inputs become those of the context."""
        raise NotImplementedError(f"{type(self).__name__}.AddOp")

    @abc.abstractmethod
    def to_control_flow_context_def(self, context_def, export_scope=None):
        """Writes what it is into a ControlFlowContextDef."""
        raise NotImplementedError(f"{type(self).__name__}.to_control_flow_context_def")

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
        # The contexts around know it, so that a context within this one does not bring it in again; and the
        # other output, which gradients take.
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
            if op.type == "SymbolicGradient" or op_def_library.op_def_or_none(op.type) is None:
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
        if not isinstance(result, (list, tuple)):
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
      swap_memory: kept for those who ask, and in nodes: the engine does not move values off a device.
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
        if self._swap_memory:
            self._graph._swapping_loops.add(self._name)

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
        if not self._back_prop:
            graph._exits_without_gradient.extend(self._loop_exits)
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
        if not self._back_prop:
            ops.get_default_graph()._exits_without_gradient.extend(exits)
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

    They may have loops of their own: what is in them stays as it is. Nodes that were added to a loop outside
    of the context, and what these need, stay outside.
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
        if frame in here:  # all are known before the first is taken: what brings an input in comes later
            op._set_control_flow_context(context)
            for x in op.outputs:
                context.AddName(x.name)
    for op, frame in runs_in.items():
        if frame in here:
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

    def to_control_flow_context_def(self, context_def, export_scope=None):
        """Refused: it has no message."""
        super().to_control_flow_context_def(context_def, export_scope)

    def IsXLAContext(self):
        return True

    def AddOp(self, op):
        pass

    def AddValue(self, x):
        return x


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
