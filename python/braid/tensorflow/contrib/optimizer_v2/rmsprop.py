"""RMSProp: steps by the moving averages of the squares of gradients, centered or not, with momentum."""

from braid.tensorflow.contrib.optimizer_v2 import _by_ops
from braid.tensorflow.python.ops import array_ops


class RMSPropOptimizer(_by_ops.ByOps):
    """tf.train.RMSPropOptimizer; its numbers may be functions, and the averages of squares begin with epsilon."""

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
        super().__init__(use_locking, name)
        self._set_hyper("learning_rate", learning_rate)
        self._set_hyper("decay", decay)
        self._set_hyper("momentum", momentum)
        self._set_hyper("epsilon", epsilon)
        self._centered = centered

    def _create_vars(self, var_list, state):
        for v in var_list:
            dtype = v.dtype.base_dtype
            initial = state.get_hyper("epsilon", dtype) * array_ops.ones_like(v)
            state.create_slot_with_initializer(v, initial, v.shape, dtype, "rms")
            if self._centered:
                state.zeros_slot(v, "mg")
            state.zeros_slot(v, "momentum")

    def _op(self):
        if self._centered:
            return "centered_rms_prop", ("mg", "rms", "momentum")
        return "rms_prop", ("rms", "momentum")

    def _arguments(self, state, dtype):
        # The op adds nothing to the averages: epsilon is what they begin with.
        return [state.get_hyper(name, dtype) for name in ("learning_rate", "decay", "momentum")] + [0], []
