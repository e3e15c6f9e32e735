"""Adagrad in which some losses, as those of regularization, do not change the accumulators."""

import contextlib

from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.training import adagrad, training_ops


class RegAdagradOptimizer(adagrad.AdagradOptimizer):
    """Adagrad whose updates that are built within avoid_updating_slots() use the accumulators only."""

    def __init__(self, learning_rate, initial_accumulator_value=0.1, use_locking=False, name="RegAdagrad"):
        super().__init__(
            learning_rate,
            initial_accumulator_value=initial_accumulator_value,
            use_locking=use_locking,
            name=name,
        )
        self._should_update_slots = True

    @contextlib.contextmanager
    def avoid_updating_slots(self):
        before, self._should_update_slots = self._should_update_slots, False
        try:
            yield
        finally:
            self._should_update_slots = before

    def _options(self):
        return {"use_locking": self._use_locking, "update_slots": self._should_update_slots}

    def _rate(self, dtype):
        return math_ops.cast(self._learning_rate_tensor, dtype.base_dtype)

    def _apply_dense(self, grad, var):
        slot = self.get_slot(var, "accumulator")
        return training_ops.apply_adagrad(var, slot, self._rate(var.dtype), grad, **self._options())

    def _resource_apply_dense(self, grad, var):
        slot = self.get_slot(var, "accumulator")
        return training_ops.resource_apply_adagrad(
            var.handle, slot.handle, self._rate(grad.dtype), grad, **self._options()
        )

    def _apply_sparse(self, grad, var):
        slot = self.get_slot(var, "accumulator")
        return training_ops.sparse_apply_adagrad(
            var, slot, self._rate(var.dtype), grad.values, grad.indices, **self._options()
        )

    def _resource_apply_sparse(self, grad, var, indices):
        slot = self.get_slot(var, "accumulator")
        return training_ops.resource_sparse_apply_adagrad(
            var.handle, slot.handle, self._rate(grad.dtype), grad, indices, **self._options()
        )
