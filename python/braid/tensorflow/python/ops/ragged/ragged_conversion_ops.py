"""Ragged tensors as others, and others as ragged ones."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_ragged_conversion_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor


def from_tensor(tensor, lengths=None, padding=None, ragged_rank=1, row_splits_dtype=dtypes.int64, name=None):
    """RaggedTensor.from_tensor; a ragged tensor stays."""
    if ragged_tensor.is_ragged(tensor):
        return tensor
    return ragged_tensor.RaggedTensor.from_tensor(
        tensor,
        lengths=lengths,
        padding=padding,
        ragged_rank=ragged_rank,
        row_splits_dtype=row_splits_dtype,
        name=name,
    )


def to_tensor(rt_input, default_value=None, name=None):
    """RaggedTensor.to_tensor; a Tensor stays."""
    return rt_input.to_tensor(default_value, name) if ragged_tensor.is_ragged(rt_input) else rt_input


def ragged_to_dense(rt_input, default_value=None, shape=None):
    """The Tensor of a ragged one. shape: of the result, with None for sizes that the longest rows give."""
    if default_value is None:
        default_value = array_ops.zeros((), rt_input.dtype)
    default_value = ops.convert_to_tensor(default_value, dtype=rt_input.dtype, name="default_value")
    default_value.shape.with_rank_at_most(max((rt_input.flat_values.shape.ndims or 1) - 1, 0))
    if default_value.shape.ndims:
        inner = rt_input.flat_values.shape[1:]
        if inner.ndims == default_value.shape.ndims and 1 not in default_value.shape.as_list():
            default_value.shape.assert_is_compatible_with(inner)
    sizes, known = _shape(shape)
    made = gen_ragged_conversion_ops.ragged_tensor_to_tensor(
        shape=sizes,
        values=rt_input.flat_values,
        default_value=default_value,
        row_partition_tensors=list(rt_input.nested_row_splits),
        row_partition_types=["ROW_SPLITS"] * rt_input.ragged_rank,
    )
    made.set_shape(rt_input.shape if known is None else known)
    return made


def _shape(shape):
    """(the op's argument, the static shape of the result or None)."""
    if shape is None:
        return ops.convert_to_tensor(-1, dtypes.int64), None
    if isinstance(shape, ops.Tensor):
        if not shape.dtype.is_integer:
            shape = math_ops.cast(shape, dtypes.int64)
        if shape.shape.ndims == 0:  # -1: the longest rows give all sizes
            return shape, None
        if shape.shape.ndims is None:
            return shape, tensor_shape.unknown_shape()
        return shape, tensor_util.constant_value_as_shape(shape)
    known = tensor_shape.as_shape(shape)
    if known.ndims is None:
        return ops.convert_to_tensor(-1, dtypes.int64), None
    sizes = [-1 if n is None else n for n in known.as_list()]
    return ops.convert_to_tensor(sizes, dtypes.int64), known


def to_sparse(rt_input, name=None):
    return rt_input.to_sparse(name)


def from_sparse(st_input, name=None):
    return ragged_tensor.RaggedTensor.from_sparse(st_input, name)
