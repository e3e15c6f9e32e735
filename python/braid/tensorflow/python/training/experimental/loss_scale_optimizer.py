"""An optimizer that scales the loss."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.training import optimizer
from braid.tensorflow.python.training.experimental import loss_scale as loss_scale_module
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["train.experimental.MixedPrecisionLossScaleOptimizer"])
class MixedPrecisionLossScaleOptimizer(optimizer.Optimizer):
    """Multiplies the loss by a factor, and divides the gradients by it before the optimizer applies them.

    loss_scale: a number, "dynamic", or a LossScale. Gradients that are not finite are not applied where the
    factor is dynamic.
    """

    def __init__(self, opt, loss_scale):
        if not isinstance(opt, optimizer.Optimizer):
            raise ValueError(f'"opt" must be an instance of Optimizer, but got: {type(opt)}')
        super().__init__(opt._use_locking, opt.get_name())
        self._optimizer = opt
        self._loss_scale = loss_scale_module.get(loss_scale)
        self._track_trackable(opt, "base_optimizer")
        self._track_trackable(self._loss_scale, "loss_scale")

    def compute_gradients(self, loss, *args, **kwargs):
        scale = self._loss_scale()
        scaled = (lambda: loss() * scale) if callable(loss) else loss * scale
        return [
            (_scaled(g, 1 / scale), v) for g, v in self._optimizer.compute_gradients(scaled, *args, **kwargs)
        ]

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        grads_and_vars = list(grads_and_vars)
        update, apply = self._loss_scale.update([g for g, _ in grads_and_vars])
        if apply is True:
            return self._optimizer.apply_gradients(grads_and_vars, global_step, name)
        name = self.get_name() if name is None else name
        self._optimizer._create_slots([v for g, v in grads_and_vars if g is not None])
        applied = control_flow_ops.cond(
            apply,
            lambda: control_flow_ops.group(
                self._optimizer.apply_gradients(grads_and_vars, global_step, f"{name}-wrapped")
            ),
            control_flow_ops.no_op,
        )
        return control_flow_ops.group(applied, update, name=name)

    def get_slot(self, var, name):
        return self._optimizer.get_slot(var, name)

    def get_slot_names(self):
        return []  # checkpoints have them by the inner optimizer

    def variables(self):
        return sorted(
            self._optimizer.variables() + list(self._loss_scale._weights.values()), key=lambda v: v.name
        )


def _scaled(grad, factor):
    if grad is None:
        return None
    if isinstance(grad, ops.IndexedSlices):
        return ops.IndexedSlices(grad.values * factor, grad.indices, grad.dense_shape)
    return grad * factor
