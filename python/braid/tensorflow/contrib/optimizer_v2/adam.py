"""Adam: steps by the moving averages of gradients and of their squares."""

from braid.tensorflow.contrib.optimizer_v2 import _by_ops
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import resource_variable_ops
from braid.tensorflow.python.ops import state_ops


class AdamOptimizer(_by_ops.ByOps):
    """tf.train.AdamOptimizer; its numbers may be functions."""

    def __init__(
        self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=False, name="Adam"
    ):
        super().__init__(use_locking, name)
        self._set_hyper("learning_rate", learning_rate)
        self._set_hyper("beta1", beta1)
        self._set_hyper("beta2", beta2)
        self._set_hyper("epsilon", epsilon)

    def _get_beta_accumulators(self, state=None):
        state = self._get_per_graph_state() if state is None else state
        return state.get_non_slot("beta1_power"), state.get_non_slot("beta2_power")

    def _create_vars(self, var_list, state):
        state.create_non_slot(initial_value=lambda: state.get_hyper("beta1"), name="beta1_power")
        state.create_non_slot(initial_value=lambda: state.get_hyper("beta2"), name="beta2_power")
        for v in var_list:
            state.zeros_slot(v, "m")
            state.zeros_slot(v, "v")

    def _op(self):
        return "adam", ("m", "v")

    def _arguments(self, state, dtype):
        powers = [math_ops.cast(power, dtype) for power in self._get_beta_accumulators(state)]
        return (
            powers
            + [state.get_hyper(name, dtype) for name in ("learning_rate", "beta1", "beta2", "epsilon")],
            [],
        )

    def _apply_sparse_shared(self, grad, var, indices, scatter_add, state):
        """The averages of all rows go down, and those of rows with a gradient go up by it."""
        (power1, power2, rate, beta1, beta2, epsilon), _ = self._arguments(state, var.dtype.base_dtype)
        rate = rate * math_ops.sqrt(1 - power2) / (1 - power1)

        def averaged(slot, beta, value):
            with ops.control_dependencies(
                [state_ops.assign(slot, slot * beta, use_locking=self._use_locking)]
            ):
                return scatter_add(slot, indices, value)

        m = state.get_slot(var, "m")
        scaled = grad * (1 - beta1)
        m_t = averaged(m, beta1, scaled)
        v = state.get_slot(var, "v")
        scaled = (grad * grad) * (1 - beta2)
        v_t = averaged(v, beta2, scaled)
        root = math_ops.sqrt(v_t)
        update = state_ops.assign_sub(var, rate * m_t / (root + epsilon), use_locking=self._use_locking)
        return control_flow_ops.group(update, m_t, v_t)

    def _apply_sparse(self, grad, var, state):
        def scatter_add(slot, indices, value):
            return state_ops.scatter_add(slot, indices, value, use_locking=self._use_locking)

        return self._apply_sparse_shared(grad.values, var, grad.indices, scatter_add, state)

    def _resource_apply_sparse(self, grad, var, indices, state):
        def scatter_add(slot, indices, value):
            with ops.control_dependencies(
                [resource_variable_ops.resource_scatter_add(slot.handle, indices, value)]
            ):
                return slot.value()

        return self._apply_sparse_shared(grad, var, indices, scatter_add, state)

    def _finish(self, state):
        updates = []
        for power, beta in zip(self._get_beta_accumulators(state), ("beta1", "beta2")):
            updates.append(power.assign(power * state.get_hyper(beta), use_locking=self._use_locking))
        return control_flow_ops.group(*updates)
