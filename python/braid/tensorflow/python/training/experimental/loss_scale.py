"""Factors by which losses are multiplied, so that gradients of half precision are not too small."""

import abc

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.training.tracking import base as trackable
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("train.experimental.LossScale")
class LossScale(trackable.Trackable, metaclass=abc.ABCMeta):
    """The base. A call gives the factor, a scalar float32 tensor."""

    def __init__(self):
        self._weights = {}

    @abc.abstractmethod
    def __call__(self):
        """The factor now."""

    @abc.abstractmethod
    def update(self, grads):
        """(the op that changes the factor, whether the gradients are to be applied)."""

    @abc.abstractmethod
    def get_config(self):
        """The arguments of the constructor."""

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def _add_weight(self, name, initial_value, dtype=None):
        """Makes a variable that checkpoints have."""
        variable = variable_scope.variable(
            initial_value=initial_value, name=name, dtype=dtype, trainable=False, use_resource=True
        )
        if self._weights.setdefault(name, variable) is not variable:
            raise RuntimeError(f"Duplicate variables detected. {name}")
        return self._track_trackable(variable, name=name)


@tf_export("train.experimental.FixedLossScale")
class FixedLossScale(LossScale):
    """A factor that stays what it is."""

    def __init__(self, loss_scale_value):
        super().__init__()
        if not isinstance(loss_scale_value, (int, float)):
            raise ValueError("loss_scale_value must be a Python int or float.")
        if loss_scale_value < 1:
            raise ValueError("loss_scale_value must be at least 1.")
        self._loss_scale_value = float(loss_scale_value)

    def __call__(self):
        return ops.convert_to_tensor(self._loss_scale_value)

    def update(self, grads):
        return control_flow_ops.no_op(), True

    def __repr__(self):
        return f"FixedLossScale({self._loss_scale_value})"

    def get_config(self):
        return {"loss_scale_value": self._loss_scale_value}


@tf_export("train.experimental.DynamicLossScale")
class DynamicLossScale(LossScale):
    """A factor that is divided by `multiplier` when gradients are not finite, down to 1, and multiplied by it
    after `increment_period` steps with finite ones.
    """

    def __init__(self, initial_loss_scale=2**15, increment_period=2000, multiplier=2.0):
        super().__init__()
        self._initial_loss_scale = float(initial_loss_scale)
        self._increment_period = int(increment_period)
        self._multiplier = float(multiplier)
        self._current_loss_scale = self._add_weight(
            "current_loss_scale", self._initial_loss_scale, dtypes.float32
        )
        self._num_good_steps = self._add_weight("good_steps", 0, dtypes.int64)

    initial_loss_scale = property(lambda self: self._initial_loss_scale)
    increment_period = property(lambda self: self._increment_period)
    multiplier = property(lambda self: self._multiplier)

    def __call__(self):
        return ops.convert_to_tensor(self._current_loss_scale)

    def update(self, grads):
        finite = math_ops.reduce_all(
            [
                math_ops.reduce_all(math_ops.is_finite(_values(g)))
                for g in nest.flatten(grads)
                if g is not None
            ]
        )
        scale, steps = self._current_loss_scale, self._num_good_steps

        def write(factor, count):
            return control_flow_ops.group(scale.assign(factor), steps.assign(count))

        def grow():
            larger = scale * self._multiplier
            return write(math_ops.minimum(larger, dtypes.float32.max), 0)

        def good():
            return control_flow_ops.cond(
                steps + 1 >= self._increment_period, grow, lambda: control_flow_ops.group(steps.assign_add(1))
            )

        def bad():
            return write(math_ops.maximum(scale / self._multiplier, 1), 0)

        return control_flow_ops.cond(finite, good, bad), finite

    def __repr__(self):
        return (
            f"DynamicLossScale(initial_loss_scale={self._initial_loss_scale}, "
            f"increment_period={self._increment_period}, multiplier={self._multiplier})"
        )

    def get_config(self):
        return {
            "initial_loss_scale": self._initial_loss_scale,
            "increment_period": self._increment_period,
            "multiplier": self._multiplier,
        }


def _values(grad):
    return grad.values if isinstance(grad, ops.IndexedSlices) else grad


def get(identifier):
    """The LossScale of a number, of "dynamic", of one, or None."""
    if isinstance(identifier, (int, float)):
        return FixedLossScale(identifier)
    if identifier == "dynamic":
        return DynamicLossScale()
    if identifier is None or isinstance(identifier, LossScale):
        return identifier
    raise ValueError(f"Could not interpret loss scale identifier: {identifier}")
