"""Adadelta: steps by the moving averages of the squares of gradients and updates."""

from braid.tensorflow.contrib.optimizer_v2 import _by_ops


class AdadeltaOptimizer(_by_ops.ByOps):
    """tf.train.AdadeltaOptimizer; its numbers may be functions."""

    def __init__(self, learning_rate=0.001, rho=0.95, epsilon=1e-8, use_locking=False, name="Adadelta"):
        super().__init__(use_locking, name)
        self._set_hyper("learning_rate", learning_rate)
        self._set_hyper("rho", rho)
        self._set_hyper("epsilon", epsilon)

    def _create_vars(self, var_list, state):
        for v in var_list:
            state.zeros_slot(v, "accum")
            state.zeros_slot(v, "accum_update")

    def _op(self):
        return "adadelta", ("accum", "accum_update")

    def _arguments(self, state, dtype):
        return [state.get_hyper(name, dtype) for name in ("learning_rate", "rho", "epsilon")], []
