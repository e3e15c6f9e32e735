"""Adam."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras import backend
from braid.tensorflow.python.keras.optimizer_v2 import optimizer_v2
from braid.tensorflow.python.keras.optimizer_v2.gradient_descent import _scatter_add
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.optimizers.Adam")
class Adam(optimizer_v2.OptimizerV2):
    """Adam (Kingma & Ba 2015, arXiv:1412.6980), as amsgrad with the largest second moment (Reddi et al. 2018)."""

    def __init__(
        self,
        learning_rate=0.001,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-7,
        amsgrad=False,
        name="Adam",
        **kwargs,
    ):
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("beta_1", beta_1)
        self._set_hyper("beta_2", beta_2)
        self.epsilon = epsilon or backend.epsilon()
        self.amsgrad = amsgrad

    def _create_slots(self, var_list):
        for name in ("m", "v") + (("vhat",) if self.amsgrad else ()):
            for var in var_list:
                self.add_slot(var, name)

    def _terms(self, dtype):
        """(learning rate, beta_1, beta_2, beta_1 ** t, beta_2 ** t) of this step."""
        beta_1, beta_2 = self._get_hyper("beta_1", dtype), self._get_hyper("beta_2", dtype)
        t = math_ops.cast(self.iterations + 1, dtype)
        return self._decayed_lr(dtype), beta_1, beta_2, math_ops.pow(beta_1, t), math_ops.pow(beta_2, t)

    def _resource_apply_dense(self, grad, var):
        dtype = var.dtype.base_dtype
        rate, beta_1, beta_2, power_1, power_2 = self._terms(dtype)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        if not self.amsgrad:
            return optimizer_v2.run_apply(
                "adam",
                var,
                [m, v],
                power_1,
                power_2,
                rate,
                beta_1,
                beta_2,
                math_ops.cast(self.epsilon, dtype),
                grad,
                use_locking=self._use_locking,
            )
        vhat = self.get_slot(var, "vhat")
        m_t = state_ops.assign(m, beta_1 * m + (1 - beta_1) * grad)
        v_t = state_ops.assign(v, beta_2 * v + (1 - beta_2) * math_ops.square(grad))
        top = state_ops.assign(vhat, math_ops.maximum(vhat, v_t))
        step = rate * math_ops.sqrt(1 - power_2) / (1 - power_1)
        return state_ops.assign_sub(var, step * m_t / (math_ops.sqrt(top) + self.epsilon)).op

    def _resource_apply_sparse(self, grad, var, indices):
        dtype = var.dtype.base_dtype
        rate, beta_1, beta_2, power_1, power_2 = self._terms(dtype)
        step = rate * math_ops.sqrt(1 - power_2) / (1 - power_1)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_t = state_ops.assign(m, m * beta_1, use_locking=self._use_locking)
        with ops.control_dependencies([m_t]):
            m_t = _scatter_add(m, indices, grad * (1 - beta_1))
        v_t = state_ops.assign(v, v * beta_2, use_locking=self._use_locking)
        with ops.control_dependencies([v_t]):
            v_t = _scatter_add(v, indices, grad * grad * (1 - beta_2))
        with ops.control_dependencies([m_t, v_t]):
            top = _read(v)
            if self.amsgrad:
                vhat = self.get_slot(var, "vhat")
                top = state_ops.assign(vhat, math_ops.maximum(_read(vhat), top))
            update = state_ops.assign_sub(
                var, step * _read(m) / (math_ops.sqrt(top) + self.epsilon), use_locking=self._use_locking
            )
        return control_flow_ops.group(update, m_t, v_t)

    def get_config(self):
        return dict(
            super().get_config(),
            learning_rate=self._serialize_hyperparameter("learning_rate"),
            decay=self._serialize_hyperparameter("decay"),
            beta_1=self._serialize_hyperparameter("beta_1"),
            beta_2=self._serialize_hyperparameter("beta_2"),
            epsilon=self.epsilon,
            amsgrad=self.amsgrad,
        )


def _read(var):
    """The value after the control dependencies."""
    if hasattr(var, "read_value"):
        return var.read_value()
    return var
