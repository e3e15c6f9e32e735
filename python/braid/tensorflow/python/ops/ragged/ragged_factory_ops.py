"""Ragged tensors of constants, and placeholders."""

import numpy as np

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor
from braid.tensorflow.python.ops.ragged import ragged_tensor_value
from braid.tensorflow.python.util.tf_export import tf_export


def _depth(items):
    """How deep lists are nested; 0 of a value."""
    if not isinstance(items, (list, tuple, np.ndarray)):
        return 0
    return 1 + max((_depth(i) for i in items), default=0)


def _parts(pylist, ragged_rank, inner_shape):
    """(the splits of all ragged dimensions, the list of innermost values)."""
    if not isinstance(pylist, (list, tuple, np.ndarray)):
        raise ValueError("pylist must be a list, not %r" % (pylist,))
    if ragged_rank is None:
        inner = 0 if inner_shape is None else len(inner_shape)
        ragged_rank = max(1, _depth(pylist) - 1 - inner)
    splits, values = [], list(pylist)
    for _ in range(ragged_rank):
        ends, joined = [0], []
        for row in values:
            if not isinstance(row, (list, tuple, np.ndarray)):
                raise ValueError("pylist has scalar values at different depths")
            joined.extend(row)
            ends.append(len(joined))
        splits.append(ends)
        values = joined
    return splits, values


@tf_export("ragged.constant")
def constant(
    pylist, dtype=None, ragged_rank=None, inner_shape=None, name=None, row_splits_dtype=dtypes.int64
):
    """A RaggedTensor of nested lists: constant([[1], [2, 3]])."""
    with ops.name_scope(name, "RaggedConstant"):
        if ragged_rank == 0:
            return constant_op.constant(pylist, dtype=dtype)
        splits, values = _parts(pylist, ragged_rank, inner_shape)
        if not values and dtype is None:
            dtype = dtypes.float32
        shape = None if inner_shape is None else [len(values)] + list(inner_shape)
        flat = constant_op.constant(values, dtype=dtype, shape=shape, name="values")
        splits = [constant_op.constant(s, dtype=row_splits_dtype, name="row_splits") for s in splits]
        return ragged_tensor.RaggedTensor.from_nested_row_splits(flat, splits)


@tf_export(v1=["ragged.constant_value"])
def constant_value(pylist, dtype=None, ragged_rank=None, inner_shape=None, row_splits_dtype="int64"):
    """A RaggedTensorValue of nested lists."""
    if dtype is not None and isinstance(dtype, dtypes.DType):
        dtype = dtype.as_numpy_dtype
    if ragged_rank == 0:
        return np.array(pylist, dtype=dtype)
    splits, values = _parts(pylist, ragged_rank, inner_shape)
    made = np.array(values, dtype=dtype)
    if inner_shape is not None:
        made = made.reshape([len(values)] + list(inner_shape))
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
