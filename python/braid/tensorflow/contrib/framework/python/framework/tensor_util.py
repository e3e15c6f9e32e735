"""Tensors that are checked (tf.contrib.framework.with_shape and its kind)."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import confusion_matrix
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.check_ops import assert_same_float_dtype, assert_scalar  # noqa: F401

__all__ = [
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_scalar_int",
    "convert_to_tensor_or_sparse_tensor",
    "is_tensor",
    "reduce_sum_n",
    "remove_squeezable_dimensions",
    "with_shape",
    "with_same_shape",
]

convert_to_tensor_or_sparse_tensor = sparse_tensor.convert_to_tensor_or_sparse_tensor
is_tensor = tensor_util.is_tensor


def assert_scalar_int(tensor, name=None):
    """The tensor, a scalar integer. ValueError: it is not."""
    with ops.name_scope(name, "assert_scalar_int", [tensor]) as scope:
        tensor = ops.convert_to_tensor(tensor)
        if tensor.dtype.base_dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError(f"Expected int32 or int64 tensor, got {tensor.dtype}")
        return check_ops.assert_scalar(tensor, name=scope)


def reduce_sum_n(tensors, name=None):
    """The sum of all elements of all tensors."""
    if not tensors:
        raise ValueError("No tensors provided.")
    with ops.name_scope(name, "reduce_sum_n", tensors) as scope:
        sums = [math_ops.reduce_sum(t, name=f"{t.op.name}/sum") for t in tensors]
        return sums[0] if len(sums) == 1 else math_ops.add_n(sums, name=scope)


def remove_squeezable_dimensions(predictions, labels, name=None):
    """Both with a last axis of size 1 taken away where the ranks differ by one."""
    labels, predictions = confusion_matrix.remove_squeezable_dimensions(labels, predictions, name=name)
    return predictions, labels


def _assert_shape(expected, tensor, message="Wrong shape"):
    actual = array_ops.shape(tensor)
    is_same = math_ops.reduce_all(math_ops.equal(actual, expected))
    return control_flow_ops.Assert(
        is_same, [f"{message} for {tensor.name} [expected] [actual].", expected, actual]
    )


def with_same_shape(expected_tensor, tensor):
    """`tensor`, checked to be of the shape of `expected_tensor`."""
    with ops.name_scope("%s/" % tensor.op.name, values=[expected_tensor, tensor]):
        static = expected_tensor.get_shape()
        if static.is_fully_defined():
            return with_shape(static, tensor)
        return with_shape(array_ops.shape(expected_tensor), tensor)


def with_shape(expected_shape, tensor):
    """`tensor`, checked to be of the shape, statically where that is known. ValueError: it is not."""
    if isinstance(tensor, sparse_tensor.SparseTensor):
        raise ValueError("SparseTensor not supported.")
    if not check_ops.is_numeric_tensor(tensor) and not isinstance(tensor, ops.Tensor):
        tensor = ops.convert_to_tensor(tensor)
    if isinstance(expected_shape, ops.Tensor):
        static = tensor_util.constant_value(expected_shape)
        if static is None:
            with ops.control_dependencies([_assert_shape(expected_shape, tensor)]):
                checked = array_ops.identity(tensor)
            checked.set_shape(tensor_util.constant_value_as_shape(expected_shape))
            return checked
        expected_shape = [int(size) for size in static]
    expected_shape = tensor_shape.as_shape(expected_shape)
    actual = tensor.get_shape()
    if not actual.is_compatible_with(expected_shape):
        raise ValueError(
            f"Invalid shape for tensor {tensor.name}, expected {expected_shape.as_list()}, got {actual}."
        )
    if actual.is_fully_defined() or not expected_shape.is_fully_defined():
        return tensor
    with ops.control_dependencies([_assert_shape(array_ops.constant(expected_shape.as_list()), tensor)]):
        checked = array_ops.identity(tensor)
    checked.set_shape(expected_shape)
    return checked
