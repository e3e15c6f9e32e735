"""AddSign (Bello et al., Neural Optimizer Search with Reinforcement Learning, 2017)."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops, control_flow_ops, math_ops, state_ops
from braid.tensorflow.python.training import optimizer, training_ops


class SignOptimizer(optimizer.Optimizer):
    """What AddSign and PowerSign share. The rate of an element depends on whether its gradient and the slot
    "m", the gradient's moving average, have one sign."""

    def __init__(self, learning_rate, second, beta, sign_decay_fn, use_locking, name):
        """second: (name, value) of the parameter that comes after the learning rate."""
        super().__init__(use_locking, name)
        self._lr, self._second, self._beta = learning_rate, second, beta
        self._sign_decay_fn = sign_decay_fn
        self._tensors = self._sign_decay_t = None

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        if self._sign_decay_fn is not None:
            self._sign_decay_t = ops.convert_to_tensor(self._sign_decay_fn(global_step), name="sign_decay")
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _create_slots(self, var_list):
        for v in var_list:
            self._zeros_slot(v, "m", self._name)

    def _prepare(self):
        rate = ops.convert_to_tensor(self._lr, name="learning_rate")
        beta = ops.convert_to_tensor(self._beta, name="beta")
        second = ops.convert_to_tensor(self._second[1], name=self._second[0])
        if self._sign_decay_fn is None:
            self._sign_decay_t = ops.convert_to_tensor(1.0, name="sign_decay")
        self._tensors = rate, second, self._sign_decay_t, beta

    def _parameters(self, dtype):
        """Learning rate, second parameter, decay of the sign and beta in this dtype."""
        return [math_ops.cast(p, dtype.base_dtype) for p in self._tensors]

    def _apply_rows(self, grad, var, indices, scatter_sub):
        """The update by some rows; the averages of all rows move."""
        rate, second, decay, beta = self._parameters(var.dtype)
        m = self.get_slot(var, "m")
        m_t = state_ops.assign(m, m * beta, use_locking=self._use_locking)
        with ops.control_dependencies([m_t]):
            m_t = state_ops.scatter_add(m, indices, grad * (1 - beta), use_locking=self._use_locking)
        agreement = array_ops.gather(math_ops.sign(m_t), indices) * math_ops.sign(grad)
        update = scatter_sub(var, indices, rate * self._multiplier(second, decay * agreement) * grad)
        return control_flow_ops.group(update, m_t)

    def _apply_sparse(self, grad, var):
        def scatter_sub(x, i, v):
            return state_ops.scatter_sub(x, i, v, use_locking=self._use_locking)

        return self._apply_rows(grad.values, var, grad.indices, scatter_sub)

    def _resource_apply_sparse(self, grad, var, indices):
        return self._apply_rows(grad, var, indices, state_ops.scatter_sub)


class AddSignOptimizer(SignOptimizer):
    """The gradient times alpha + decay * sign(gradient) * sign(average)."""

    def __init__(
        self,
        learning_rate=0.1,
        alpha=1.0,
        beta=0.9,
        sign_decay_fn=None,
        use_locking=False,
        name="AddSignOptimizer",
    ):
        """sign_decay_fn: a function of the global step, as those of sign_decay.py."""
        super().__init__(learning_rate, ("alpha", alpha), beta, sign_decay_fn, use_locking, name)

    def _apply_dense(self, grad, var):
        m = self.get_slot(var, "m")
        parameters = self._parameters(var.dtype)
        return training_ops.apply_add_sign(var, m, *parameters, grad, use_locking=self._use_locking).op

    def _resource_apply_dense(self, grad, var):
        m = self.get_slot(var, "m")
        return training_ops.resource_apply_add_sign(
            var.handle, m.handle, *self._parameters(var.dtype), grad, use_locking=self._use_locking
        )

    def _multiplier(self, alpha, signs):
        return alpha + signs
