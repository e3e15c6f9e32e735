"""Sorting along a dimension."""

import numpy as np

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_bitwise_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("sort")
def sort(values, axis=-1, direction="ASCENDING", name=None):
    """The elements of a numeric tensor in order along a dimension; direction: "ASCENDING" or "DESCENDING"."""
    with ops.name_scope(name, "sort"):
        return _sort(values, axis, direction, 0)


@tf_export("argsort")
def argsort(values, axis=-1, direction="ASCENDING", stable=False, name=None):
    """The places, int32, that the elements in order along a dimension come from."""
    del stable  # it always is
    with ops.name_scope(name, "argsort"):
        return _sort(values, axis, direction, 1)


def _sort(values, axis, direction, which):
    """tf.nn.top_k of all elements: its values (which = 0) or places (1)."""
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError("Direction should be one of ASCENDING, DESCENDING")
    axis = tensor_util.constant_value(ops.convert_to_tensor(axis, name="axis"))
    if axis is None or axis.ndim:
        raise ValueError("axis must be a constant scalar")
    values = ops.convert_to_tensor(values, name="values")
    lowest_first = direction == "ASCENDING"
    if lowest_first:
        values = _reversed(values)
    axis = int(axis)
    rank = values.get_shape().ndims
    if rank is not None and not -rank <= axis < rank:
        raise ValueError("axis %d out of bounds for a tensor of rank %d" % (axis, rank))
    count = array_ops.shape(values)[axis]
    order = _order(values, axis, array_ops.rank(values))
    if order is not None:
        values = array_ops.transpose(values, order)
    made = nn_ops.top_k(values, count)[which]
    if order is not None:
        made = array_ops.transpose(made, order)
    return _reversed(made) if lowest_first and which == 0 else made


def _order(values, axis, rank):
    """The order of dimensions in which the sorted one and the last are swapped; None: that is the last."""
    known = values.get_shape().ndims
    if axis == -1 or axis + 1 == known:
        return None
    if known is not None:
        order = np.arange(known, dtype=np.int32)
        order[[axis, -1]] = order[[-1, axis]]
        return constant_op.constant(order, dtype=np.int64, name="transposition")
    if axis < 0:
        axis += rank
    last = rank - 1
    return array_ops.concat([math_ops.range(axis), [last], math_ops.range(axis + 1, last), [axis]], axis=0)


def _reversed(values):
    """Numbers in the opposite order: a lower one for a greater one."""
    if values.dtype.is_integer:  # the least integer has no negative
        return gen_bitwise_ops.invert(values, name="Neg")
    return math_ops.negative(values)
