"""Adagrad (Duchi et al., 2011): accum += gradient^2; var -= learning_rate * gradient / sqrt(accum)."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops, init_ops, math_ops
from braid.tensorflow.python.training import optimizer, training_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["train.AdagradOptimizer"])
class AdagradOptimizer(optimizer.Optimizer):
    """Adagrad. Its slot is "accumulator"."""

    def __init__(self, learning_rate, initial_accumulator_value=0.1, use_locking=False, name="Adagrad"):
        """initial_accumulator_value: ValueError unless it is positive."""
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._learning_rate_tensor = None

    def _create_slots(self, var_list):
        for v in var_list:
            dtype, shape = v.dtype.base_dtype, v.get_shape()
            if shape.is_fully_defined():
                init = init_ops.constant_initializer(self._initial_accumulator_value, dtype=dtype)
            else:
                init = self._init_constant_op(v, dtype)
            self._get_or_make_slot_with_initializer(v, init, shape, dtype, "accumulator", self._name)

    def _init_constant_op(self, v, dtype):
        def init():
            filled = array_ops.fill(array_ops.shape(v), self._initial_accumulator_value)
            return math_ops.cast(filled, dtype)

        return init

    def _prepare(self):
        rate = self._call_if_callable(self._learning_rate)
        self._learning_rate_tensor = ops.convert_to_tensor(rate, name="learning_rate")

    def _apply_dense(self, grad, var):
        accum = self.get_slot(var, "accumulator")
        rate = math_ops.cast(self._learning_rate_tensor, var.dtype.base_dtype)
        return training_ops.apply_adagrad(var, accum, rate, grad, use_locking=self._use_locking)

    def _resource_apply_dense(self, grad, var):
        accum = self.get_slot(var, "accumulator")
        rate = math_ops.cast(self._learning_rate_tensor, grad.dtype.base_dtype)
        return training_ops.resource_apply_adagrad(
            var.handle, accum.handle, rate, grad, use_locking=self._use_locking
        )

    def _apply_sparse(self, grad, var):
        accum = self.get_slot(var, "accumulator")
        rate = math_ops.cast(self._learning_rate_tensor, var.dtype.base_dtype)
        return training_ops.sparse_apply_adagrad(
            var, accum, rate, grad.values, grad.indices, use_locking=self._use_locking
        )

    def _resource_apply_sparse(self, grad, var, indices):
        accum = self.get_slot(var, "accumulator")
        rate = math_ops.cast(self._learning_rate_tensor, grad.dtype)
        return training_ops.resource_sparse_apply_adagrad(
            var.handle, accum.handle, rate, grad, indices, use_locking=self._use_locking
        )
