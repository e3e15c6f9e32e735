"""Ragged tensors of constants, and placeholders."""

import numpy as np

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor
from braid.tensorflow.python.ops.ragged import ragged_tensor_value
from braid.tensorflow.python.util.tf_export import tf_export


def _is_list(item):
    return isinstance(item, (list, tuple)) or np.ndim(item) != 0


def _find_scalar_and_max_depth(items):
    """(how deep the values are, None if there are none; how deep lists are nested).

    ValueError: values are at different depths.
    """
    if not _is_list(items):
        return 0, 0
    of_values, deepest = None, 1
    for item in items:
        value_depth, depth = _find_scalar_and_max_depth(item)
        deepest = max(deepest, depth + 1)
        if value_depth is None:
            continue
        if of_values not in (None, value_depth + 1):
            raise ValueError("all scalar values must have the same nesting depth")
        of_values = value_depth + 1
    return of_values, deepest


def _default_inner_shape_for_pylist(pylist, ragged_rank):
    """The shape of the values in `ragged_rank` ragged dimensions and one more. ValueError: there are several."""

    def shape(item):
        if not _is_list(item):
            return ()
        return (len(item), *shape(item[0])) if len(item) else (0,)

    def check(item, expected):
        if _is_list(item) != bool(expected):
            raise ValueError("inner values have inconsistent shape")
        if expected:
            if len(item) != expected[0]:
                raise ValueError("inner values have inconsistent shape")
            for child in item:
                check(child, expected[1:])

    flat = pylist
    for depth in range(ragged_rank):
        if not all(map(_is_list, flat)):
            raise ValueError(
                f"pylist has scalar values depth {depth + 1}, but ragged_rank={ragged_rank} requires scalar value "
                f"depth greater than {ragged_rank}"
            )
        flat = [value for row in flat for value in row]
    inner = shape(flat)
    check(flat, inner)
    return inner[1:]


def _build(make_ragged, make_values, pylist, dtype, ragged_rank, inner_shape):
    """The ragged value of nested lists; make_values(list, dtype, shape, name), make_ragged(values, splits)."""
    if ragged_tensor.is_ragged(pylist):
        raise TypeError("pylist may not be a RaggedTensor or RaggedTensorValue.")
    if not _is_list(pylist):
        if ragged_rank:
            raise ValueError("Invalid pylist=%r: incompatible with ragged_rank=%d" % (pylist, ragged_rank))
        if inner_shape:
            raise ValueError(
                "Invalid pylist=%r: incompatible with dim(inner_shape)=%d" % (pylist, len(inner_shape))
            )
        return make_values(pylist, dtype, ())
    if ragged_rank is not None and ragged_rank < 0:
        raise ValueError("Invalid ragged_rank=%r: must be nonnegative" % ragged_rank)
    of_values, deepest = _find_scalar_and_max_depth(pylist)
    if of_values is not None and deepest > of_values:
        raise ValueError(
            "Invalid pylist=%r: empty list nesting is greater than scalar value nesting" % (pylist,)
        )
    if ragged_rank is not None and inner_shape is not None:
        expected = ragged_rank + len(inner_shape) + 1
        if of_values not in (None, expected) or deepest > expected:
            raise ValueError(
                "Invalid pylist=%r: incompatible with ragged_rank=%d and dim(inner_shape)=%d"
                % (pylist, ragged_rank, len(inner_shape))
            )
    if ragged_rank is None and deepest - len(inner_shape or ()) < 2:  # not ragged: the shape is the whole one
        return make_values(pylist, dtype, inner_shape)
    if inner_shape is None:
        if ragged_rank is None:
            inner_shape = ()
        else:
            inner_shape = _default_inner_shape_for_pylist(pylist, ragged_rank)
    if ragged_rank is None:
        deepest_row = deepest - 1 if of_values is None else of_values - 1 - len(inner_shape)
        ragged_rank = max(1, deepest_row)
    inner_shape = tuple(inner_shape)
    values, nested = list(pylist), []
    for _ in range(ragged_rank):
        ends, joined = [0], []
        for row in values:
            if not _is_list(row):
                raise ValueError(
                    "Invalid pylist=%r: incompatible with ragged_rank=%d and inner_shape=%r"
                    % (pylist, ragged_rank, inner_shape)
                )
            joined.extend(row)
            ends.append(len(joined))
        nested.append(ends)
        values = joined
    if not values and dtype is None:
        dtype = dtypes.float32 if make_values is not _array else np.float64
    made = make_values(values, dtype, (len(values), *inner_shape), name="values")
    for ends in reversed(nested):
        made = make_ragged(made, ends)
    return made


@tf_export("ragged.constant")
def constant(
    pylist, dtype=None, ragged_rank=None, inner_shape=None, name=None, row_splits_dtype=dtypes.int64
):
    """A RaggedTensor of nested lists: constant([[1], [2, 3]])."""
    row_splits_dtype = dtypes.as_dtype(row_splits_dtype)

    def make_ragged(values, ends):
        splits = constant_op.constant(ends, dtype=row_splits_dtype, name="row_splits")
        return ragged_tensor.RaggedTensor.from_row_splits(values, splits, validate=False)

    with ops.name_scope(name, "RaggedConstant"):
        return _build(make_ragged, constant_op.constant, pylist, dtype, ragged_rank, inner_shape)


def _array(values, dtype, shape, name=None):
    made = np.array(values, dtype=dtype)
    return made if shape is None else np.reshape(made, shape)


@tf_export(v1=["ragged.constant_value"])
def constant_value(pylist, dtype=None, ragged_rank=None, inner_shape=None, row_splits_dtype="int64"):
    """A RaggedTensorValue of nested lists."""
    if isinstance(dtype, dtypes.DType):
        dtype = dtype.as_numpy_dtype
    splits_type = dtypes.as_dtype(row_splits_dtype).as_numpy_dtype

    def make_ragged(values, ends):
        return ragged_tensor_value.RaggedTensorValue(values, np.array(ends, dtype=splits_type))

    return _build(make_ragged, _array, pylist, dtype, ragged_rank, inner_shape)


@tf_export(v1=["ragged.placeholder"])
def placeholder(dtype, ragged_rank, value_shape=None, name=None):
    """A RaggedTensor that each step is fed a RaggedTensorValue. value_shape: of one innermost value."""
    if ragged_rank == 0:
        return array_ops.placeholder(dtype, value_shape, name)
    with ops.name_scope(name, "RaggedPlaceholder", []):
        shape = tensor_shape.TensorShape([None]).concatenate(value_shape)
        made = array_ops.placeholder(dtype, shape, "flat_values")
        for i in reversed(range(ragged_rank)):
            splits = array_ops.placeholder(dtypes.int64, [None], "row_splits_%d" % i)
            made = ragged_tensor.RaggedTensor.from_row_splits(made, splits, validate=False)
        return made
