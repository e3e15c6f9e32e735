"""Ragged tensors of constants, and placeholders."""

import numpy as np

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor
from braid.tensorflow.python.ops.ragged import ragged_tensor_value
from braid.tensorflow.python.util.tf_export import tf_export


def _is_list(item):
    return isinstance(item, (list, tuple)) or np.ndim(item) > 0


def _depths(item):
    """(how deep its scalars lie, None without any; how deep lists are nested). ValueError: they differ."""
    if not _is_list(item):
        return 0, 0
    scalars, deepest = set(), 1
    for child in item:
        scalar, depth = _depths(child)
        if scalar is not None:
            scalars.add(scalar + 1)
        deepest = max(deepest, depth + 1)
    if len(scalars) > 1:
        raise ValueError("all scalar values must have the same nesting depth")
    return (scalars.pop() if scalars else None), deepest


def _shape_of_first(item):
    """The shape of nested lists, by their first elements."""
    if not _is_list(item):
        return ()
    return (len(item), *(_shape_of_first(item[0]) if len(item) else ()))


def _check_shape(item, shape):
    if _is_list(item) != bool(shape) or (shape and len(item) != shape[0]):
        raise ValueError("inner values have inconsistent shape")
    for child in item if shape else ():
        _check_shape(child, shape[1:])


def _parts(pylist, ragged_rank, inner_shape):
    """(the splits of all ragged dimensions, the innermost values, the shape of each of these).

    No splits: a dense tensor; its shape is None where pylist says it.
    """
    if ragged_tensor.is_ragged(pylist):
        raise TypeError("pylist may not be a RaggedTensor or RaggedTensorValue.")
    if not _is_list(pylist):
        if ragged_rank:
            raise ValueError(f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank}")
        if inner_shape:
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with dim(inner_shape)={len(inner_shape)}"
            )
        return [], pylist, ()
    if ragged_rank is not None and ragged_rank < 0:
        raise ValueError(f"Invalid ragged_rank={ragged_rank!r}: must be nonnegative")
    scalars, deepest = _depths(pylist)
    if scalars is not None and deepest > scalars:
        raise ValueError(
            f"Invalid pylist={pylist!r}: empty list nesting is greater than scalar value nesting"
        )
    if inner_shape is not None and ragged_rank is not None:
        expected = ragged_rank + len(inner_shape) + 1
        if expected < deepest if scalars is None else expected != scalars:
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank} and "
                f"dim(inner_shape)={len(inner_shape)}"
            )
    if ragged_rank is None and deepest - len(inner_shape or ()) >= 2:
        ragged_rank = max(1, (deepest if scalars is None else scalars - len(inner_shape or ())) - 1)
        inner_shape = inner_shape or ()
    if not ragged_rank:
        return [], pylist, inner_shape
    splits, values = [], pylist
    for _ in range(ragged_rank):
        ends, joined = [0], []
        for row in values:
            joined.extend(row)
            ends.append(len(joined))
        splits.append(ends)
        values = joined
    if inner_shape is None:
        inner_shape = _shape_of_first(values[0]) if values else ()
        for value in values:
            _check_shape(value, inner_shape)
    return splits, values, tuple(inner_shape)


@tf_export("ragged.constant")
def constant(
    pylist, dtype=None, ragged_rank=None, inner_shape=None, name=None, row_splits_dtype=dtypes.int64
):
    """A RaggedTensor of nested lists: constant([[1], [2, 3]])."""
    with ops.name_scope(name, "RaggedConstant"):
        splits, values, inner_shape = _parts(pylist, ragged_rank, inner_shape)
        if not splits:
            return constant_op.constant(values, dtype=dtype, shape=inner_shape)
        flat = constant_op.constant(values, dtype=dtype, shape=(len(values), *inner_shape), name="values")
        splits = [constant_op.constant(s, dtype=row_splits_dtype, name="row_splits") for s in splits]
        return ragged_tensor.RaggedTensor.from_nested_row_splits(flat, splits)


@tf_export(v1=["ragged.constant_value"])
def constant_value(pylist, dtype=None, ragged_rank=None, inner_shape=None, row_splits_dtype="int64"):
    """A RaggedTensorValue of nested lists."""
    if dtype is not None and isinstance(dtype, dtypes.DType):
        dtype = dtype.as_numpy_dtype
    splits, values, inner_shape = _parts(pylist, ragged_rank, inner_shape)
    made = np.array(values, dtype=dtype)
    if not splits:
        return made if inner_shape is None else made.reshape(inner_shape)
    made = made.reshape((len(values), *inner_shape))
    for ends in reversed(splits):
        made = ragged_tensor_value.RaggedTensorValue(
            made, np.array(ends, dtype=dtypes.as_dtype(row_splits_dtype).as_numpy_dtype)
        )
    return made


@tf_export(v1=["ragged.placeholder"])
def placeholder(dtype, ragged_rank, value_shape=None, name=None):
    """A RaggedTensor that each step is fed a RaggedTensorValue. value_shape: of one innermost value."""
    if ragged_rank == 0:
        return array_ops.placeholder(dtype, value_shape, name)
    with ops.name_scope(name, "RaggedPlaceholder", []):
        shape = [None] + list(value_shape or [])
        made = array_ops.placeholder(dtype, shape, "flat_values")
        for i in reversed(range(ragged_rank)):
            splits = array_ops.placeholder(dtypes.int64, [None], "row_splits_%d" % i)
            made = ragged_tensor.RaggedTensor(made, splits, internal=True)
        return made
