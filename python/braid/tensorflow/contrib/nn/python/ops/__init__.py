"""The ops of tf.contrib.nn."""

import math

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import random_ops

__all__ = [
    "alpha_dropout",
    "deprecated_flipped_sigmoid_cross_entropy_with_logits",
    "deprecated_flipped_softmax_cross_entropy_with_logits",
    "deprecated_flipped_sparse_softmax_cross_entropy_with_logits",
]


def deprecated_flipped_softmax_cross_entropy_with_logits(logits, labels, dim=-1, name=None):
    return nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=dim, name=name)


def deprecated_flipped_sparse_softmax_cross_entropy_with_logits(logits, labels, name=None):
    return nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def deprecated_flipped_sigmoid_cross_entropy_with_logits(logits, targets, name=None):
    return nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)


def alpha_dropout(x, keep_prob, noise_shape=None, seed=None, name=None):
    """Dropout that keeps the mean and the variance of what SELUs give (Klambauer et al. 2017)."""
    with ops.name_scope(name, "alpha_dropout", [x]):
        x = ops.convert_to_tensor(x, name="x")
        if isinstance(keep_prob, (int, float)) and not 0 < keep_prob <= 1:
            raise ValueError(
                f"keep_prob must be a scalar tensor or a float in the range (0, 1], got {keep_prob}"
            )
        if isinstance(keep_prob, (int, float)) and keep_prob == 1:
            return x
        saturated = -1.7580993408473766  # -scale * alpha of a SELU
        shape = nn_ops._get_noise_shape(x, noise_shape)
        drawn = random_ops.random_uniform(shape, seed=seed, dtype=x.dtype)
        kept = math_ops.cast(math_ops.floor(keep_prob + drawn), x.dtype)
        result = x * kept + saturated * (1 - kept)
        variance = keep_prob * (1 + (1 - keep_prob) * saturated**2)
        a = 1 / math.sqrt(variance) if isinstance(keep_prob, (int, float)) else math_ops.rsqrt(variance)
        b = -a * saturated * (1 - keep_prob)
        return a * result + b
