"""Optimizers that update a variable and its slots by one op."""

from braid.tensorflow.contrib.optimizer_v2 import optimizer_v2
from braid.tensorflow.python.ops import gen_training_ops


class ByOps(optimizer_v2.OptimizerV2):
    """An optimizer whose ops apply_NAME, sparse_apply_NAME and the like have arguments of the same order."""

    def _op(self):
        """(NAME, the names of the slots) of the ops."""
        raise NotImplementedError()

    def _arguments(self, state, dtype):
        """(what comes before the gradient, what comes after it and after the indices)."""
        raise NotImplementedError()

    def _attributes(self):
        return {"use_locking": self._use_locking}

    def _update(self, prefix, var, state, dtype, *gradient):
        name, slots = self._op()
        variables = [var, *(state.get_slot(var, slot) for slot in slots)]
        if prefix.startswith("resource"):
            variables = [v.handle for v in variables]
        before, after = self._arguments(state, dtype)
        function = getattr(gen_training_ops, f"{prefix}apply_{name}")
        return function(*variables, *before, *gradient, *after, **self._attributes())

    def _apply_dense(self, grad, var, state):
        return self._update("", var, state, var.dtype.base_dtype, grad).op

    def _resource_apply_dense(self, grad, var, state):
        return self._update("resource_", var, state, var.dtype.base_dtype, grad)

    def _apply_sparse(self, grad, var, state):
        return self._update("sparse_", var, state, var.dtype.base_dtype, grad.values, grad.indices)

    def _resource_apply_sparse(self, grad, var, indices, state):
        return self._update("resource_sparse_", var, state, var.dtype.base_dtype, grad, indices)
