"""AdaMax: Adam with the infinity norm (Kingma and Ba, 2014, section 7.1)."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import (
    array_ops,
    control_flow_ops,
    gen_resource_variable_ops,
    math_ops,
    state_ops,
)
from braid.tensorflow.python.training import adam, training_ops


class AdaMaxOptimizer(adam.AdamOptimizer):
    """AdaMax. Its slots are "m" and "v"; it also has the variable beta1_power.

    A sparse gradient changes only the rows that it has.
    """

    def __init__(
        self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=False, name="AdaMax"
    ):
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def _get_beta_accumulators(self):
        return self._get_non_slot_variable("beta1_power", graph=ops.get_default_graph())

    def _create_slots(self, var_list):
        # The variable of the smallest name, so that all workers place the power alike.
        first = min(var_list, key=lambda v: v.name)
        self._create_non_slot_variable(self._call_if_callable(self._beta1), "beta1_power", first)
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _parameters(self, dtype):
        """beta1_power, learning rate, beta1, beta2, epsilon in this dtype."""
        given = (self._get_beta_accumulators(), self._lr_t, self._beta1_t, self._beta2_t, self._epsilon_t)
        return [math_ops.cast(p, dtype.base_dtype) for p in given]

    def _apply_dense(self, grad, var):
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        parameters = self._parameters(var.dtype)
        return training_ops.apply_ada_max(var, m, v, *parameters, grad, use_locking=self._use_locking).op

    def _resource_apply_dense(self, grad, var):
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        parameters = self._parameters(grad.dtype)
        return training_ops.resource_apply_ada_max(
            var.handle, m.handle, v.handle, *parameters, grad, use_locking=self._use_locking
        )

    def _apply_sparse_shared(self, grad, var, indices, scatter_add, scatter_update):
        beta1_power, rate, beta1, beta2, epsilon = self._parameters(var.dtype)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_rows = array_ops.gather(m, indices) * beta1 + grad * (1 - beta1)
        v_rows = math_ops.maximum(array_ops.gather(v, indices) * beta2, math_ops.abs(grad))
        delta = -rate / (1 - beta1_power) * (m_rows / (v_rows + epsilon))
        return control_flow_ops.group(
            scatter_add(var, indices, delta),
            scatter_update(m, indices, m_rows),
            scatter_update(v, indices, v_rows),
        )

    def _apply_sparse(self, grad, var):
        def scatter_add(x, i, v):
            return state_ops.scatter_add(x, i, v, use_locking=self._use_locking)

        def scatter_update(x, i, v):
            return state_ops.scatter_update(x, i, v, use_locking=self._use_locking)

        return self._apply_sparse_shared(grad.values, var, grad.indices, scatter_add, scatter_update)

    def _resource_apply_sparse(self, grad, var, indices):
        def scatter_add(x, i, v):
            return gen_resource_variable_ops.resource_scatter_add(x.handle, i, v)

        def scatter_update(x, i, v):
            return gen_resource_variable_ops.resource_scatter_update(x.handle, i, v)

        return self._apply_sparse_shared(grad, var, indices, scatter_add, scatter_update)

    def _finish(self, update_ops, name_scope):
        with ops.control_dependencies(update_ops):
            beta1_power = self._get_beta_accumulators()
            with ops.colocate_with(beta1_power):
                update = beta1_power.assign(beta1_power * self._beta1_t, use_locking=self._use_locking)
        return control_flow_ops.group(*update_ops + [update], name=name_scope)
