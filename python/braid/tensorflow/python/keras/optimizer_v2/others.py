"""RMSprop, Adagrad, Adadelta, Adamax, Nadam and Ftrl."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras import backend
from braid.tensorflow.python.keras import initializers
from braid.tensorflow.python.keras.optimizer_v2 import optimizer_v2
from braid.tensorflow.python.keras.optimizer_v2.adam import _read
from braid.tensorflow.python.keras.optimizer_v2.gradient_descent import _scatter_add
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.util.tf_export import keras_export


class _Optimizer(optimizer_v2.OptimizerV2):
    """An optimizer whose settings are hyperparameters and attributes."""

    _HYPERS = ()
    _ATTRIBUTES = ("epsilon",)

    def get_config(self):
        config = super().get_config()
        for name in ("learning_rate", "decay") + self._HYPERS:
            config[name] = self._serialize_hyperparameter(name)
        config.update((name, getattr(self, name)) for name in self._ATTRIBUTES)
        return config

    def _set_rate(self, kwargs, learning_rate):
        self._set_hyper("learning_rate", kwargs.get("lr", learning_rate))
        self._set_hyper("decay", self._initial_decay)

    def _slots_of(self, var, *names):
        return [self.get_slot(var, name) for name in names]


@keras_export("keras.optimizers.RMSprop")
class RMSprop(_Optimizer):
    """Divides gradients by the root of their mean square (Tieleman & Hinton 2012)."""

    _HYPERS = ("rho", "momentum")
    _ATTRIBUTES = ("epsilon", "centered")

    def __init__(
        self,
        learning_rate=0.001,
        rho=0.9,
        momentum=0.0,
        epsilon=1e-7,
        centered=False,
        name="RMSprop",
        **kwargs,
    ):
        super().__init__(name, **kwargs)
        self._set_rate(kwargs, learning_rate)
        self._set_hyper("rho", rho)
        self._momentum = not isinstance(momentum, (int, float)) or momentum > 0
        if isinstance(momentum, (int, float)) and (momentum < 0 or momentum > 1):
            raise ValueError("`momentum` must be between [0, 1].")
        self._set_hyper("momentum", momentum)
        self.epsilon = epsilon or backend.epsilon()
        self.centered = centered

    def _create_slots(self, var_list):
        names = ["rms"] + ["momentum"] * bool(self._momentum) + ["mg"] * bool(self.centered)
        for name in names:
            for var in var_list:
                self.add_slot(var, name)

    def _resource_apply_dense(self, grad, var):
        dtype = var.dtype.base_dtype
        rate, rho = self._decayed_lr(dtype), self._get_hyper("rho", dtype)
        rms = self.get_slot(var, "rms")
        if self._momentum:
            momentum = self._get_hyper("momentum", dtype)
            common = (rate, rho, momentum, math_ops.cast(self.epsilon, dtype), grad)
            mom = self.get_slot(var, "momentum")
            if self.centered:
                slots = [self.get_slot(var, "mg"), rms, mom]
                return optimizer_v2.run_apply(
                    "centered_rms_prop", var, slots, *common, use_locking=self._use_locking
                )
            return optimizer_v2.run_apply("rms_prop", var, [rms, mom], *common, use_locking=self._use_locking)
        rms_t = state_ops.assign(rms, rho * rms + (1 - rho) * math_ops.square(grad))
        denominator = rms_t
        if self.centered:
            mg = self.get_slot(var, "mg")
            mg_t = state_ops.assign(mg, rho * mg + (1 - rho) * grad)
            denominator = rms_t - math_ops.square(mg_t)
        return state_ops.assign_sub(var, rate * grad / (math_ops.sqrt(denominator) + self.epsilon)).op

    def _resource_apply_sparse(self, grad, var, indices):
        dtype = var.dtype.base_dtype
        rate, rho = self._decayed_lr(dtype), self._get_hyper("rho", dtype)
        rms = self.get_slot(var, "rms")
        if self._momentum:
            momentum = self._get_hyper("momentum", dtype)
            common = (rate, rho, momentum, math_ops.cast(self.epsilon, dtype), grad, indices)
            mom = self.get_slot(var, "momentum")
            if self.centered:
                slots = [self.get_slot(var, "mg"), rms, mom]
                return optimizer_v2.run_sparse_apply(
                    "centered_rms_prop", var, slots, *common, use_locking=self._use_locking
                )
            return optimizer_v2.run_sparse_apply(
                "rms_prop", var, [rms, mom], *common, use_locking=self._use_locking
            )

        def decayed(slot, value):
            kept = state_ops.assign(slot, slot * rho)
            with ops.control_dependencies([kept]):
                return _scatter_add(slot, indices, value * (1 - rho))

        done = [decayed(rms, grad * grad)]
        if self.centered:
            done.append(decayed(self.get_slot(var, "mg"), grad))
        with ops.control_dependencies(done):
            denominator = array_ops.gather(_read(rms), indices)
            if self.centered:
                denominator -= math_ops.square(array_ops.gather(_read(self.get_slot(var, "mg")), indices))
            return _scatter_add(var, indices, -rate * grad / (math_ops.sqrt(denominator) + self.epsilon))


RMSProp = RMSprop


@keras_export("keras.optimizers.Adagrad")
class Adagrad(_Optimizer):
    """Divides gradients by the root of the sum of their squares (Duchi et al. 2011)."""

    _ATTRIBUTES = ("epsilon",)

    def __init__(
        self, learning_rate=0.001, initial_accumulator_value=0.1, epsilon=1e-7, name="Adagrad", **kwargs
    ):
        if initial_accumulator_value < 0.0:
            raise ValueError(f"initial_accumulator_value must be non-negative: {initial_accumulator_value}")
        super().__init__(name, **kwargs)
        self._set_rate(kwargs, learning_rate)
        self._initial_accumulator_value = initial_accumulator_value
        self.epsilon = epsilon or backend.epsilon()

    def _create_slots(self, var_list):
        for var in var_list:
            self.add_slot(var, "accumulator", initializers.Constant(self._initial_accumulator_value))

    def _resource_apply_dense(self, grad, var):
        rate, accumulator = self._decayed_lr(var.dtype.base_dtype), self.get_slot(var, "accumulator")
        total = state_ops.assign_add(accumulator, math_ops.square(grad))
        return state_ops.assign_sub(var, rate * grad / (math_ops.sqrt(total) + self.epsilon)).op

    def _resource_apply_sparse(self, grad, var, indices):
        rate, accumulator = self._decayed_lr(var.dtype.base_dtype), self.get_slot(var, "accumulator")
        added = _scatter_add(accumulator, indices, math_ops.square(grad))
        with ops.control_dependencies([added]):
            total = array_ops.gather(_read(accumulator), indices)
            return _scatter_add(var, indices, -rate * grad / (math_ops.sqrt(total) + self.epsilon))

    def get_config(self):
        return dict(super().get_config(), initial_accumulator_value=self._initial_accumulator_value)


@keras_export("keras.optimizers.Adadelta")
class Adadelta(_Optimizer):
    """Steps of the size of earlier ones (Zeiler 2012, arXiv:1212.5701)."""

    _HYPERS = ("rho",)

    def __init__(self, learning_rate=0.001, rho=0.95, epsilon=1e-7, name="Adadelta", **kwargs):
        super().__init__(name, **kwargs)
        self._set_rate(kwargs, learning_rate)
        self._set_hyper("rho", rho)
        self.epsilon = epsilon or backend.epsilon()

    def _create_slots(self, var_list):
        for name in ("accum_grad", "accum_var"):
            for var in var_list:
                self.add_slot(var, name)

    def _resource_apply_dense(self, grad, var):
        dtype = var.dtype.base_dtype
        return optimizer_v2.run_apply(
            "adadelta",
            var,
            self._slots_of(var, "accum_grad", "accum_var"),
            self._decayed_lr(dtype),
            self._get_hyper("rho", dtype),
            math_ops.cast(self.epsilon, dtype),
            grad,
            use_locking=self._use_locking,
        )

    def _resource_apply_sparse(self, grad, var, indices):
        dtype = var.dtype.base_dtype
        return optimizer_v2.run_sparse_apply(
            "adadelta",
            var,
            self._slots_of(var, "accum_grad", "accum_var"),
            self._decayed_lr(dtype),
            self._get_hyper("rho", dtype),
            math_ops.cast(self.epsilon, dtype),
            grad,
            indices,
            use_locking=self._use_locking,
        )


@keras_export("keras.optimizers.Adamax")
class Adamax(_Optimizer):
    """Adam with the infinity norm (Kingma & Ba 2015, section 7)."""

    _HYPERS = ("beta_1", "beta_2")

    def __init__(self, learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7, name="Adamax", **kwargs):
        super().__init__(name, **kwargs)
        self._set_rate(kwargs, learning_rate)
        self._set_hyper("beta_1", beta_1)
        self._set_hyper("beta_2", beta_2)
        self.epsilon = epsilon or backend.epsilon()

    def _create_slots(self, var_list):
        for name in ("m", "v"):
            for var in var_list:
                self.add_slot(var, name)

    def _resource_apply_dense(self, grad, var):
        dtype = var.dtype.base_dtype
        beta_1, beta_2 = self._get_hyper("beta_1", dtype), self._get_hyper("beta_2", dtype)
        power = math_ops.pow(beta_1, math_ops.cast(self.iterations + 1, dtype))
        m, v = self._slots_of(var, "m", "v")
        m_t = state_ops.assign(m, beta_1 * m + (1 - beta_1) * grad)
        v_t = state_ops.assign(v, math_ops.maximum(beta_2 * v, math_ops.abs(grad)))
        rate = self._decayed_lr(dtype) / (1 - power)
        return state_ops.assign_sub(var, rate * m_t / (v_t + self.epsilon)).op

    def _resource_apply_sparse(self, grad, var, indices):
        dtype = var.dtype.base_dtype
        beta_1, beta_2 = self._get_hyper("beta_1", dtype), self._get_hyper("beta_2", dtype)
        power = math_ops.pow(beta_1, math_ops.cast(self.iterations + 1, dtype))
        m, v = self._slots_of(var, "m", "v")
        m_rows = array_ops.gather(m, indices)
        v_rows = array_ops.gather(v, indices)
        m_new = beta_1 * m_rows + (1 - beta_1) * grad
        v_new = math_ops.maximum(beta_2 * v_rows, math_ops.abs(grad))
        rate = self._decayed_lr(dtype) / (1 - power)
        with ops.control_dependencies([m_new, v_new]):
            return control_flow_ops.group(
                _scatter_add(m, indices, m_new - m_rows),
                _scatter_add(v, indices, v_new - v_rows),
                _scatter_add(var, indices, -rate * m_new / (v_new + self.epsilon)),
            )


@keras_export("keras.optimizers.Nadam")
class Nadam(_Optimizer):
    """Adam with Nesterov's momentum (Dozat 2015)."""

    _HYPERS = ("beta_1", "beta_2")

    def __init__(self, learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7, name="Nadam", **kwargs):
        kwargs["decay"] = kwargs.pop("schedule_decay", 0.004)
        super().__init__(name, **kwargs)
        self._set_rate(kwargs, learning_rate)
        self._set_hyper("beta_1", beta_1)
        self._set_hyper("beta_2", beta_2)
        self.epsilon = epsilon or backend.epsilon()
        self._m_cache = None

    def _create_slots(self, var_list):
        if self._m_cache is None:
            dtype = var_list[0].dtype.base_dtype
            self._m_cache = self.add_weight(
                "momentum_cache", shape=[], initializer="ones", dtype=dtype, trainable=False
            )
            self._weights.append(self._m_cache)
        for name in ("m", "v"):
            for var in var_list:
                self.add_slot(var, name)

    def _prepare(self, var_list):
        dtype = var_list[0].dtype.base_dtype
        beta_1 = self._get_hyper("beta_1", dtype)
        decay = math_ops.cast(self._initial_decay, dtype)
        t = math_ops.cast(self.iterations + 1, dtype)
        base = math_ops.cast(0.96, dtype)
        self._m_t = beta_1 * (1.0 - 0.5 * math_ops.pow(base, decay * t))
        self._m_t_1 = beta_1 * (1.0 - 0.5 * math_ops.pow(base, decay * (t + 1)))
        self._schedule = state_ops.assign(self._m_cache, self._m_cache * self._m_t)
        self._schedule_next = self._schedule * self._m_t_1
        self._t = t

    def _resource_apply_dense(self, grad, var):
        dtype = var.dtype.base_dtype
        rate = self._get_hyper("learning_rate", dtype)
        beta_1, beta_2 = self._get_hyper("beta_1", dtype), self._get_hyper("beta_2", dtype)
        m, v = self._slots_of(var, "m", "v")
        g_prime = grad / (1.0 - self._schedule)
        m_t = state_ops.assign(m, beta_1 * m + (1 - beta_1) * grad)
        m_prime = m_t / (1.0 - self._schedule_next)
        v_t = state_ops.assign(v, beta_2 * v + (1 - beta_2) * math_ops.square(grad))
        v_prime = v_t / (1.0 - math_ops.pow(beta_2, self._t))
        m_bar = (1.0 - self._m_t) * g_prime + self._m_t_1 * m_prime
        return state_ops.assign_sub(var, rate * m_bar / (math_ops.sqrt(v_prime) + self.epsilon)).op

    def _resource_apply_sparse(self, grad, var, indices):
        dense = array_ops.scatter_nd(
            array_ops.expand_dims(math_ops.cast(indices, "int64"), 1),
            grad,
            array_ops.shape(var, out_type="int64"),
        )
        return self._resource_apply_dense(dense, var)


