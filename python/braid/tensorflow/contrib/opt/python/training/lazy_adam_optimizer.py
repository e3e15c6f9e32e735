"""Adam whose sparse gradients change only the rows that they have."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import (
    array_ops,
    control_flow_ops,
    gen_resource_variable_ops,
    math_ops,
    state_ops,
)
from braid.tensorflow.python.training import adam


class LazyAdamOptimizer(adam.AdamOptimizer):
    """Adam; the moments of rows without a gradient do not decay."""

    def _apply_sparse(self, grad, var):
        beta1_power, beta2_power, rate, beta1, beta2, epsilon = self._parameters(var.dtype)
        rate = rate * math_ops.sqrt(1 - beta2_power) / (1 - beta1_power)
        rows, locking = grad.indices, self._use_locking
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_t = state_ops.scatter_update(
            m, rows, beta1 * array_ops.gather(m, rows) + (1 - beta1) * grad.values, use_locking=locking
        )
        v_t = state_ops.scatter_update(
            v,
            rows,
            beta2 * array_ops.gather(v, rows) + (1 - beta2) * math_ops.square(grad.values),
            use_locking=locking,
        )
        delta = rate * array_ops.gather(m_t, rows) / (math_ops.sqrt(array_ops.gather(v_t, rows)) + epsilon)
        update = state_ops.scatter_sub(var, rows, delta, use_locking=locking)
        return control_flow_ops.group(update, m_t, v_t)

    def _resource_apply_sparse(self, grad, var, indices):
        beta1_power, beta2_power, rate, beta1, beta2, epsilon = self._parameters(var.dtype)
        rate = rate * math_ops.sqrt(1 - beta2_power) / (1 - beta1_power)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_rows = beta1 * array_ops.gather(m, indices) + (1 - beta1) * grad
        m_update = gen_resource_variable_ops.resource_scatter_update(m.handle, indices, m_rows)
        v_rows = beta2 * array_ops.gather(v, indices) + (1 - beta2) * math_ops.square(grad)
        v_update = gen_resource_variable_ops.resource_scatter_update(v.handle, indices, v_rows)
        delta = rate * m_rows / (math_ops.sqrt(v_rows) + epsilon)
        with ops.control_dependencies([m_update, v_update]):
            update = gen_resource_variable_ops.resource_scatter_sub(var.handle, indices, delta)
        return control_flow_ops.group(update, m_update, v_update)
