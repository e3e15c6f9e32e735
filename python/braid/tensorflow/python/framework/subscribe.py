"""Has nodes run whenever a tensor is used: all that use the tensor take an Identity that waits for them."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops, variables
from braid.tensorflow.python.platform import tf_logging as logging

_SCOPE = "/subscription/"


def _is_subscribed_identity(tensor):
    """Whether `subscribe` has made the tensor: an Identity in the scope of its input."""
    op = tensor.op
    return op.type == "Identity" and op.name.startswith(f"{op.inputs[0].op.name}{_SCOPE}Identity")


def _subscription_of(tensor):
    """The tensor that `subscribe` has made of a tensor, or is; None: there is none yet."""
    if _is_subscribed_identity(tensor):
        return tensor
    for op in tensor.consumers():
        if op.type == "Identity" and op.inputs[0] is tensor and _is_subscribed_identity(op.outputs[0]):
            return op.outputs[0]
    return None


def _build(source, side_effects):
    """The nodes of the side effects of a tensor."""
    built = []
    for side_effect in side_effects:
        built.extend(side_effect(source))
    return [item.op if isinstance(item, ops.Tensor) else item for item in built]


def _extend(subscription, side_effects):
    source = subscription.op.inputs[0]
    with ops.name_scope(source.op.name + _SCOPE):
        subscription.op._add_control_inputs(_build(source, side_effects))
    return subscription


def _new(tensor, side_effects, control_outputs):
    uses = [
        (op, i) for op in dict.fromkeys(tensor.consumers()) for i, t in enumerate(op.inputs) if t is tensor
    ]
    with ops.name_scope(tensor.op.name + _SCOPE):
        with ops.control_dependencies(_build(tensor, side_effects)):
            out = array_ops.identity(tensor)
    for op, i in uses:
        op._update_input(i, out)
    for op in control_outputs:
        # After several outputs of one operation the control input is one of each subscription.
        controls = [c for c in op.control_inputs if c is not tensor.op]
        op._remove_all_control_inputs()
        op._add_control_inputs([*controls, out.op])
    return out


def _subscribe(tensor, side_effects, control_outputs):
    if not tensor.dtype.is_numpy_compatible:
        logging.debug("Tensor %s has type %s and cannot be subscribed.", tensor.name, tensor.dtype)
        return tensor
    ctx = tensor.op._get_control_flow_context()
    with ops.device(tensor.device):
        if ctx is not None:
            ctx.Enter()
        try:
            subscription = _subscription_of(tensor)
            if subscription is not None:
                return _extend(subscription, side_effects)
            waiting = control_outputs.setdefault(tensor.op, list(tensor.op._control_outputs))
            return _new(tensor, side_effects, waiting)
        finally:
            if ctx is not None:
                ctx.Exit()


def _map(tensors, function):
    if isinstance(tensors, ops.Tensor):
        return function(tensors)
    if isinstance(tensors, variables.Variable):
        return function(tensors.value())
    if isinstance(tensors, (list, tuple)):
        mapped = [_map(t, function) for t in tensors]
        return type(tensors)(*mapped) if hasattr(tensors, "_fields") else type(tensors)(mapped)
    if isinstance(tensors, dict):
        return {key: _map(t, function) for key, t in tensors.items()}
    raise TypeError(f"subscribe() argument {tensors!r} has invalid type {type(tensors)!r}")


def subscribe(tensors, side_effects):
    """Returns the tensors, in the same structure, as Identity nodes that run after their side effects.

    Operations that took a tensor take its Identity. Only tensors of types that numpy has are subscribed.

    Args:
      tensors: a tensor, a variable, or lists, tuples and dictionaries of these.
      side_effects: a function f(tensor), or a list of them, that makes nodes and returns a list of them. A
        tensor that is subscribed already gets these too.
    """
    if not hasattr(side_effects, "__iter__"):
        side_effects = [side_effects]
    control_outputs = {}
    return _map(tensors, lambda t: _subscribe(t, side_effects, control_outputs))
