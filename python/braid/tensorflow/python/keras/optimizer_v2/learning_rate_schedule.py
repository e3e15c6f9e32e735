"""Learning rates as functions of the step, for tf.keras' optimizers."""

import abc
import math

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras.utils import generic_utils
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.optimizers.schedules.LearningRateSchedule")
class LearningRateSchedule(metaclass=abc.ABCMeta):
    """A learning rate of the step."""

    @abc.abstractmethod
    def __call__(self, step):
        """The learning rate, a tensor."""

    @abc.abstractmethod
    def get_config(self):
        """The settings."""

    @classmethod
    def from_config(cls, config):
        return cls(**config)


class _Settings(LearningRateSchedule):
    """A schedule whose settings are its attributes."""

    _NAMES = ()

    def get_config(self):
        return {name: getattr(self, name) for name in self._NAMES}

    def _converted(self, step, *values):
        rate = ops.convert_to_tensor(self.initial_learning_rate, name="initial_learning_rate")
        return (rate,) + tuple(math_ops.cast(v, rate.dtype) for v in (step,) + values)


@keras_export("keras.optimizers.schedules.ExponentialDecay")
class ExponentialDecay(_Settings):
    """initial * decay_rate ** (step / decay_steps)."""

    _NAMES = ("initial_learning_rate", "decay_steps", "decay_rate", "staircase", "name")

    def __init__(self, initial_learning_rate, decay_steps, decay_rate, staircase=False, name=None):
        self.initial_learning_rate, self.decay_steps, self.decay_rate = (
            initial_learning_rate,
            decay_steps,
            decay_rate,
        )
        self.staircase, self.name = staircase, name

    def __call__(self, step):
        with ops.name_scope(self.name or "ExponentialDecay") as name:
            rate, step, steps, decay = self._converted(step, self.decay_steps, self.decay_rate)
            p = step / steps
            if self.staircase:
                p = math_ops.floor(p)
            return math_ops.multiply(rate, math_ops.pow(decay, p), name=name)


@keras_export("keras.optimizers.schedules.PiecewiseConstantDecay")
class PiecewiseConstantDecay(LearningRateSchedule):
    """values[i] up to step boundaries[i], the last of `values` after all."""

    def __init__(self, boundaries, values, name=None):
        if len(boundaries) != len(values) - 1:
            raise ValueError("The length of boundaries should be 1 less than the length of values")
        self.boundaries, self.values, self.name = boundaries, values, name

    def __call__(self, step):
        with ops.name_scope(self.name or "PiecewiseConstant"):
            values = [ops.convert_to_tensor(v) for v in self.values]
            step = ops.convert_to_tensor(step, name="Step")
            limits = [math_ops.cast(b, step.dtype.base_dtype) for b in self.boundaries]
            cases = [(step <= limits[0], lambda: values[0]), (step > limits[-1], lambda: values[-1])]
            for low, high, v in zip(limits[:-1], limits[1:], values[1:-1]):
                cases.append(((step > low) & (step <= high), lambda v=v: v))
            return control_flow_ops.case(cases, lambda: values[0], exclusive=True)

    def get_config(self):
        return {"boundaries": self.boundaries, "values": self.values, "name": self.name}


@keras_export("keras.optimizers.schedules.PolynomialDecay")
class PolynomialDecay(_Settings):
    """From the initial to the end rate, by (1 - step / decay_steps) ** power."""

    _NAMES = ("initial_learning_rate", "decay_steps", "end_learning_rate", "power", "cycle", "name")

    def __init__(
        self, initial_learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False, name=None
    ):
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.end_learning_rate, self.power, self.cycle, self.name = end_learning_rate, power, cycle, name

    def __call__(self, step):
        with ops.name_scope(self.name or "PolynomialDecay") as name:
            rate, step, steps, end, power = self._converted(
                step, self.decay_steps, self.end_learning_rate, self.power
            )
            if self.cycle:
                one = constant_op.constant(1.0, dtype=rate.dtype)
                steps = steps * math_ops.maximum(one, math_ops.ceil(step / steps))
            else:
                step = math_ops.minimum(step, steps)
            return math_ops.add((rate - end) * math_ops.pow(1 - step / steps, power), end, name=name)


@keras_export("keras.optimizers.schedules.InverseTimeDecay")
class InverseTimeDecay(_Settings):
    """initial / (1 + decay_rate * step / decay_steps)."""

    _NAMES = ("initial_learning_rate", "decay_steps", "decay_rate", "staircase", "name")

    def __init__(self, initial_learning_rate, decay_steps, decay_rate, staircase=False, name=None):
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.decay_rate, self.staircase, self.name = decay_rate, staircase, name

    def __call__(self, step):
        with ops.name_scope(self.name or "InverseTimeDecay") as name:
            rate, step, steps, decay = self._converted(step, self.decay_steps, self.decay_rate)
            p = step / steps
            if self.staircase:
                p = math_ops.floor(p)
            return math_ops.divide(rate, 1 + decay * p, name=name)


class _Cosine(_Settings):
    """What decays by cosines share."""

    def _rate(self):
        return ops.convert_to_tensor(self.initial_learning_rate, name="initial_learning_rate")


def _half_cosine(fraction, dtype):
    pi = constant_op.constant(math.pi, dtype=dtype)
    return 0.5 * (1.0 + math_ops.cos(pi * fraction))


