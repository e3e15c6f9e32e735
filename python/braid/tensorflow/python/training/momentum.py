"""Momentum: accum = momentum * accum + gradient; var -= learning_rate * accum."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.training import optimizer, training_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["train.MomentumOptimizer"])
class MomentumOptimizer(optimizer.Optimizer):
    """Gradient descent with momentum. Its slot is "momentum".

    use_nesterov: Nesterov's momentum, as in Sutskever et al., 2013.
    """

    def __init__(self, learning_rate, momentum, use_locking=False, name="Momentum", use_nesterov=False):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list):
        for v in var_list:
            self._zeros_slot(v, "momentum", self._name)

    def _prepare(self):
        rate = self._call_if_callable(self._learning_rate)
        self._learning_rate_tensor = ops.convert_to_tensor(rate, name="learning_rate")
        momentum = self._call_if_callable(self._momentum)
        self._momentum_tensor = ops.convert_to_tensor(momentum, name="momentum")

    def _parameters(self, dtype):
        return (
            math_ops.cast(self._learning_rate_tensor, dtype.base_dtype),
            math_ops.cast(self._momentum_tensor, dtype.base_dtype),
            {"use_locking": self._use_locking, "use_nesterov": self._use_nesterov},
        )

    def _apply_dense(self, grad, var):
        accum = self.get_slot(var, "momentum")
        rate, momentum, options = self._parameters(var.dtype)
        return training_ops.apply_momentum(var, accum, rate, grad, momentum, **options).op

    def _resource_apply_dense(self, grad, var):
        accum = self.get_slot(var, "momentum")
        rate, momentum, options = self._parameters(grad.dtype)
        return training_ops.resource_apply_momentum(var.handle, accum.handle, rate, grad, momentum, **options)

    def _apply_sparse(self, grad, var):
        accum = self.get_slot(var, "momentum")
        rate, momentum, options = self._parameters(var.dtype)
        return training_ops.sparse_apply_momentum(
            var, accum, rate, grad.values, grad.indices, momentum, **options
        ).op

    def _resource_apply_sparse(self, grad, var, indices):
        accum = self.get_slot(var, "momentum")
        rate, momentum, options = self._parameters(grad.dtype)
        return training_ops.resource_sparse_apply_momentum(
            var.handle, accum.handle, rate, grad, indices, momentum, **options
        )
