"""Adagrad with a proximal step for L1 and L2 (Duchi and Singer, 2009)."""

from braid.tensorflow.python.framework import constant_op, ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.training import optimizer, training_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["train.ProximalAdagradOptimizer"])
class ProximalAdagradOptimizer(optimizer.Optimizer):
    """Proximal Adagrad. Its slot is "accumulator"."""

    def __init__(
        self,
        learning_rate,
        initial_accumulator_value=0.1,
        l1_regularization_strength=0.0,
        l2_regularization_strength=0.0,
        use_locking=False,
        name="ProximalAdagrad",
    ):
        """initial_accumulator_value: ValueError unless it is positive."""
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._l1_regularization_strength_tensor = None
        self._l2_regularization_strength_tensor = None
        self._learning_rate_tensor = None

    def _create_slots(self, var_list):
        for v in var_list:
            with ops.colocate_with(v):
                accum = constant_op.constant(
                    self._initial_accumulator_value, shape=v.get_shape(), dtype=v.dtype.base_dtype
                )
            self._get_or_make_slot(v, accum, "accumulator", self._name)

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
        accum = self.get_slot(var, "accumulator")
        parameters = self._parameters(var.dtype)
        return training_ops.apply_proximal_adagrad(
            var, accum, *parameters, grad, use_locking=self._use_locking
        )

    def _resource_apply_dense(self, grad, var):
        accum = self.get_slot(var, "accumulator")
        parameters = self._parameters(grad.dtype)
        return training_ops.resource_apply_proximal_adagrad(
            var.handle, accum.handle, *parameters, grad, use_locking=self._use_locking
        )

    def _apply_sparse(self, grad, var):
        accum = self.get_slot(var, "accumulator")
        parameters = self._parameters(var.dtype)
        return training_ops.sparse_apply_proximal_adagrad(
            var, accum, *parameters, grad.values, grad.indices, use_locking=self._use_locking
        )

    def _resource_apply_sparse(self, grad, var, indices):
        accum = self.get_slot(var, "accumulator")
        parameters = self._parameters(grad.dtype)
        return training_ops.resource_sparse_apply_proximal_adagrad(
            var.handle, accum.handle, *parameters, grad, indices, use_locking=self._use_locking
        )
