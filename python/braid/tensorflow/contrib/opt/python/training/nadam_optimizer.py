"""Adam with Nesterov's momentum (Dozat, 2015)."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops, control_flow_ops, math_ops, state_ops
from braid.tensorflow.python.training import adam, training_ops


class NadamOptimizer(adam.AdamOptimizer):
    """Nadam, with the slots and variables of Adam."""

    def _apply_dense(self, grad, var):
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        return training_ops.apply_adam(
            var,
            m,
            v,
            *self._parameters(var.dtype),
            grad,
            use_locking=self._use_locking,
            use_nesterov=True,
        ).op

    def _resource_apply_dense(self, grad, var):
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        return training_ops.resource_apply_adam(
            var.handle,
            m.handle,
            v.handle,
            *self._parameters(grad.dtype),
            grad,
            use_locking=self._use_locking,
            use_nesterov=True,
        )

    def _apply_sparse_shared(self, grad, var, indices, scatter_add):
        beta1_power, beta2_power, rate, beta1, beta2, epsilon = self._parameters(var.dtype)
        rate = rate * math_ops.sqrt(1 - beta2_power) / (1 - beta1_power)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_new = grad * (1 - beta1)
        m_t = state_ops.assign(m, m * beta1, use_locking=self._use_locking)
        with ops.control_dependencies([m_t]):
            m_t = scatter_add(m, indices, m_new)
            m_bar = m_new + beta1 * array_ops.gather(m_t, indices)
        v_t = state_ops.assign(v, v * beta2, use_locking=self._use_locking)
        with ops.control_dependencies([v_t]):
            v_t = scatter_add(v, indices, (grad * grad) * (1 - beta2))
        v_sqrt = math_ops.sqrt(array_ops.gather(v_t, indices))
        update = scatter_add(var, indices, -rate * m_bar / (v_sqrt + epsilon))
        return control_flow_ops.group(*[update, m_bar, v_t])
