"""Training with a scaled loss, so that small gradients do not vanish in float16."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.training import optimizer


class LossScaleOptimizer(optimizer.Optimizer):
    """An optimizer around another: the loss is multiplied by the manager's scale and its gradients are
    divided by it; where one of these is not finite, variables stay as they are."""

    def __init__(self, opt, loss_scale_manager):
        super().__init__(False, "LossScaleOptimizer")
        self._opt = opt
        self._loss_scale_manager = loss_scale_manager

    def compute_gradients(
        self,
        loss,
        var_list=None,
        gate_gradients=optimizer.Optimizer.GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        grad_loss=None,
    ):
        loss = loss() if callable(loss) else loss
        scale = self._loss_scale_manager.get_loss_scale()
        scaled = loss * math_ops.cast(scale, loss.dtype.base_dtype)
        pairs = self._opt.compute_gradients(
            scaled, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss
        )
        inverse = math_ops.reciprocal(scale)

        def unscaled(g):
            if g is None:
                return None
            if isinstance(g, ops.IndexedSlices):
                return ops.IndexedSlices(unscaled(g.values), g.indices, g.dense_shape)
            return g * math_ops.cast(inverse, g.dtype.base_dtype)

        return [(unscaled(g), v) for g, v in pairs]

    def get_slot(self, *args, **kwargs):
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self):
        return self._opt.variables()

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        grads_and_vars = list(grads_and_vars)
        values = [g.values if isinstance(g, ops.IndexedSlices) else g for g, _ in grads_and_vars]
        are_finite = math_ops.reduce_all(
            [math_ops.reduce_all(math_ops.is_finite(v)) for v in values if v is not None]
        )
        update = control_flow_ops.cond(
            are_finite,
            lambda: self._opt.apply_gradients(grads_and_vars, global_step, name),
            control_flow_ops.no_op,
        )
        return control_flow_ops.group(update, self._loss_scale_manager.update_loss_scale(are_finite))
