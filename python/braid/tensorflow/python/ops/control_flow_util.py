"""Questions about nodes and contexts of conditionals and loops."""

from braid.tensorflow.python.util.tf_export import tf_export

# Braid builds conditionals and loops of Switch and Merge only: gradients are built through these.
ENABLE_CONTROL_FLOW_V2 = False


def EnableControlFlowV2(graph):
    """Whether `cond` and `while_loop` make If and While nodes in `graph`: never in Braid."""
    del graph
    return False


@tf_export(v1=["enable_control_flow_v2"])
def enable_control_flow_v2():
    """Refused: Braid builds conditionals and loops of Switch, Merge, Enter and Exit nodes."""
    raise NotImplementedError(
        "tf.enable_control_flow_v2: Braid's tf.cond and tf.while_loop build Switch, Merge, Enter and Exit nodes; "
        "If and While nodes are made by braid.tensorflow.python.ops.functional_ops"
    )


@tf_export(v1=["disable_control_flow_v2"])
def disable_control_flow_v2():
    """Nothing to do: conditionals and loops are always built of Switch, Merge, Enter and Exit nodes."""


@tf_export(v1=["control_flow_v2_enabled"])
def control_flow_v2_enabled():
    """False: see `disable_control_flow_v2`."""
    return False


# ---- Kinds of nodes ----


def IsSwitch(op):
    return op.type in ("Switch", "RefSwitch")


def IsMerge(op):
    return op.type in ("Merge", "RefMerge")


def IsLoopEnter(op):
    return op.type in ("Enter", "RefEnter")


def IsLoopExit(op):
    return op.type in ("Exit", "RefExit")


def IsCondSwitch(op):
    """Whether `op` is a Switch of a conditional; a Switch without consumers belongs to one."""
    if not IsSwitch(op):
        return False
    if not op.outputs:
        return False
    is_cond = True
    for output in op.outputs:
        for consumer in output.consumers():
            context = consumer._get_control_flow_context()
            if IsLoopEnter(consumer):
                context = context.outer_context if context is not None else None
            is_cond = is_cond and context is not None and context.IsCondContext()
    return is_cond


def IsCondMerge(op):
    """Whether `op` is a Merge that no loop feeds back to."""
    return IsMerge(op) and bool(op.inputs) and all(x.op.type not in _NEXT for x in op.inputs)


def IsLoopSwitch(op):
    """Whether `op` is a Switch of a loop's variable."""
    if not IsSwitch(op):
        return False
    context = op._get_control_flow_context()
    return context is not None and context.IsWhileContext() and not IsCondSwitch(op)


def IsLoopMerge(op):
    """Whether `op` is the Merge of a loop's variable."""
    return IsMerge(op) and any(x.op.type in _NEXT for x in op.inputs)


_NEXT = ("NextIteration", "RefNextIteration")


def IsLoopConstantEnter(op):
    """Whether `op` brings a value that does not change into a loop."""
    return IsLoopEnter(op) and op.get_attr("is_constant")


_PASSES_ON = ("Switch", "RefSwitch", "Identity", "RefIdentity", "Enter", "RefEnter")


def GetLoopConstantEnter(value):
    """The Enter of a loop's constant that `value` is, through Identity and Switch nodes; or None."""
    op = value.op
    while op.type in _PASSES_ON and not IsLoopConstantEnter(op):
        if not op.inputs:
            return None
        op = op.inputs[0].op
    return op if IsLoopConstantEnter(op) else None


# ---- Contexts ----


def GetOutputContext(op):
    """The context that the outputs of `op` are in: that of an Exit is the one around its loop."""
    context = op._get_control_flow_context()
    if context is not None and IsLoopExit(op):
        context = context.outer_context
    return context


def _containing(context, stop, wanted):
    while context is not None:
        if wanted(context) or context is stop:
            return context
        context = context.outer_context
    return None


def GetContainingWhileContext(ctxt, stop_ctxt=None):
    """The innermost loop around `ctxt`, itself included; `stop_ctxt` if that comes first; or None."""
    return _containing(ctxt, stop_ctxt, lambda c: c.IsWhileContext())


def GetContainingCondContext(ctxt):
    """The innermost branch of a conditional around `ctxt`, itself included; or None."""
    return _containing(ctxt, None, lambda c: c.IsCondContext())


def GetContainingXLAContext(ctxt):
    """The innermost context of XLA around `ctxt`, itself included; or None."""
    return _containing(ctxt, None, lambda c: c.IsXLAContext())


def IsContainingContext(ctxt, maybe_containing_ctxt):
    """Whether `maybe_containing_ctxt` is `ctxt` or around it."""
    while ctxt is not maybe_containing_ctxt:
        if ctxt is None:
            return False
        ctxt = ctxt.outer_context
    return True


def IsInWhileLoop(op):
    return GetContainingWhileContext(op._get_control_flow_context()) is not None


def IsInCond(op):
    return GetContainingCondContext(op._get_control_flow_context()) is not None


def IsInXLAContext(op):
    return GetContainingXLAContext(op._get_control_flow_context()) is not None


def InXlaContext(graph):
    return GetContainingXLAContext(graph._get_control_flow_context()) is not None


def GraphOrParentsInXlaContext(graph):
    while graph is not None:
        if InXlaContext(graph):
            return True
        graph = getattr(graph, "outer_graph", None)
    return False


def OpInContext(op, ctxt):
    return IsContainingContext(op._get_control_flow_context(), ctxt)


def TensorInContext(tensor, ctxt):
    return OpInContext(tensor.op, ctxt)


def GetWhileContext(op):
    """The loop that `op` is in, or None."""
    context = op._get_control_flow_context()
    return context.GetWhileContext() if context is not None else None


def CheckInputFromValidContext(op, input_op):
    """Raises ValueError where `op` takes a value of a loop that it is not in."""
    check_input(op.name, op.type, op._get_control_flow_context(), input_op)


def check_input(name, op_type, context, input_op):
    """As `CheckInputFromValidContext`, of a node that is to be made in a context."""
    input_context = GetOutputContext(input_op)
    if input_context is None or input_context is context:
        return
    loop, input_loop = GetContainingWhileContext(context), GetContainingWhileContext(input_context)
    # A value of a branch may be used outside of it: the step fails if the branch is not taken.
    if input_loop is None or IsContainingContext(loop, input_loop):
        return
    # The Enter of a loop and the Switch of a branch are made outside of all contexts and get theirs later.
    if loop is None and op_type in ("Enter", "RefEnter", "Switch", "RefSwitch"):
        return
    if loop is None:
        why = f"'{input_op.name}' is in a while loop"
    elif IsContainingContext(input_loop, loop):
        why = f"'{input_op.name}' is in a while loop within that of '{name}'"
    else:
        why = "they are in different while loops"
    raise ValueError(
        f"Cannot use '{input_op.name}' as input to '{name}' because {why}. See info log for more details."
    )
