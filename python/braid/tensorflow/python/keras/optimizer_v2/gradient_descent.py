"""SGD."""

from braid.tensorflow.python.keras.optimizer_v2 import optimizer_v2
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.optimizers.SGD")
class SGD(optimizer_v2.OptimizerV2):
    """var -= learning_rate * gradient, with momentum: velocity = momentum * velocity - learning_rate *
    gradient."""

    def __init__(self, learning_rate=0.01, momentum=0.0, nesterov=False, name="SGD", **kwargs):
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._momentum = callable(momentum) or not isinstance(momentum, (int, float)) or momentum > 0
        if isinstance(momentum, (int, float)) and (momentum < 0 or momentum > 1):
            raise ValueError("`momentum` must be between [0, 1].")
        self._set_hyper("momentum", momentum)
        self.nesterov = nesterov

    def _create_slots(self, var_list):
        if self._momentum:
            for var in var_list:
                self.add_slot(var, "momentum")

    def _resource_apply_dense(self, grad, var):
        dtype = var.dtype.base_dtype
        rate = self._decayed_lr(dtype)
        if self._momentum:
            slot = self.get_slot(var, "momentum")
            # The op adds momentum and takes the rate's sign: accum = momentum * accum - lr * grad; var +=
            # accum.
            if optimizer_v2.is_resource(var):
                return optimizer_v2.run_apply(
                    "keras_momentum",
                    var,
                    [slot],
                    rate,
                    grad,
                    self._get_hyper("momentum", dtype),
                    use_locking=self._use_locking,
                    use_nesterov=self.nesterov,
                )
            momentum = self._get_hyper("momentum", dtype)
            velocity = state_ops.assign(slot, momentum * slot - rate * grad)
            step = momentum * velocity - rate * grad if self.nesterov else velocity
            return state_ops.assign_add(var, step).op
        return optimizer_v2.run_apply("gradient_descent", var, [], rate, grad, use_locking=self._use_locking)

    def _resource_apply_sparse_duplicate_indices(self, grad, var, indices):
        if self._momentum:
            return super()._resource_apply_sparse_duplicate_indices(grad, var, indices)
        rate = self._decayed_lr(var.dtype.base_dtype)
        return _scatter_add(var, indices, -grad * rate)

    def _resource_apply_sparse(self, grad, var, indices):
        dtype = var.dtype.base_dtype
        return optimizer_v2.run_sparse_apply(
            "keras_momentum",
            var,
            [self.get_slot(var, "momentum")],
            self._decayed_lr(dtype),
            grad,
            indices,
            self._get_hyper("momentum", dtype),
            use_locking=self._use_locking,
            use_nesterov=self.nesterov,
        )

    def get_config(self):
        return dict(
            super().get_config(),
            learning_rate=self._serialize_hyperparameter("learning_rate"),
            decay=self._serialize_hyperparameter("decay"),
            momentum=self._serialize_hyperparameter("momentum"),
            nesterov=self.nesterov,
        )


def _scatter_add(var, indices, values):
    result = state_ops.scatter_add(var, indices, values)
    return getattr(result, "op", result)
