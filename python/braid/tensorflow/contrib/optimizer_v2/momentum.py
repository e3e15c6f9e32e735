"""Momentum: the gradients of steps before go on to count, less from step to step."""

from braid.tensorflow.contrib.optimizer_v2 import _by_ops


class MomentumOptimizer(_by_ops.ByOps):
    """tf.train.MomentumOptimizer; the learning rate and the momentum may be functions."""

    def __init__(self, learning_rate, momentum, use_locking=False, name="Momentum", use_nesterov=False):
        super().__init__(use_locking, name)
        self._set_hyper("learning_rate", learning_rate)
        self._set_hyper("momentum", momentum)
        self._use_nesterov = use_nesterov

    def _create_vars(self, var_list, state):
        for v in var_list:
            state.zeros_slot(v, "momentum")

    def _op(self):
        return "momentum", ("momentum",)

    def _arguments(self, state, dtype):
        return [state.get_hyper("learning_rate", dtype)], [state.get_hyper("momentum", dtype)]

    def _attributes(self):
        return {"use_locking": self._use_locking, "use_nesterov": self._use_nesterov}