@keras_export("keras.optimizers.Ftrl")
class Ftrl(_Optimizer):
    """Follow the regularized leader (McMahan et al. 2013)."""

    _HYPERS = ("learning_rate_power", "l1_regularization_strength", "l2_regularization_strength")
    _ATTRIBUTES = ()

    def __init__(
        self,
        learning_rate=0.001,
        learning_rate_power=-0.5,
        initial_accumulator_value=0.1,
        l1_regularization_strength=0.0,
        l2_regularization_strength=0.0,
        name="Ftrl",
        l2_shrinkage_regularization_strength=0.0,
        **kwargs,
    ):
        super().__init__(name, **kwargs)
        for label, value in (
            ("initial_accumulator_value", initial_accumulator_value),
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
        ):
            if value < 0.0:
                raise ValueError(f"{label} {value} needs to be positive or zero")
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power} needs to be negative or zero")
        self._set_rate(kwargs, learning_rate)
        self._set_hyper("learning_rate_power", learning_rate_power)
        self._set_hyper("l1_regularization_strength", l1_regularization_strength)
        self._set_hyper("l2_regularization_strength", l2_regularization_strength)
        self._initial_accumulator_value = initial_accumulator_value
        self._shrinkage = l2_shrinkage_regularization_strength

    def _create_slots(self, var_list):
        for var in var_list:
            self.add_slot(var, "accumulator", initializers.Constant(self._initial_accumulator_value))
            self.add_slot(var, "linear")

    def _arguments(self, var, grad, indices=()):
        dtype = var.dtype.base_dtype
        hyper = lambda name: self._get_hyper(name, dtype)  # noqa: E731
        more = (math_ops.cast(self._shrinkage, dtype),) if self._shrinkage > 0.0 else ()
        return (
            (
                grad,
                *indices,
                self._decayed_lr(dtype),
                hyper("l1_regularization_strength"),
                hyper("l2_regularization_strength"),
            )
            + more
            + (hyper("learning_rate_power"),)
        )

    @property
    def _op(self):
        return "ftrl_v2" if self._shrinkage > 0.0 else "ftrl"

    def _resource_apply_dense(self, grad, var):
        return optimizer_v2.run_apply(
            self._op,
            var,
            self._slots_of(var, "accumulator", "linear"),
            *self._arguments(var, grad),
            use_locking=self._use_locking,
        )

    def _resource_apply_sparse(self, grad, var, indices):
        return optimizer_v2.run_sparse_apply(
            self._op,
            var,
            self._slots_of(var, "accumulator", "linear"),
            *self._arguments(var, grad, (indices,)),
            use_locking=self._use_locking,
        )

    def get_config(self):
        return dict(
            super().get_config(),
            initial_accumulator_value=self._initial_accumulator_value,
            l2_shrinkage_regularization_strength=self._shrinkage,
        )
