"""Adam whose powers of beta1 and beta2 are those of the global step."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.ops import array_ops, control_flow_ops, math_ops
from braid.tensorflow.python.training import adam


class AdamGSOptimizer(adam.AdamOptimizer):
    """Adam without the variables beta1_power and beta2_power, which all workers of a cluster would write
    to."""

    def __init__(
        self,
        global_step=0,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        use_locking=False,
        name="Adam",
    ):
        """global_step: the variable that counts the steps."""
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._global_step = global_step
        self._global_step_on_worker = None

    def _get_beta_accumulators(self):
        step = self._global_step_on_worker
        return math_ops.pow(self._beta1_t, step), math_ops.pow(self._beta2_t, step)

    def _create_slots(self, var_list):
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _prepare(self):
        super()._prepare()
        step = array_ops.identity(self._global_step)  # one read of the global step for all variables
        self._global_step_on_worker = math_ops.cast(step + 1, dtypes.float32)

    def _finish(self, update_ops, name_scope):
        return control_flow_ops.group(*update_ops, name=name_scope)
