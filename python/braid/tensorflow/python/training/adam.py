"""Adam (Kingma and Ba, 2014, algorithm 1, with epsilon as in section 2's efficient order of computation)."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import (
    control_flow_ops,
    gen_resource_variable_ops,
    math_ops,
    state_ops,
)
from braid.tensorflow.python.training import optimizer, training_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["train.AdamOptimizer"])
class AdamOptimizer(optimizer.Optimizer):
    """Adam. Its slots are "m" and "v"; it also has the variables beta1_power and beta2_power.

    A sparse gradient moves all rows, because m and v of all rows decay.
    """

    def __init__(
        self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=False, name="Adam"
    ):
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon
        self._lr_t = None
        self._beta1_t = None
        self._beta2_t = None
        self._epsilon_t = None

    def _get_beta_accumulators(self):
        graph = ops.get_default_graph()
        return (
            self._get_non_slot_variable("beta1_power", graph=graph),
            self._get_non_slot_variable("beta2_power", graph=graph),
        )

    def _create_slots(self, var_list):
        # The variable of the smallest name, so that all workers place the powers alike.
        first = min(var_list, key=lambda v: v.name)
        self._create_non_slot_variable(self._call_if_callable(self._beta1), "beta1_power", first)
        self._create_non_slot_variable(self._call_if_callable(self._beta2), "beta2_power", first)
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _prepare(self):
        self._lr_t = ops.convert_to_tensor(self._call_if_callable(self._lr), name="learning_rate")
        self._beta1_t = ops.convert_to_tensor(self._call_if_callable(self._beta1), name="beta1")
        self._beta2_t = ops.convert_to_tensor(self._call_if_callable(self._beta2), name="beta2")
        self._epsilon_t = ops.convert_to_tensor(self._call_if_callable(self._epsilon), name="epsilon")

    def _parameters(self, dtype):
        """beta1_power, beta2_power, learning rate, beta1, beta2, epsilon in this dtype."""
        both = self._get_beta_accumulators()
        given = (*both, self._lr_t, self._beta1_t, self._beta2_t, self._epsilon_t)
        return [math_ops.cast(p, dtype.base_dtype) for p in given]

    def _apply_dense(self, grad, var):
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        parameters = self._parameters(var.dtype)
        return training_ops.apply_adam(var, m, v, *parameters, grad, use_locking=self._use_locking).op

    def _resource_apply_dense(self, grad, var):
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        parameters = self._parameters(grad.dtype)
        return training_ops.resource_apply_adam(
            var.handle, m.handle, v.handle, *parameters, grad, use_locking=self._use_locking
        )

    def _apply_sparse_shared(self, grad, var, indices, scatter_add):
        beta1_power, beta2_power, rate, beta1, beta2, epsilon = self._parameters(var.dtype)
        rate = rate * math_ops.sqrt(1 - beta2_power) / (1 - beta1_power)
        m = self.get_slot(var, "m")
        m_new = grad * (1 - beta1)
        m_t = state_ops.assign(m, m * beta1, use_locking=self._use_locking)
        with ops.control_dependencies([m_t]):
            m_t = scatter_add(m, indices, m_new)
        v = self.get_slot(var, "v")
        v_new = (grad * grad) * (1 - beta2)
        v_t = state_ops.assign(v, v * beta2, use_locking=self._use_locking)
        with ops.control_dependencies([v_t]):
            v_t = scatter_add(v, indices, v_new)
        root = math_ops.sqrt(v_t)  # before the rest: TensorFlow's order of nodes
        update = state_ops.assign_sub(var, rate * m_t / (root + epsilon), use_locking=self._use_locking)
        return control_flow_ops.group(*[update, m_t, v_t])

    def _apply_sparse(self, grad, var):
        def scatter_add(x, i, v):
            return state_ops.scatter_add(x, i, v, use_locking=self._use_locking)

        return self._apply_sparse_shared(grad.values, var, grad.indices, scatter_add)

    def _resource_scatter_add(self, x, i, v):
        with ops.control_dependencies([gen_resource_variable_ops.resource_scatter_add(x.handle, i, v)]):
            return x.value()

    def _resource_apply_sparse(self, grad, var, indices):
        return self._apply_sparse_shared(grad, var, indices, self._resource_scatter_add)

    def _finish(self, update_ops, name_scope):
        with ops.control_dependencies(update_ops):
            beta1_power, beta2_power = self._get_beta_accumulators()
            with ops.colocate_with(beta1_power):
                update_beta1 = beta1_power.assign(beta1_power * self._beta1_t, use_locking=self._use_locking)
                update_beta2 = beta2_power.assign(beta2_power * self._beta2_t, use_locking=self._use_locking)
        return control_flow_ops.group(*update_ops + [update_beta1, update_beta2], name=name_scope)
