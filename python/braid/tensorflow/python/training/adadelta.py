"""Adadelta (Zeiler, 2012): the rate follows from decaying averages of squared gradients and squared updates."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.training import optimizer, training_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["train.AdadeltaOptimizer"])
class AdadeltaOptimizer(optimizer.Optimizer):
    """Adadelta. Its slots are "accum" (of squared gradients) and "accum_update" (of squared updates)."""

    def __init__(self, learning_rate=0.001, rho=0.95, epsilon=1e-8, use_locking=False, name="Adadelta"):
        """rho: the decay of both averages."""
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._rho = rho
        self._epsilon = epsilon
        self._lr_t = None
        self._rho_t = None
        self._epsilon_t = None

    def _create_slots(self, var_list):
        for v in var_list:
            self._zeros_slot(v, "accum", self._name)
            self._zeros_slot(v, "accum_update", self._name)

    def _prepare(self):
        self._lr_t = ops.convert_to_tensor(self._call_if_callable(self._lr), name="lr")
        self._rho_t = ops.convert_to_tensor(self._call_if_callable(self._rho), name="rho")
        self._epsilon_t = ops.convert_to_tensor(self._call_if_callable(self._epsilon), name="epsilon")

    def _parameters(self, dtype):
        return [math_ops.cast(p, dtype.base_dtype) for p in (self._lr_t, self._rho_t, self._epsilon_t)]

    def _both(self, var):
        return self.get_slot(var, "accum"), self.get_slot(var, "accum_update")

    def _apply_dense(self, grad, var):
        parameters = self._parameters(var.dtype)
        return training_ops.apply_adadelta(
            var, *self._both(var), *parameters, grad, use_locking=self._use_locking
        )

    def _resource_apply_dense(self, grad, var):
        handles = [slot.handle for slot in self._both(var)]
        return training_ops.resource_apply_adadelta(
            var.handle, *handles, *self._parameters(grad.dtype), grad, use_locking=self._use_locking
        )

    def _apply_sparse(self, grad, var):
        return training_ops.sparse_apply_adadelta(
            var,
            *self._both(var),
            *self._parameters(var.dtype),
            grad.values,
            grad.indices,
            use_locking=self._use_locking,
        )

    def _resource_apply_sparse(self, grad, var, indices):
        handles = [slot.handle for slot in self._both(var)]
        return training_ops.resource_sparse_apply_adadelta(
            var.handle,
            *handles,
            *self._parameters(grad.dtype),
            grad,
            indices,
            use_locking=self._use_locking,
        )
