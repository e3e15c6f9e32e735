"""Sorting along a dimension."""

import numpy as np

from braid.tensorflow.python.framework import ops
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
    values = ops.convert_to_tensor(values, name="values")
    rank = values.get_shape().ndims
    if rank is None:
        raise ValueError("the rank of the sorted tensor must be known")
    if not -rank <= axis < rank:
        raise ValueError("axis %d out of bounds for a tensor of rank %d" % (axis, rank))
    last = rank - 1
    axis %= rank
    order = None
    if axis != last:
        order = list(np.arange(rank))
        order[axis], order[last] = order[last], order[axis]
        values = array_ops.transpose(values, order)
    lowest_first = direction == "ASCENDING"
    if lowest_first:
        values = _reversed(values)
    count = array_ops.shape(values)[-1]
    made = nn_ops.top_k(values, count)[which]
    if lowest_first and which == 0:
        made = _reversed(made)
    return made if order is None else array_ops.transpose(made, order)


def _reversed(values):
    """Numbers in the opposite order: a lower one for a greater one."""
    if values.dtype.is_unsigned:
        return values.dtype.max - values
    return -1 - values if values.dtype.is_integer else math_ops.negative(values)
