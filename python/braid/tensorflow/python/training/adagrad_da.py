"""Adagrad by dual averaging (Duchi et al., 2011): the variable is computed from the sums of all gradients."""

from braid.tensorflow.python.framework import constant_op, ops
from braid.tensorflow.python.ops import array_ops, math_ops
from braid.tensorflow.python.training import optimizer, training_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["train.AdagradDAOptimizer"])
class AdagradDAOptimizer(optimizer.Optimizer):
    """Adagrad Dual Averaging, with L1 and L2 regularization.

    Its slots are "gradient_accumulator" and "gradient_squared_accumulator".
    """

    def __init__(
        self,
        learning_rate,
        global_step,
        initial_gradient_squared_accumulator_value=0.1,
        l1_regularization_strength=0.0,
        l2_regularization_strength=0.0,
        use_locking=False,
        name="AdagradDA",
    ):
        """global_step: the variable that counts the updates. ValueError: the initial value is not positive."""
        if initial_gradient_squared_accumulator_value <= 0.0:
            raise ValueError(
                "initial_gradient_squared_accumulator_value must be positive: "
                f"{initial_gradient_squared_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_gradient_squared_accumulator_value = initial_gradient_squared_accumulator_value
        self._learning_rate_tensor = None
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._global_step = global_step
        self._global_step_on_worker = None

    def _create_slots(self, var_list):
        initial = self._initial_gradient_squared_accumulator_value
        for v in var_list:
            dtype, shape = v.dtype.base_dtype, v.get_shape()
            with ops.colocate_with(v):
                sums = constant_op.constant(0.0, shape=shape, dtype=dtype)
                squares = constant_op.constant(initial, shape=shape, dtype=dtype)
            self._get_or_make_slot(v, sums, "gradient_accumulator", self._name)
            self._get_or_make_slot(v, squares, "gradient_squared_accumulator", self._name)

    def _prepare(self):
        self._learning_rate_tensor = ops.convert_to_tensor(self._learning_rate, name="learning_rate")
        with ops.colocate_with(self._learning_rate_tensor):
            self._global_step_on_worker = array_ops.identity(self._global_step) + 1

    def _arguments(self, var, dtype, *gradient):
        """All arguments of the op but the handles: gradient, rate, L1, L2, step."""
        with ops.device(var.device):
            step = array_ops.identity(self._global_step_on_worker)
        return (
            *gradient,
            math_ops.cast(self._learning_rate_tensor, dtype.base_dtype),
            math_ops.cast(self._l1_regularization_strength, dtype.base_dtype),
            math_ops.cast(self._l2_regularization_strength, dtype.base_dtype),
            step,
        )

    def _both(self, var):
        names = ("gradient_accumulator", "gradient_squared_accumulator")
        return [self.get_slot(var, name) for name in names]

    def _apply_dense(self, grad, var):
        arguments = self._arguments(var, var.dtype, grad)
        return training_ops.apply_adagrad_da(var, *self._both(var), *arguments, use_locking=self._use_locking)

    def _resource_apply_dense(self, grad, var):
        handles = [slot.handle for slot in self._both(var)]
        arguments = self._arguments(var, grad.dtype, grad)
        return training_ops.resource_apply_adagrad_da(
            var.handle, *handles, *arguments, use_locking=self._use_locking
        )

    def _apply_sparse(self, grad, var):
        arguments = self._arguments(var, var.dtype, grad.values, grad.indices)
        return training_ops.sparse_apply_adagrad_da(
            var, *self._both(var), *arguments, use_locking=self._use_locking
        )

    def _resource_apply_sparse(self, grad, var, indices):
        handles = [slot.handle for slot in self._both(var)]
        arguments = self._arguments(var, grad.dtype, grad, indices)
        return training_ops.resource_sparse_apply_adagrad_da(
            var.handle, *handles, *arguments, use_locking=self._use_locking
        )
