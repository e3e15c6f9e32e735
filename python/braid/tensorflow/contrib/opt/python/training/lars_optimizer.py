"""Layer-wise adaptive rate scaling (You, Gitman and Ginsburg, 2017): momentum for large batches."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops, linalg_ops, math_ops
from braid.tensorflow.python.training import optimizer, training_ops


class LARSOptimizer(optimizer.Optimizer):
    """Momentum whose rate of each variable is scaled by eeta * |var| / (|gradient| + weight_decay * |var| +
    epsilon).

    Its slot is "momentum".
    """

    def __init__(
        self,
        learning_rate,
        momentum=0.9,
        weight_decay=0.0001,
        eeta=0.001,
        epsilon=0.0,
        name="LARSOptimizer",
        skip_list=None,
        use_nesterov=False,
    ):
        """skip_list: parts of names of variables that are neither scaled nor decayed. ValueError: momentum
        is negative.
        """
        if momentum < 0.0:
            raise ValueError(f"momentum should be positive: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"weight_decay should be positive: {weight_decay}")
        super().__init__(use_locking=False, name=name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._weight_decay = weight_decay
        self._eeta = eeta
        self._epsilon = epsilon
        self._skip_list = skip_list
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list):
        for v in var_list:
            self._zeros_slot(v, "momentum", self._name)

    def _prepare(self):
        rate = self._call_if_callable(self._learning_rate)
        self._learning_rate_tensor = ops.convert_to_tensor(rate, name="learning_rate")
        momentum = self._call_if_callable(self._momentum)
        self._momentum_tensor = ops.convert_to_tensor(momentum, name="momentum")

    def compute_lr(self, grad, var):
        """(the rate of this variable, its gradient with that of the weight decay)."""
        rate = self._learning_rate
        if self._skip_list is not None and any(part in var.name for part in self._skip_list):
            return rate, grad
        w_norm = linalg_ops.norm(var, ord=2)
        g_norm = linalg_ops.norm(grad, ord=2)
        has_weight, has_gradient = math_ops.greater(w_norm, 0), math_ops.greater(g_norm, 0)
        ratio = self._eeta * w_norm / (g_norm + self._weight_decay * w_norm + self._epsilon)
        ratio = array_ops.where(has_gradient, ratio, 1.0)
        ratio = array_ops.where(has_weight, ratio, 1.0)
        return rate * ratio, grad + self._weight_decay * var

    def _scaled(self, grad, var):
        rate, grad = self.compute_lr(grad, var)
        one = math_ops.cast(1.0, grad.dtype)  # the rate is in the gradient, and so in the momentum
        momentum = self._momentum
        if not isinstance(momentum, (int, float)):
            momentum = math_ops.cast(self._momentum_tensor, grad.dtype)
        return one, grad * rate, momentum

    def _apply_dense(self, grad, var):
        slot = self.get_slot(var, "momentum")
        return training_ops.apply_momentum(
            var, slot, *self._scaled(grad, var), use_locking=False, use_nesterov=self._use_nesterov
        )

    def _resource_apply_dense(self, grad, var):
        slot = self.get_slot(var, "momentum")
        return training_ops.resource_apply_momentum(
            var.handle,
            slot.handle,
            *self._scaled(grad, var),
            use_locking=False,
            use_nesterov=self._use_nesterov,
        )

    # A sparse gradient is not scaled: it is that of some rows.
    def _apply_sparse(self, grad, var):
        slot = self.get_slot(var, "momentum")
        return training_ops.sparse_apply_momentum(
            var,
            slot,
            math_ops.cast(self._learning_rate_tensor, var.dtype.base_dtype),
            grad.values,
            grad.indices,
            math_ops.cast(self._momentum_tensor, var.dtype.base_dtype),
            use_locking=self._use_locking,
            use_nesterov=self._use_nesterov,
        )

    def _resource_apply_sparse(self, grad, var, indices):
        slot = self.get_slot(var, "momentum")
        return training_ops.resource_sparse_apply_momentum(
            var.handle,
            slot.handle,
            math_ops.cast(self._learning_rate_tensor, grad.dtype),
            grad,
            indices,
            math_ops.cast(self._momentum_tensor, grad.dtype),
            use_locking=self._use_locking,
            use_nesterov=self._use_nesterov,
        )
