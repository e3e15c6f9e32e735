"""Functions of the global step that weaken the signs of AddSignOptimizer and PowerSignOptimizer."""

import math

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.ops import array_ops, math_ops


def _step_within(global_step, decay_steps, kind):
    if global_step is None:
        raise ValueError(f"global_step is required for {kind}_decay.")
    return math_ops.cast(math_ops.minimum(global_step, decay_steps), dtypes.float32)


def _half_cosine(fraction):
    return 0.5 * (1.0 + math_ops.cos(math.pi * fraction))


def get_linear_decay_fn(decay_steps):
    """A function of the step that falls from 1 to 0 in decay_steps steps."""

    def linear_decay_fn(global_step):
        step = _step_within(global_step, decay_steps, "linear")
        total = math_ops.cast(decay_steps, dtypes.float32)
        return math_ops.maximum(0.0, (total - step) / total)

    return linear_decay_fn


def get_cosine_decay_fn(decay_steps, num_periods=0.5, zero_after=None):
    """A function of the step that goes through num_periods periods of a cosine between 1 and 0.

    zero_after: the number of periods after which the function is 0.
    """

    def cosine_decay_fn(global_step):
        step = _step_within(global_step, decay_steps, "cosine")
        fraction = 2.0 * num_periods * step / math_ops.cast(decay_steps, dtypes.float32)
        decayed = _half_cosine(fraction)
        if zero_after is None:
            return decayed
        return array_ops.where(fraction >= 2 * zero_after, array_ops.zeros_like(decayed), decayed)

    return cosine_decay_fn


def get_restart_decay_fn(decay_steps, num_periods=1, zero_after=None):
    """A function of the step that falls from 1 to 0 along a cosine num_periods times (Loshchilov and Hutter,
    2017).

    zero_after: the number of periods after which the function is 0.
    """

    def restart_decay_fn(global_step):
        step = _step_within(global_step, decay_steps, "cosine")
        total = math_ops.cast(decay_steps, dtypes.float32)
        decayed = _half_cosine(math_ops.mod(num_periods * step, total) / total)
        if zero_after is None:
            return decayed
        over = num_periods * step / total >= zero_after
        return array_ops.where(over, array_ops.zeros_like(decayed), decayed)

    return restart_decay_fn
