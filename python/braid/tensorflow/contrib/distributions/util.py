"""Functions that tf.contrib.distributions has beside the distributions."""

import numpy as np

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops


def softplus_inverse(x, name=None):
    """log(exp(x) - 1), computed without overflow."""
    with ops.name_scope(name, "softplus_inverse", values=[x]):
        x = ops.convert_to_tensor(x, name="x")
        return x + math_ops.log(-math_ops.expm1(-x))


def fill_triangular(x, upper=False, name=None):
    """Triangular matrices [..., n, n] from their n * (n + 1) / 2 numbers."""
    with ops.name_scope(name, "fill_triangular", values=[x]):
        x = ops.convert_to_tensor(x, name="x")
        count = x.get_shape().with_rank_at_least(1).dims[-1].value
        if count is None:
            raise NotImplementedError("fill_triangular: Braid needs to know how many numbers there are")
        n = int(np.sqrt(0.25 + 2 * count) - 0.5 + 1e-9)
        if n * (n + 1) // 2 != count:
            raise ValueError(
                "Input right-most shape (%d) does not correspond to a triangular matrix." % count
            )
        # The numbers, and then those but the first n in reverse (or the other way round): row after row.
        rest = x[..., n:]
        parts = [x, array_ops.reverse(rest, [-1])] if upper else [rest, array_ops.reverse(x, [-1])]
        square = array_ops.concat(parts, axis=-1)
        shape = array_ops.concat([array_ops.shape(x)[:-1], [n, n]], 0)
        made = array_ops.matrix_band_part(
            array_ops.reshape(square, shape), 0 if upper else -1, -1 if upper else 0
        )
        made.set_shape(x.get_shape()[:-1].concatenate([n, n]))
        return made
