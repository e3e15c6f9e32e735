"""What layers of tf.layers and contrib share: arguments of convolutions, and known conditions."""

from braid.tensorflow.python.framework import smart_cond as smart_module
from braid.tensorflow.python.keras.utils.conv_utils import *  # noqa: F401,F403
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.util import nest


def smart_cond(pred, true_fn=None, false_fn=None, name=None):
    """true_fn() or false_fn() where `pred` is known, or else cond()."""
    if isinstance(pred, variables.Variable):
        return control_flow_ops.cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)
    return smart_module.smart_cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)


def constant_value(pred):
    """The condition as a bool, or None."""
    return None if isinstance(pred, variables.Variable) else smart_module.smart_constant_value(pred)


def get_reachable_from_inputs(inputs, targets=None):
    """The tensors and operations that depend on `inputs`, as a set of their ids, up to all of `targets`."""
    reached = {id(thing): thing for thing in nest.flatten(inputs)}
    queue = list(reached.values())
    wanted = None if targets is None else {id(target) for target in nest.flatten(targets)}
    while queue and not (wanted is not None and wanted <= set(reached)):
        thing = queue.pop(0)
        following = thing.outputs if hasattr(thing, "outputs") else thing.consumers()
        for other in following:
            if id(other) not in reached:
                reached[id(other)] = other
                queue.append(other)
    return set(reached.values())
