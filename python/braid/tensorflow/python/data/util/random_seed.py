"""The seeds of random datasets."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import random_seed
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops


def get_seed(seed):
    """The two seeds of a dataset, int64 scalars: (0, 0) lets the engine choose, so it does not stand for
    given seeds.
    """
    seed, seed2 = random_seed.get_seed(seed)
    if seed is None:
        seed = constant_op.constant(0, dtype=dtypes.int64, name="seed")
    else:
        seed = ops.convert_to_tensor(seed, dtype=dtypes.int64, name="seed")
    if seed2 is None:
        return seed, constant_op.constant(0, dtype=dtypes.int64, name="seed2")
    with ops.name_scope("seed2") as scope:
        seed2 = ops.convert_to_tensor(seed2, dtype=dtypes.int64)
        both_zero = math_ops.logical_and(math_ops.equal(seed, 0), math_ops.equal(seed2, 0))
        seed2 = array_ops.where(
            both_zero, constant_op.constant(2**31 - 1, dtype=dtypes.int64), seed2, name=scope
        )
    return seed, seed2
