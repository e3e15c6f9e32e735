"""A softplus whose curve has a width."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn

__all__ = ["scaled_softplus"]


def scaled_softplus(x, alpha, clip=None, name=None):
    """alpha * log(1 + exp(x / alpha)), at most `clip`."""
    with ops.name_scope(name, "scaled_softplus", [x, alpha] + ([] if clip is None else [clip])):
        x = ops.convert_to_tensor(x, name="x")
        alpha = ops.convert_to_tensor(alpha, dtype=x.dtype, name="alpha")
        y = alpha * nn.softplus(x / alpha)
        if clip is None:
            return y
        return math_ops.minimum(y, ops.convert_to_tensor(clip, dtype=x.dtype, name="clip"))
