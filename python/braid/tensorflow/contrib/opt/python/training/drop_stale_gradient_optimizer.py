"""Asynchronous training that drops the gradients of workers that are too far behind."""

from braid.tensorflow.python.framework import dtypes, ops
from braid.tensorflow.python.ops import (
    array_ops,
    control_flow_ops,
    init_ops,
    math_ops,
    variable_scope,
)
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import optimizer, training_util


class DropStaleGradientOptimizer(optimizer.Optimizer):
    """An optimizer around another, which applies gradients if the global step has grown by at most staleness
    since their computation began."""

    def __init__(self, opt, staleness, use_locking=False, name="DropStaleGradient"):
        super().__init__(use_locking, name)
        self._opt = opt
        self._staleness = staleness
        self._local_step = None

    def compute_gradients(self, loss, *args, **kwargs):
        with ops.colocate_with(loss):
            self._local_step = training_util.get_global_step() + 0
        with ops.control_dependencies([self._local_step]):
            return self._opt.compute_gradients(array_ops.identity(loss), *args, **kwargs)

    def get_slot(self, *args, **kwargs):
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self):
        return self._opt.variables()

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """An op whose value is the number of updates that were dropped; the variable "stale_counter" has
        it."""
        grads_and_vars = list(grads_and_vars)
        with ops.colocate_with(global_step):
            dropped = variable_scope.get_variable(
                "stale_counter", [], initializer=init_ops.zeros_initializer(), trainable=False
            )

        def accept():
            update = self._opt.apply_gradients(grads_and_vars, global_step=global_step, name=name)
            with ops.control_dependencies([update]):
                return array_ops.identity(0.0)

        computed = [g if isinstance(g, ops.Tensor) else g.op for g, _ in grads_and_vars if g is not None]
        with ops.control_dependencies(computed), ops.colocate_with(global_step):
            staleness = array_ops.reshape(global_step - self._local_step, shape=())
        is_fresh = math_ops.less_equal(staleness, self._staleness)
        update = dropped.assign_add(control_flow_ops.cond(is_fresh, accept, lambda: array_ops.identity(1.0)))
        steps = math_ops.cast(global_step + 1, dtypes.float32)
        summary.scalar("Gradient staleness percentage", dropped / steps)
        return update
