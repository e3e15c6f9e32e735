"""Changing rows of tensors in place, and tensors without content."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_array_ops
from braid.tensorflow.python.ops import math_ops


def _inplace_helper(x, i, v, op):
    """op(x, i, v) for rows; i None: for the whole, i a number: for one row."""
    x = ops.convert_to_tensor(x)
    v = ops.convert_to_tensor(v, x.dtype)
    if i is None:
        whole = op(array_ops.reshape(x, [1, -1]), [0], array_ops.reshape(v, [1, -1]))
        return array_ops.reshape(whole, array_ops.shape(x))
    i = math_ops.cast(i, dtypes.int32)
    if i.get_shape().ndims == 0:
        return op(x, array_ops.reshape(i, [1]), array_ops.expand_dims(v, 0))
    return op(x, i, v)


def alias_inplace_update(x, i, v):
    """x, whose rows i are now v."""
    return _inplace_helper(x, i, v, gen_array_ops.inplace_update)


def alias_inplace_add(x, i, v):
    """x, to whose rows i v is added."""
    return _inplace_helper(x, i, v, gen_array_ops.inplace_add)


def alias_inplace_sub(x, i, v):
    """x, from whose rows i v is subtracted."""
    return _inplace_helper(x, i, v, gen_array_ops.inplace_sub)


def inplace_update(x, i, v):
    """A copy of x with the rows v at i."""
    return alias_inplace_update(gen_array_ops.deep_copy(x), i, v)


def inplace_add(x, i, v):
    """A copy of x with v added to the rows i."""
    return alias_inplace_add(gen_array_ops.deep_copy(x), i, v)


def inplace_sub(x, i, v):
    """A copy of x with v subtracted from the rows i."""
    return alias_inplace_sub(gen_array_ops.deep_copy(x), i, v)


def empty_like(x, init=None):
    """A tensor like x with any content; init: zeros."""
    x = ops.convert_to_tensor(x)
    return gen_array_ops.empty(array_ops.shape(x), x.dtype, init=bool(init))


def empty(shape, dtype, init=False):
    """A tensor with any content; init: zeros."""
    return gen_array_ops.empty(shape, dtype, init=init)
