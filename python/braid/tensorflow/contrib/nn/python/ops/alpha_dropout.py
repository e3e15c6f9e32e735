"""Dropout for networks of SELUs."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_math_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import random_ops

__all__ = ["alpha_dropout"]


def alpha_dropout(x, keep_prob, noise_shape=None, seed=None, name=None):
    """Dropout that keeps the mean and the variance of what SELUs give (Klambauer et al. 2017)."""
    with ops.name_scope(name, "alpha_dropout", [x]) as name:
        x = ops.convert_to_tensor(x, name="x")
        if isinstance(keep_prob, (int, float)) and not 0 < keep_prob <= 1:
            raise ValueError(
                f"keep_prob must be a scalar tensor or a float in the range (0, 1], got {keep_prob}"
            )
        keep_prob = ops.convert_to_tensor(keep_prob, dtype=x.dtype, name="keep_prob")
        keep_prob.get_shape().assert_has_rank(0)
        if tensor_util.constant_value(keep_prob) == 1:
            return x
        saturated = -1.7580993408473766  # -scale * alpha of a SELU
        shape = array_ops.shape(x) if noise_shape is None else nn_ops._get_noise_shape(x, noise_shape)
        drawn = random_ops.random_uniform(shape, seed=seed, dtype=x.dtype)
        kept = math_ops.cast(gen_math_ops.greater_equal(drawn, 1 - keep_prob), x.dtype)
        result = x * kept + saturated * (1 - kept)
        a = (keep_prob + keep_prob * (1 - keep_prob) * saturated**2) ** -0.5
        b = -a * saturated * (1 - keep_prob)
        return a * result + b
