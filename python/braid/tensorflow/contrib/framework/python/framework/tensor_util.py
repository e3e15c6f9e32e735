"""Tensors that are checked (tf.contrib.framework.with_shape and its kind)."""

import numpy as np

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
        if not tensor.dtype.base_dtype.is_integer:
            raise ValueError(f"Expected integer type for {tensor.name}, received type: {tensor.dtype}.")
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
    is_same = control_flow_ops.cond(
        math_ops.equal(array_ops.size(actual), array_ops.size(expected)),
        lambda: math_ops.reduce_all(math_ops.equal(actual, expected)),
        lambda: array_ops.constant(False),
    )
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
    """`tensor`, checked to be of the shape, statically where that is known. ValueError: it is not.

    For the shape [] a tensor of one element becomes a scalar.
    """
    if isinstance(tensor, sparse_tensor.SparseTensor):
        raise ValueError("SparseTensor not supported.")
    if isinstance(expected_shape, ops.Tensor):
        if expected_shape.dtype.base_dtype != dtypes.int32:
            raise ValueError(
                f"Invalid dtype {expected_shape.dtype} for shape {expected_shape} expected of tensor {tensor.name}."
            )
        return _checked(expected_shape, tensor)
    if isinstance(expected_shape, tensor_shape.TensorShape):
        if not expected_shape.is_fully_defined():
            expected_shape.assert_is_compatible_with(tensor.get_shape())
            return tensor
        expected_shape = expected_shape.as_list()
    sizes = np.asarray(expected_shape)
    if sizes.ndim > 1:
        raise ValueError(f"Invalid rank {sizes.ndim} for shape {sizes} expected of tensor {tensor.name}.")
    if sizes.size and sizes.dtype not in (np.int32, np.int64):
        raise ValueError(f"Invalid dtype {sizes.dtype} for shape {sizes} expected of tensor {tensor.name}.")
    sizes, actual = [int(size) for size in sizes], tensor.get_shape()
    is_known = actual.is_fully_defined()
    if not sizes and (not is_known or actual.is_compatible_with([1])):
        with ops.name_scope("%s/" % tensor.op.name, values=[tensor]):
            return array_ops.reshape(tensor, [])
    if not is_known:
        checked = _checked(sizes, tensor)
        checked.set_shape(sizes)
        return checked
    if not actual.is_compatible_with(sizes):
        raise ValueError(f"Invalid shape for tensor {tensor.name}, expected {sizes}, got {actual}.")
    return tensor


def _checked(expected_shape, tensor):
    """The tensor after the check of its shape when it runs."""
    with ops.name_scope("%s/" % tensor.op.name, values=[tensor]):
        with ops.control_dependencies([_assert_shape(expected_shape, tensor)]):
            return array_ops.identity(tensor)
