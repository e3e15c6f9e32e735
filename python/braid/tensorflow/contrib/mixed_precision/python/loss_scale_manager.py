"""The scale of a loss: fixed, or as large as gradients allow."""

import abc

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variable_scope


class LossScaleManager(abc.ABC):
    """What LossScaleOptimizer asks for the scale."""

    @abc.abstractmethod
    def get_loss_scale(self):
        """The scale, a scalar."""

    @abc.abstractmethod
    def update_loss_scale(self, finite_grads):
        """The op that changes the scale after a step. finite_grads: whether all gradients are finite."""


class FixedLossScaleManager(LossScaleManager):
    """A scale that does not change."""

    def __init__(self, loss_scale):
        if loss_scale < 1:
            raise ValueError("loss scale must be at least 1.")
        self._loss_scale = ops.convert_to_tensor(loss_scale, dtype=dtypes.float32)

    def get_loss_scale(self):
        return self._loss_scale

    def update_loss_scale(self, finite_grads):
        return control_flow_ops.no_op()


class ExponentialUpdateLossScaleManager(LossScaleManager):
    """A scale that is multiplied by incr_ratio after incr_every_n_steps steps with finite gradients, and by
    decr_ratio after decr_every_n_nan_or_inf others; it stays finite and at least 1."""

    def __init__(
        self,
        init_loss_scale,
        incr_every_n_steps,
        decr_every_n_nan_or_inf=2,
        incr_ratio=2,
        decr_ratio=0.8,
    ):
        self._incr_every_n_steps = incr_every_n_steps
        self._decr_every_n_nan_or_inf = decr_every_n_nan_or_inf
        self._incr_ratio = incr_ratio
        self._decr_ratio = decr_ratio
        self._loss_scale = variable_scope.variable(
            name="loss_scale",
            initial_value=ops.convert_to_tensor(init_loss_scale, dtypes.float32),
            dtype=dtypes.float32,
            trainable=False,
        )
        self._num_good_steps = self._counter("good_steps")
        self._num_bad_steps = self._counter("bad_steps")

    @staticmethod
    def _counter(name):
        return variable_scope.variable(name=name, initial_value=0, dtype=dtypes.int32, trainable=False)

    def get_loss_scale(self):
        return self._loss_scale

    def _set(self, scale):
        return control_flow_ops.group(
            state_ops.assign(self._loss_scale, scale),
            state_ops.assign(self._num_good_steps, 0),
            state_ops.assign(self._num_bad_steps, 0),
        )

    def _after_good(self):
        def grow():
            larger = self._loss_scale * self._incr_ratio
            return self._set(
                control_flow_ops.cond(
                    math_ops.is_finite(larger), lambda: larger, lambda: self._loss_scale + 0.0
                )
            )

        return control_flow_ops.cond(
            self._num_good_steps + 1 >= self._incr_every_n_steps,
            grow,
            lambda: state_ops.assign_add(self._num_good_steps, 1).op,
        )

    def _after_bad(self):
        def count():
            return control_flow_ops.group(
                state_ops.assign_add(self._num_bad_steps, 1), state_ops.assign(self._num_good_steps, 0)
            )

        return control_flow_ops.cond(
            self._num_bad_steps + 1 >= self._decr_every_n_nan_or_inf,
            lambda: self._set(math_ops.maximum(1.0, self._loss_scale * self._decr_ratio)),
            count,
        )

    def update_loss_scale(self, finite_grads):
        return control_flow_ops.cond(finite_grads, self._after_good, self._after_bad)
