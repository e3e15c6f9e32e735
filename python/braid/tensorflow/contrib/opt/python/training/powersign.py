"""PowerSign (Bello et al., Neural Optimizer Search with Reinforcement Learning, 2017)."""

import math

from braid.tensorflow.contrib.opt.python.training import addsign
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.training import training_ops


class PowerSignOptimizer(addsign.SignOptimizer):
    """The gradient times base to the power of decay * sign(gradient) * sign(average)."""

    def __init__(
        self,
        learning_rate=0.1,
        base=math.e,
        beta=0.9,
        sign_decay_fn=None,
        use_locking=False,
        name="PowerSignOptimizer",
    ):
        """sign_decay_fn: a function of the global step, as those of sign_decay.py."""
        super().__init__(learning_rate, ("logbase", math.log(base)), beta, sign_decay_fn, use_locking, name)

    def _apply_dense(self, grad, var):
        m = self.get_slot(var, "m")
        parameters = self._parameters(var.dtype)
        return training_ops.apply_power_sign(var, m, *parameters, grad, use_locking=self._use_locking).op

    def _resource_apply_dense(self, grad, var):
        m = self.get_slot(var, "m")
        return training_ops.resource_apply_power_sign(
            var.handle, m.handle, *self._parameters(var.dtype), grad, use_locking=self._use_locking
        )

    def _multiplier(self, logbase, signs):
        return math_ops.exp(logbase * signs)
