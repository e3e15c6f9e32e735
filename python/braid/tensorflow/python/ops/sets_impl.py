"""Operations on sets, which are in the last dimension of tensors."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.ops import gen_set_ops
from braid.tensorflow.python.util.tf_export import tf_export

_VALID_DTYPES = frozenset(
    [
        dtypes.int8,
        dtypes.int16,
        dtypes.int32,
        dtypes.int64,
        dtypes.uint8,
        dtypes.uint16,
        dtypes.string,
    ]
)


@tf_export("sets.size", v1=["sets.size", "sets.set_size"])
def set_size(a, validate_indices=True):
    """The number of different elements in each row of a SparseTensor."""
    a = sparse_tensor.convert_to_tensor_or_sparse_tensor(a, name="a")
    if not isinstance(a, sparse_tensor.SparseTensor):
        raise TypeError("Expected `SparseTensor`, got %s." % a)
    if a.values.dtype.base_dtype not in _VALID_DTYPES:
        raise TypeError("Invalid dtype %s." % a.values.dtype)
    return gen_set_ops.set_size(a.indices, a.values, a.dense_shape, validate_indices)


def _set_operation(a, b, set_operation, validate_indices=True):
    parts = []
    for value, name in ((a, "a"), (b, "b")):
        value = sparse_tensor.convert_to_tensor_or_sparse_tensor(value, name=name)
        if value.dtype.base_dtype not in _VALID_DTYPES:
            raise TypeError("'%s' invalid dtype %s." % (name, value.dtype))
        parts.append(value)
    a, b = parts
    if b.dtype.base_dtype != a.dtype.base_dtype:
        raise TypeError("Types don't match, %s vs %s." % (a.dtype, b.dtype))
    is_sparse = [isinstance(value, sparse_tensor.SparseTensor) for value in parts]
    if is_sparse == [True, False]:
        if set_operation not in ("intersection", "union"):
            set_operation = "b-a" if set_operation == "a-b" else "a-b"
        a, b = b, a
        is_sparse = [False, True]
    if is_sparse == [True, True]:
        made = gen_set_ops.sparse_to_sparse_set_operation(
            a.indices,
            a.values,
            a.dense_shape,
            b.indices,
            b.values,
            b.dense_shape,
            set_operation,
            validate_indices,
        )
    elif is_sparse == [False, True]:
        made = gen_set_ops.dense_to_sparse_set_operation(
            a, b.indices, b.values, b.dense_shape, set_operation, validate_indices
        )
    else:
        made = gen_set_ops.dense_to_dense_set_operation(a, b, set_operation, validate_indices)
    return sparse_tensor.SparseTensor(*made)


@tf_export("sets.intersection", v1=["sets.intersection", "sets.set_intersection"])
def set_intersection(a, b, validate_indices=True):
    """What is in each row of both, as a SparseTensor; a and b are Tensors or SparseTensors."""
    return _set_operation(a, b, "intersection", validate_indices)


@tf_export("sets.difference", v1=["sets.difference", "sets.set_difference"])
def set_difference(a, b, aminusb=True, validate_indices=True):
    """What is in each row of a and not of b (aminusb false: of b and not of a), as a SparseTensor."""
    return _set_operation(a, b, "a-b" if aminusb else "b-a", validate_indices)


@tf_export("sets.union", v1=["sets.union", "sets.set_union"])
def set_union(a, b, validate_indices=True):
    """What is in each row of a or b, as a SparseTensor."""
    return _set_operation(a, b, "union", validate_indices)
