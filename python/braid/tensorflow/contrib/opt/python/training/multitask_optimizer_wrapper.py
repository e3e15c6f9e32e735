"""Training of several tasks of which a batch may have none: gradients that are all zeros change nothing."""

import types

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops, clip_ops, control_flow_ops, math_ops
from braid.tensorflow.python.training import optimizer


def _is_all_zeros(grad):
    values = grad.values if isinstance(grad, ops.IndexedSlices) else grad
    return math_ops.equal(math_ops.count_nonzero(values), 0)


def _skip_zeros(update):
    def skipping(_, grad, *args, **kwargs):
        def call():
            with ops.control_dependencies([update(grad, *args, **kwargs)]):
                return control_flow_ops.no_op()

        return control_flow_ops.cond(_is_all_zeros(grad), control_flow_ops.no_op, call)

    return skipping


class MultitaskOptimizerWrapper:
    """The optimizer that it is given, whose slots and variables stay as they are where a gradient is zero."""

    def __init__(self, opt):
        if not isinstance(opt, optimizer.Optimizer):
            raise TypeError("Supplied optimizer must be an instance of tf.train.Optimizer")
        self._opt = opt
        for name in ("_apply_dense", "_resource_apply_dense", "_apply_sparse", "_resource_apply_sparse"):
            setattr(opt, name, types.MethodType(_skip_zeros(getattr(opt, name)), opt))

    def __getattr__(self, name):
        return getattr(self._opt, name)


def clip_gradients_by_global_norm(gradients_variables, clip_norm=20.0):
    """([(clipped gradient, variable), ...], the global norm)."""
    gradients, variables = zip(*gradients_variables)

    def without_zeros(grad):
        if grad is None:
            return None
        values = grad.values if isinstance(grad, ops.IndexedSlices) else grad
        zero = array_ops.zeros([], dtype=values.dtype)
        return control_flow_ops.cond(_is_all_zeros(grad), lambda: zero, lambda: values)

    norm = clip_ops.global_norm([without_zeros(g) for g in gradients])
    gradients, _ = clip_ops.clip_by_global_norm(gradients, clip_norm, use_norm=norm)
    return list(zip(gradients, variables)), norm