@keras_export("keras.experimental.CosineDecay")
class CosineDecay(_Cosine):
    """From the initial rate to alpha times it in decay_steps, by a half cosine (Loshchilov and Hutter, 2016)."""

    _NAMES = ("initial_learning_rate", "decay_steps", "alpha", "name")

    def __init__(self, initial_learning_rate, decay_steps, alpha=0.0, name=None):
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.alpha, self.name = alpha, name

    def __call__(self, step):
        with ops.name_scope(self.name or "CosineDecay"):
            rate = self._rate()
            steps = math_ops.cast(self.decay_steps, rate.dtype)
            step = math_ops.minimum(math_ops.cast(step, rate.dtype), steps)
            decayed = (1 - self.alpha) * _half_cosine(step / steps, rate.dtype) + self.alpha
            return math_ops.multiply(rate, decayed)


@keras_export("keras.experimental.CosineDecayRestarts")
class CosineDecayRestarts(_Cosine):
    """Half cosines one after another (SGDR; Loshchilov and Hutter, 2016).

    t_mul: how much longer each is than the one before. m_mul: how much its first rate is of that of the one
    before. alpha: the smallest rate, as a fraction of the initial one.
    """

    _NAMES = ("initial_learning_rate", "first_decay_steps", "t_mul", "m_mul", "alpha", "name")

    def __init__(self, initial_learning_rate, first_decay_steps, t_mul=2.0, m_mul=1.0, alpha=0.0, name=None):
        self.initial_learning_rate, self.first_decay_steps = initial_learning_rate, first_decay_steps
        self._t_mul, self._m_mul = t_mul, m_mul
        self.alpha, self.name = alpha, name

    t_mul = property(lambda self: self._t_mul)
    m_mul = property(lambda self: self._m_mul)

    def __call__(self, step):
        with ops.name_scope(self.name or "SGDRDecay") as name:
            rate = self._rate()
            dtype = rate.dtype
            completed = math_ops.cast(step, dtype) / math_ops.cast(self.first_decay_steps, dtype)
            alpha, t_mul, m_mul = (math_ops.cast(v, dtype) for v in (self.alpha, self._t_mul, self._m_mul))

            def equal():
                restarts = math_ops.floor(completed)
                return restarts, completed - restarts

            def growing():
                restarts = math_ops.floor(math_ops.log(1.0 - completed * (1.0 - t_mul)) / math_ops.log(t_mul))
                before = (1.0 - t_mul**restarts) / (1.0 - t_mul)
                return restarts, (completed - before) / t_mul**restarts

            restarts, fraction = control_flow_ops.cond(math_ops.equal(t_mul, 1.0), equal, growing)
            decayed = (1 - alpha) * (m_mul**restarts * _half_cosine(fraction, dtype)) + alpha
            return math_ops.multiply(rate, decayed, name=name)


@keras_export("keras.experimental.LinearCosineDecay")
class LinearCosineDecay(_Cosine):
    """rate * ((alpha + linear) * cosine + beta), linear falling from 1 to 0 (Bello et al., 2017)."""

    _NAMES = ("initial_learning_rate", "decay_steps", "num_periods", "alpha", "beta", "name")

    def __init__(self, initial_learning_rate, decay_steps, num_periods=0.5, alpha=0.0, beta=0.001, name=None):
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.num_periods, self.alpha, self.beta, self.name = num_periods, alpha, beta, name

    _SCOPE = "LinearCosineDecay"

    def _deviation(self, step, shape_of):
        """What is added to `linear`."""
        return None

    def __call__(self, step):
        with ops.name_scope(self.name or self._SCOPE) as name:
            rate = self._rate()
            dtype = rate.dtype
            steps, periods, alpha, beta = (
                math_ops.cast(v, dtype) for v in (self.decay_steps, self.num_periods, self.alpha, self.beta)
            )
            step = math_ops.minimum(math_ops.cast(step, dtype), steps)
            linear = (steps - step) / steps
            deviation = self._deviation(step, linear)
            if deviation is not None:
                linear = linear + deviation
            turns = 2.0 * periods * (step / steps)
            cosine = _half_cosine(turns, dtype)
            return math_ops.multiply(rate, (alpha + linear) * cosine + beta, name=name)


@keras_export("keras.experimental.NoisyLinearCosineDecay")
class NoisyLinearCosineDecay(LinearCosineDecay):
    """LinearCosineDecay with noise of the variance initial_variance / (1 + step) ** variance_decay."""

    _NAMES = (
        "initial_learning_rate",
        "decay_steps",
        "initial_variance",
        "variance_decay",
        "num_periods",
        "alpha",
        "beta",
        "name",
    )
    _SCOPE = "NoisyLinearCosineDecay"

    def __init__(
        self,
        initial_learning_rate,
        decay_steps,
        initial_variance=1.0,
        variance_decay=0.55,
        num_periods=0.5,
        alpha=0.0,
        beta=0.001,
        name=None,
    ):
        super().__init__(initial_learning_rate, decay_steps, num_periods, alpha, beta, name)
        self.initial_variance, self.variance_decay = initial_variance, variance_decay

    def _deviation(self, step, linear):
        variance = math_ops.cast(self.initial_variance, step.dtype) / math_ops.pow(
            1.0 + step, math_ops.cast(self.variance_decay, step.dtype)
        )
        return random_ops.random_normal(linear.shape, stddev=math_ops.sqrt(variance), dtype=step.dtype)


@keras_export("keras.optimizers.schedules.serialize")
def serialize(learning_rate_schedule):
    return generic_utils.serialize_keras_object(learning_rate_schedule)


@keras_export("keras.optimizers.schedules.deserialize")
def deserialize(config, custom_objects=None):
    return generic_utils.deserialize_keras_object(
        config, module_objects=globals(), custom_objects=custom_objects, printable_module_name="decay"
    )
