"""Sorting along a dimension."""

import numpy as np

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
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
    order = _order(values, int(axis))
    if order is not None:
        values = array_ops.transpose(values, order)
    lowest_first = direction == "ASCENDING"
    if lowest_first:
        values = _reversed(values)
    count = array_ops.shape(values)[-1]
    made = nn_ops.top_k(values, count)[which]
    if lowest_first and which == 0:
        made = _reversed(made)
    return made if order is None else array_ops.transpose(made, order)


def _order(values, axis):
    """The order of dimensions in which the sorted one and the last are swapped; None: that is the last."""
    rank = values.get_shape().ndims
    if axis == -1:
        return None
    if rank is None:
        places = math_ops.range(array_ops.rank(values))
        axis = places[axis]  # an error in the step where there is no such dimension
        last = places[-1]
        swapped = array_ops.where_v2(math_ops.equal(places, axis), last, places)
        return array_ops.where_v2(math_ops.equal(places, last), axis, swapped)
    if not -rank <= axis < rank:
        raise ValueError("axis %d out of bounds for a tensor of rank %d" % (axis, rank))
    order = np.arange(rank, dtype=np.int32)
    order[[axis, -1]] = order[[-1, axis]]
    return None if axis in (-1, rank - 1) else constant_op.constant(order, name="transposition")


def _reversed(values):
    """Numbers in the opposite order: a lower one for a greater one."""
    if values.dtype.is_unsigned:
        return values.dtype.max - values
    return -1 - values if values.dtype.is_integer else math_ops.negative(values)
