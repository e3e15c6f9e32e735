"""Gradient descent with a proximal step for L1 and L2 (Duchi and Singer, 2009)."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.training import optimizer, training_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["train.ProximalGradientDescentOptimizer"])
class ProximalGradientDescentOptimizer(optimizer.Optimizer):
    """Proximal gradient descent, without slots."""

    def __init__(
        self,
        learning_rate,
        l1_regularization_strength=0.0,
        l2_regularization_strength=0.0,
        use_locking=False,
        name="ProximalGradientDescent",
    ):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._l1_regularization_strength_tensor = None
        self._l2_regularization_strength_tensor = None
        self._learning_rate_tensor = None

    def _prepare(self):
        self._learning_rate_tensor = ops.convert_to_tensor(self._learning_rate, name="learning_rate")
        self._l1_regularization_strength_tensor = ops.convert_to_tensor(
            self._l1_regularization_strength, name="l1_regularization_strength"
        )
        self._l2_regularization_strength_tensor = ops.convert_to_tensor(
            self._l2_regularization_strength, name="l2_regularization_strength"
        )

    def _parameters(self, dtype):
        given = (
            self._learning_rate_tensor,
            self._l1_regularization_strength_tensor,
            self._l2_regularization_strength_tensor,
        )
        return [math_ops.cast(p, dtype.base_dtype) for p in given]

    def _apply_dense(self, grad, var):
        return training_ops.apply_proximal_gradient_descent(
            var, *self._parameters(var.dtype), grad, use_locking=self._use_locking
        ).op

    def _resource_apply_dense(self, grad, var):
        return training_ops.resource_apply_proximal_gradient_descent(
            var.handle, *self._parameters(grad.dtype), grad, use_locking=self._use_locking
        )

    def _apply_sparse(self, grad, var):
        return training_ops.sparse_apply_proximal_gradient_descent(
            var,
            *self._parameters(var.dtype),
            grad.values,
            grad.indices,
            use_locking=self._use_locking,
        ).op

    def _resource_apply_sparse(self, grad, var, indices):
        return training_ops.resource_sparse_apply_proximal_gradient_descent(
            var.handle, *self._parameters(grad.dtype), grad, indices, use_locking=self._use_locking
        )
