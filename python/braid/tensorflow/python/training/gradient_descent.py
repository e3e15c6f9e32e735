"""Gradient descent: var -= learning_rate * gradient."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import gen_resource_variable_ops, math_ops
from braid.tensorflow.python.training import optimizer, training_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["train.GradientDescentOptimizer"])
class GradientDescentOptimizer(optimizer.Optimizer):
    """Gradient descent, without slots."""

    def __init__(self, learning_rate, use_locking=False, name="GradientDescent"):
        """learning_rate: a number, a tensor, or a function that makes one."""
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._learning_rate_tensor = None

    def _prepare(self):
        rate = self._call_if_callable(self._learning_rate)
        self._learning_rate_tensor = ops.convert_to_tensor(rate, name="learning_rate")

    def _apply_dense(self, grad, var):
        rate = math_ops.cast(self._learning_rate_tensor, var.dtype.base_dtype)
        return training_ops.apply_gradient_descent(var, rate, grad, use_locking=self._use_locking).op

    def _resource_apply_dense(self, grad, handle):
        rate = math_ops.cast(self._learning_rate_tensor, grad.dtype.base_dtype)
        return training_ops.resource_apply_gradient_descent(
            handle.handle, rate, grad, use_locking=self._use_locking
        )

    def _resource_apply_sparse_duplicate_indices(self, grad, handle, indices):
        rate = math_ops.cast(self._learning_rate_tensor, grad.dtype.base_dtype)
        return gen_resource_variable_ops.resource_scatter_add(handle.handle, indices, -grad * rate)

    def _apply_sparse_duplicate_indices(self, grad, var):
        rate = math_ops.cast(self._learning_rate_tensor, var.dtype.base_dtype)
        delta = ops.IndexedSlices(grad.values * rate, grad.indices, grad.dense_shape)
        return var.scatter_sub(delta, use_locking=self._use_locking)
