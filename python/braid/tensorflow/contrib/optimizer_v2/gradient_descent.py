"""Gradient descent: variable -= learning_rate * gradient."""

from braid.tensorflow.contrib.optimizer_v2 import optimizer_v2
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import resource_variable_ops
from braid.tensorflow.python.training import training_ops


class GradientDescentOptimizer(optimizer_v2.OptimizerV2):
    """tf.train.GradientDescentOptimizer; the learning rate may be a function."""

    def __init__(self, learning_rate, use_locking=False, name="GradientDescent"):
        super().__init__(use_locking, name)
        self._set_hyper("learning_rate", learning_rate)

    def _apply_dense(self, grad, var, state):
        rate = state.get_hyper("learning_rate", var.dtype.base_dtype)
        return training_ops.apply_gradient_descent(var, rate, grad, use_locking=self._use_locking).op

    def _resource_apply_dense(self, grad, handle, state):
        rate = state.get_hyper("learning_rate", grad.dtype.base_dtype)
        return training_ops.resource_apply_gradient_descent(
            handle.handle, rate, grad, use_locking=self._use_locking
        )

    def _resource_apply_sparse_duplicate_indices(self, grad, handle, indices, state):
        rate = state.get_hyper("learning_rate", grad.dtype.base_dtype)
        return resource_variable_ops.resource_scatter_add(handle.handle, indices, -grad * rate)

    def _apply_sparse_duplicate_indices(self, grad, var, state):
        rate = state.get_hyper("learning_rate", var.dtype.base_dtype)
        delta = ops.IndexedSlices(grad.values * rate, grad.indices, grad.dense_shape)
        return var.scatter_sub(delta, use_locking=self._use_locking)
