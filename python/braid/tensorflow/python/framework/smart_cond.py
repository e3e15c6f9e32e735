"""cond() that needs no nodes where the condition is known."""

from braid.tensorflow.python.framework import arrays
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import control_flow_ops


def smart_cond(pred, true_fn=None, false_fn=None, name=None):
    """true_fn() if `pred` is true, false_fn() if it is false, cond() if it is not known."""
    if not callable(true_fn):
        raise TypeError("`true_fn` must be callable.")
    if not callable(false_fn):
        raise TypeError("`false_fn` must be callable.")
    value = smart_constant_value(pred)
    if value is None:
        return control_flow_ops.cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)
    return true_fn() if value else false_fn()


def known_value(tensor):
    """The value of a tensor as an array, None if only a run tells."""
    value = tensor_util.constant_value(tensor)
    if value is None:  # the engine knows more than what has a value for programs
        value = tensor.op._native.constant(tensor.value_index)
        value = None if value is None else arrays.view(value)
    return value


def smart_constant_value(pred):
    """The condition as a bool, None if only a run tells. TypeError: it is no bool, 0, 1 or tensor."""
    if isinstance(pred, ops.Tensor):
        value = known_value(pred)
        return None if value is None else bool(value)
    if hasattr(pred, "initializer"):  # a variable
        return None
    if pred in (0, 1):  # also the bools
        return bool(pred)
    raise TypeError("`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: " + str(type(pred)))


def smart_case(pred_fn_pairs, default=None, exclusive=False, name="smart_case"):
    """case() that leaves out what is known."""
    return control_flow_ops._case_helper(
        smart_cond, pred_fn_pairs, default, exclusive, name, allow_python_preds=True
    )
