"""Learning rates as functions of the step, for tf.keras' optimizers."""

import abc

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras.utils import generic_utils
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
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


@keras_export("keras.optimizers.schedules.serialize")
def serialize(learning_rate_schedule):
    return generic_utils.serialize_keras_object(learning_rate_schedule)


@keras_export("keras.optimizers.schedules.deserialize")
def deserialize(config, custom_objects=None):
    return generic_utils.deserialize_keras_object(
        config, module_objects=globals(), custom_objects=custom_objects, printable_module_name="decay"
    )
