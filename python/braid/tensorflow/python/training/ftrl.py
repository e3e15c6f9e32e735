"""FTRL-Proximal (McMahan et al., 2013), also with the L2 shrinkage that only affects the gradient."""

from braid.tensorflow.python.framework import constant_op, ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.training import optimizer, training_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["train.FtrlOptimizer"])
class FtrlOptimizer(optimizer.Optimizer):
    """Follow the regularized leader. Its slots are "accum" and "linear"."""

    def __init__(
        self,
        learning_rate,
        learning_rate_power=-0.5,
        initial_accumulator_value=0.1,
        l1_regularization_strength=0.0,
        l2_regularization_strength=0.0,
        use_locking=False,
        name="Ftrl",
        accum_name=None,
        linear_name=None,
        l2_shrinkage_regularization_strength=0.0,
    ):
        """ValueError: a strength or the initial value is negative, or learning_rate_power is positive."""
        super().__init__(use_locking, name)
        for what, value in (
            ("initial_accumulator_value", initial_accumulator_value),
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength),
        ):
            if value < 0.0:
                raise ValueError(f"{what} {value} needs to be greater than or equal to zero")
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power} needs to be negative or zero")
        self._learning_rate = learning_rate
        self._learning_rate_power = learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self._learning_rate_tensor = None
        self._learning_rate_power_tensor = None
        self._l1_regularization_strength_tensor = None
        self._l2_regularization_strength_tensor = None
        self._l2_shrinkage_regularization_strength_tensor = None
        self._accum_name = accum_name
        self._linear_name = linear_name

    def _create_slots(self, var_list):
        for v in var_list:
            with ops.colocate_with(v):
                accum = constant_op.constant(
                    self._initial_accumulator_value, dtype=v.dtype.base_dtype, shape=v.get_shape()
                )
                self._get_or_make_slot(v, accum, "accum", self._accum_name or self._name)
                self._zeros_slot(v, "linear", self._linear_name or self._name)

    def _prepare(self):
        def tensor(value, name):
            return ops.convert_to_tensor(value, name=name)

        self._learning_rate_tensor = tensor(self._learning_rate, "learning_rate")
        self._l1_regularization_strength_tensor = tensor(
            self._l1_regularization_strength, "l1_regularization_strength"
        )
        self._l2_regularization_strength_tensor = tensor(
            self._l2_regularization_strength, "l2_regularization_strength"
        )
        self._l2_shrinkage_regularization_strength_tensor = tensor(
            self._l2_shrinkage_regularization_strength, "l2_shrinkage_regularization_strength"
        )
        self._learning_rate_power_tensor = tensor(self._learning_rate_power, "learning_rate_power")

    def _with_shrinkage(self):
        return self._l2_shrinkage_regularization_strength > 0.0

    def _parameters(self, dtype):
        given = [
            self._learning_rate_tensor,
            self._l1_regularization_strength_tensor,
            self._l2_regularization_strength_tensor,
        ]
        if self._with_shrinkage():
            given.append(self._l2_shrinkage_regularization_strength_tensor)
        given.append(self._learning_rate_power_tensor)
        return [math_ops.cast(p, dtype.base_dtype) for p in given]

    def _both(self, var):
        return self.get_slot(var, "accum"), self.get_slot(var, "linear")

    def _apply_dense(self, grad, var):
        op = training_ops.apply_ftrl_v2 if self._with_shrinkage() else training_ops.apply_ftrl
        parameters = self._parameters(var.dtype)
        return op(var, *self._both(var), grad, *parameters, use_locking=self._use_locking)

    def _resource_apply_dense(self, grad, var):
        op = (
            training_ops.resource_apply_ftrl_v2
            if self._with_shrinkage()
            else training_ops.resource_apply_ftrl
        )
        handles = [slot.handle for slot in self._both(var)]
        parameters = self._parameters(var.dtype)
        return op(var.handle, *handles, grad, *parameters, use_locking=self._use_locking)

    def _apply_sparse(self, grad, var):
        op = training_ops.sparse_apply_ftrl_v2 if self._with_shrinkage() else training_ops.sparse_apply_ftrl
        gradient = (grad.values, grad.indices)
        parameters = self._parameters(var.dtype)
        return op(var, *self._both(var), *gradient, *parameters, use_locking=self._use_locking)

    def _resource_apply_sparse(self, grad, var, indices):
        op = (
            training_ops.resource_sparse_apply_ftrl_v2
            if self._with_shrinkage()
            else training_ops.resource_sparse_apply_ftrl
        )
        handles = [slot.handle for slot in self._both(var)]
        parameters = self._parameters(grad.dtype)
        return op(var.handle, *handles, grad, indices, *parameters, use_locking=self._use_locking)
