"""Values of several tensors, SparseTensor and RaggedTensor, one after the other."""

import numpy as np

from braid.tensorflow.python.framework import composite_tensor, sparse_tensor
from braid.tensorflow.python.ops import sparse_ops
from braid.tensorflow.python.ops.ragged import ragged_concat_ops, ragged_tensor, ragged_tensor_value


def is_composite_or_composite_value(tensor):
    """Whether it is a CompositeTensor, or what a session returns of one."""
    values = (sparse_tensor.SparseTensorValue, ragged_tensor_value.RaggedTensorValue)
    return isinstance(tensor, (composite_tensor.CompositeTensor, *values))


def get_shape(tensor):
    return tensor.dense_shape if isinstance(tensor, sparse_tensor.SparseTensorValue) else tensor.shape


def append_composite_tensor(target, to_append):
    """`target` with the rows of `to_append`, of the same class, behind its own. RuntimeError: they do not fit."""
    if type(target) is not type(to_append):
        raise RuntimeError(f"Unable to concatenate {type(target)} and {type(to_append)}")
    if isinstance(target, sparse_tensor.SparseTensor):
        return sparse_ops.sparse_concat(sp_inputs=[target, to_append], axis=0)
    if isinstance(target, ragged_tensor.RaggedTensor):
        return ragged_concat_ops.concat([target, to_append], axis=0)
    if isinstance(target, sparse_tensor.SparseTensorValue):
        return _sparse_values(target, to_append)
    if isinstance(target, ragged_tensor_value.RaggedTensorValue):
        return _ragged_values(target, to_append)
    raise RuntimeError(f"Attempted to concatenate unsupported object {type(target)}.")


def _check_rows(first, second, target, to_append):
    if len(first) != len(second) or tuple(first[1:]) != tuple(second[1:]):
        raise RuntimeError(f"Unable to concatenate {target} and {to_append}: shapes {first} and {second}")


def _sparse_values(target, to_append):
    first, second = target.dense_shape, to_append.dense_shape
    _check_rows(first, second, target, to_append)
    moved = np.array(to_append.indices)
    moved[:, 0] += first[0]
    return sparse_tensor.SparseTensorValue(
        indices=np.concatenate((target.indices, moved)),
        values=np.concatenate((target.values, to_append.values)),
        dense_shape=(first[0] + second[0], *first[1:]),
    )


def _ragged_values(target, to_append):
    _check_rows(target.shape, to_append.shape, target, to_append)
    splits = np.append(target.row_splits, to_append.row_splits[1:] + target.row_splits[-1])
    if isinstance(target.values, ragged_tensor_value.RaggedTensorValue):
        values = _ragged_values(target.values, to_append.values)
    else:
        values = np.concatenate((target.values, to_append.values))
    return ragged_tensor_value.RaggedTensorValue(values, splits)
