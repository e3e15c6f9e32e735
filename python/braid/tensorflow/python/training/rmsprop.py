"""RMSProp (Tieleman and Hinton, lecture 6.5, 2012), also centered (Graves, 2013, equations 38 to 45)."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops, init_ops, math_ops
from braid.tensorflow.python.training import optimizer, training_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["train.RMSPropOptimizer"])
class RMSPropOptimizer(optimizer.Optimizer):
    """RMSProp with momentum. Its slots are "rms" and "momentum", and "mg" if centered."""

    def __init__(
        self,
        learning_rate,
        decay=0.9,
        momentum=0.0,
        epsilon=1e-10,
        use_locking=False,
        centered=False,
        name="RMSProp",
    ):
        """centered: the gradients' variance in place of their second moment."""
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._decay = decay
        self._momentum = momentum
        self._epsilon = epsilon
        self._centered = centered
        self._learning_rate_tensor = None
        self._decay_tensor = None
        self._momentum_tensor = None
        self._epsilon_tensor = None

    def _create_slots(self, var_list):
        for v in var_list:
            if v.get_shape().is_fully_defined():
                ones = init_ops.ones_initializer(dtype=v.dtype.base_dtype)
            else:
                ones = array_ops.ones_like(v)
            self._get_or_make_slot_with_initializer(
                v, ones, v.get_shape(), v.dtype.base_dtype, "rms", self._name
            )
            if self._centered:
                self._zeros_slot(v, "mg", self._name)
            self._zeros_slot(v, "momentum", self._name)

    def _prepare(self):
        rate = self._call_if_callable(self._learning_rate)
        decay = self._call_if_callable(self._decay)
        momentum = self._call_if_callable(self._momentum)
        epsilon = self._call_if_callable(self._epsilon)
        self._learning_rate_tensor = ops.convert_to_tensor(rate, name="learning_rate")
        self._decay_tensor = ops.convert_to_tensor(decay, name="decay")
        self._momentum_tensor = ops.convert_to_tensor(momentum, name="momentum")
        self._epsilon_tensor = ops.convert_to_tensor(epsilon, name="epsilon")

    def _parameters(self, dtype):
        given = (
            self._learning_rate_tensor,
            self._decay_tensor,
            self._momentum_tensor,
            self._epsilon_tensor,
        )
        return [math_ops.cast(p, dtype.base_dtype) for p in given]

    def _all(self, var):
        names = ("mg", "rms", "momentum") if self._centered else ("rms", "momentum")
        return [self.get_slot(var, name) for name in names]

    def _apply_dense(self, grad, var):
        op = training_ops.apply_centered_rms_prop if self._centered else training_ops.apply_rms_prop
        parameters = self._parameters(var.dtype)
        return op(var, *self._all(var), *parameters, grad, use_locking=self._use_locking).op

    def _resource_apply_dense(self, grad, var):
        op = (
            training_ops.resource_apply_centered_rms_prop
            if self._centered
            else training_ops.resource_apply_rms_prop
        )
        handles = [slot.handle for slot in self._all(var)]
        parameters = self._parameters(grad.dtype)
        return op(var.handle, *handles, *parameters, grad, use_locking=self._use_locking)

    def _apply_sparse(self, grad, var):
        op = (
            training_ops.sparse_apply_centered_rms_prop
            if self._centered
            else training_ops.sparse_apply_rms_prop
        )
        parameters = self._parameters(var.dtype)
        gradient = (grad.values, grad.indices)
        return op(var, *self._all(var), *parameters, *gradient, use_locking=self._use_locking)

    def _resource_apply_sparse(self, grad, var, indices):
        op = (
            training_ops.resource_sparse_apply_centered_rms_prop
            if self._centered
            else training_ops.resource_sparse_apply_rms_prop
        )
        handles = [slot.handle for slot in self._all(var)]
        parameters = self._parameters(grad.dtype)
        return op(var.handle, *handles, *parameters, grad, indices, use_locking=self._use_locking)
