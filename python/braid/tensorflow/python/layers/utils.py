"""What layers of tf.layers and contrib share: arguments of convolutions, and known conditions."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import smart_cond as smart_module
from braid.tensorflow.python.keras.utils.conv_utils import *  # noqa: F401,F403
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import variables


def smart_cond(pred, true_fn=None, false_fn=None, name=None):
    """true_fn() or false_fn() where `pred` is known, or else cond()."""
    if isinstance(pred, variables.Variable):
        return control_flow_ops.cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)
    return smart_module.smart_cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)


def constant_value(pred):
    """What is known of a condition, as tensor_util.constant_value, or None. TypeError: it is none."""
    if isinstance(pred, variables.Variable):
        return None
    if isinstance(pred, ops.Tensor):
        return smart_module.known_value(pred)
    return smart_module.smart_constant_value(pred)


def deconv_output_length(input_length, filter_size, padding, stride):
    """The size of a transposed convolution's output along an axis; None: the input's is not known."""
    if input_length is None:
        return None
    length = input_length * stride
    if padding == "valid":
        return length + max(filter_size - stride, 0)
    return length - (stride + filter_size - 2) if padding == "full" else length


def get_reachable_from_inputs(inputs, targets=None):
    """The set of `inputs` and the tensors that depend on them, up to all of `targets`."""
    reached = list(inputs)
    for tensor in reached:  # it grows
        if targets and set(targets) <= set(reached):
            break
        consumers = tensor.consumers() if hasattr(tensor, "consumers") else [tensor.op]
        for output in (output for op in consumers for output in op.outputs):
            if output not in reached:
                reached.append(output)
    return set(reached)
