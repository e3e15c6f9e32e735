"""What models take and give besides arrays: values of sparse and ragged tensors, and matrices of SciPy."""

import numpy as np

from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops.ragged import ragged_tensor
from braid.tensorflow.python.ops.ragged import ragged_tensor_value

SparseTensorValue = sparse_tensor.SparseTensorValue
RaggedTensorValue = ragged_tensor_value.RaggedTensorValue


def is_composite_tensor(x):
    """Whether x is a SparseTensor or a RaggedTensor."""
    return isinstance(x, (sparse_tensor.SparseTensor, ragged_tensor.RaggedTensor))


def is_composite_value(x):
    """Whether x is what a step returns for a SparseTensor or a RaggedTensor, or a matrix of SciPy."""
    return isinstance(x, (SparseTensorValue, RaggedTensorValue)) or hasattr(x, "tocoo")


def is_composite(x):
    """Whether x is a SparseTensor, a RaggedTensor, or a value of one."""
    return is_composite_tensor(x) or is_composite_value(x)


def shape_of(x):
    """The shape as a tuple with None where it is not known; None without a rank."""
    if isinstance(x, SparseTensorValue):
        return tuple(int(n) for n in x.dense_shape)
    if isinstance(x.shape, tensor_shape.TensorShape):
        return None if x.shape.ndims is None else tuple(x.shape.as_list())
    return tuple(x.shape)


def rows(x, which):
    """The rows of a value that a slice or an array of numbers says."""
    if hasattr(x, "tocoo"):
        return x.tocsr()[which]
    if not is_composite_value(x):
        return x[which]
    numbers = np.arange(shape_of(x)[0])[which]
    if isinstance(x, RaggedTensorValue):
        begins, ends = x.row_splits[numbers], x.row_splits[numbers + 1]
        return RaggedTensorValue(rows(x.values, _ranges(begins, ends)), _splits(ends - begins, x.row_splits))
    begins, ends = (np.searchsorted(x.indices[:, 0], numbers, side) for side in ("left", "right"))
    places = _ranges(begins, ends)
    indices = np.array(x.indices[places])
    indices[:, 0] = np.repeat(np.arange(len(numbers)), ends - begins)
    return SparseTensorValue(indices, x.values[places], np.array([len(numbers), *x.dense_shape[1:]]))


def joined(parts):
    """The rows of values one after another."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, RaggedTensorValue):
        lengths = np.concatenate([np.diff(p.row_splits) for p in parts])
        return RaggedTensorValue(joined([p.values for p in parts]), _splits(lengths, first.row_splits))
    if isinstance(first, SparseTensorValue):
        starts = np.cumsum([0] + [p.dense_shape[0] for p in parts])
        moved = [p.indices + np.eye(1, p.indices.shape[1], dtype=np.int64) * s for p, s in zip(parts, starts)]
        shape = np.max([p.dense_shape for p in parts], axis=0)
        shape[0] = starts[-1]
        return SparseTensorValue(
            np.concatenate(moved), np.concatenate([p.values for p in parts]), np.array(shape)
        )
    return np.concatenate(parts, axis=0)


def feed_value(tensor, value):
    """What a step is fed for a tensor. ValueError: a ragged value has not the tensor's ragged rank."""
    if isinstance(tensor, sparse_tensor.SparseTensor) and hasattr(value, "tocoo"):
        coo = value.tocoo()
        return SparseTensorValue(np.stack([coo.row, coo.col], 1), coo.data, coo.shape)
    if isinstance(tensor, ragged_tensor.RaggedTensor) or isinstance(value, RaggedTensorValue):
        wanted, given = (getattr(x, "ragged_rank", 0) for x in (tensor, value))
        if wanted != given:
            raise ValueError(
                f"{tensor} and its value don't have the same nested structure: the ragged ranks are {wanted} "
                f"and {given}"
            )
    return value


def _ranges(begins, ends):
    """The numbers of several ranges, one after another."""
    return np.concatenate([np.arange(b, e) for b, e in zip(begins, ends)] or [np.zeros(0, np.int64)])


def _splits(lengths, like):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(like.dtype)
