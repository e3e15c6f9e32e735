"""Xavier's initializer and others that scale by the number of inputs."""

import math

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.ops import random_ops

__all__ = ["xavier_initializer", "xavier_initializer_conv2d", "variance_scaling_initializer"]


def xavier_initializer(uniform=True, seed=None, dtype=dtypes.float32):
    """Values of the variance 2 / (inputs + outputs), uniform or normal (Glorot and Bengio 2010)."""
    return variance_scaling_initializer(factor=1.0, mode="FAN_AVG", uniform=uniform, seed=seed, dtype=dtype)


xavier_initializer_conv2d = xavier_initializer


def variance_scaling_initializer(factor=2.0, mode="FAN_IN", uniform=False, seed=None, dtype=dtypes.float32):
    """Values of the variance factor / n, n the inputs ("FAN_IN"), the outputs ("FAN_OUT") or their mean ("FAN_AVG").

    They are uniform, or normal without what is beyond two standard deviations.
    """
    if not dtype.is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise TypeError(f"Unknown mode {mode} [FAN_IN, FAN_OUT, FAN_AVG]")

    def _initializer(shape, dtype=dtype, partition_info=None):
        if not dtype.is_floating:
            raise TypeError("Cannot create initializer for non-floating point type.")
        sizes = [float(size) for size in shape]
        fan_in = sizes[-2] if len(sizes) > 1 else sizes[-1] if sizes else 1.0
        fan_out = sizes[-1] if sizes else 1.0
        for size in sizes[:-2]:
            fan_in *= size
            fan_out *= size
        n = {"FAN_IN": fan_in, "FAN_OUT": fan_out, "FAN_AVG": (fan_in + fan_out) / 2.0}[mode]
        if uniform:
            limit = math.sqrt(3.0 * factor / n)
            return random_ops.random_uniform(shape, -limit, limit, dtype, seed=seed)
        # 1.3 makes up for what the cut takes from the deviation.
        return random_ops.truncated_normal(shape, 0.0, math.sqrt(1.3 * factor / n), dtype, seed=seed)

    return _initializer
