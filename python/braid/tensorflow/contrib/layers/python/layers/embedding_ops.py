"""Embeddings looked up where ids may be invalid, or are few."""

from braid.tensorflow.contrib.layers.python.ops import sparse_feature_cross_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import embedding_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import sparse_ops

__all__ = [
    "safe_embedding_lookup_sparse",
    "scattered_embedding_lookup",
    "scattered_embedding_lookup_sparse",
    "embedding_lookup_unique",
]


def safe_embedding_lookup_sparse(
    embedding_weights,
    sparse_ids,
    sparse_weights=None,
    combiner=None,
    default_id=None,
    name=None,
    partition_strategy="div",
    max_norm=None,
):
    """tf.nn.safe_embedding_lookup_sparse, whose combiner is "mean". ValueError: types of weights differ."""
    embedding_weights = embedding_ops._partitions(embedding_weights)
    if sparse_weights is None:
        embedding_weights = [
            w if embedding_ops._is_resource_variable(w) else ops.convert_to_tensor(w)
            for w in embedding_weights
        ]
    else:
        embedding_weights = [ops.convert_to_tensor(w, dtype=sparse_weights.dtype) for w in embedding_weights]
    check_ops.assert_same_float_dtype([*embedding_weights, sparse_weights])
    return embedding_ops.safe_embedding_lookup_sparse(
        embedding_weights,
        sparse_ids,
        sparse_weights=sparse_weights,
        combiner=combiner or "mean",
        default_id=default_id,
        name=name,
        partition_strategy=partition_strategy,
        max_norm=max_norm,
    )


def scattered_embedding_lookup(params, values, dimension, name=None, hash_key=None):
    """Embeddings [..., dimension] of values, each of whose numbers is found by a hash of (number, value).

    params: a vector, or a list of its parts, of which the first may have one element more than the others.
    """
    if dimension is None:
        raise ValueError("You must specify dimension.")
    params = embedding_ops._partitions(params)
    with ops.name_scope(name, "scattered_embedding_lookup", [*params, dimension, values]):
        values_shape = array_ops.shape(values)
        values = array_ops.reshape(values, [-1, 1])
        if dimension <= 0:
            raise ValueError(f"Dimension must be >0. Given is {dimension}")
        numbers = array_ops.tile(
            array_ops.expand_dims(math_ops.range(0, dimension), 0), array_ops.shape(values)
        )
        sizes = []
        for part in params:
            part.get_shape().assert_has_rank(1)
            part.get_shape().assert_is_fully_defined()
            sizes.append(tensor_shape.dimension_value(part.get_shape()[0]))
        total = sum(sizes)
        for i, size in enumerate(sizes):
            expected = (total - i - 1) // len(params) + 1
            if size != expected:
                raise ValueError(f"Tensor {i} in params has size {size}, expected {expected}.")
        ids = sparse_feature_cross_op.sparse_feature_cross(
            [numbers, values], hashed_output=True, num_buckets=total, hash_key=hash_key
        )
        ids = sparse_ops.sparse_tensor_to_dense(ids)
        result = embedding_ops.embedding_lookup(params, ids, partition_strategy="div")
        return array_ops.reshape(result, array_ops.concat([values_shape, [dimension]], 0))


def scattered_embedding_lookup_sparse(
    params, sparse_values, dimension, combiner=None, default_value=None, name=None, hash_key=None
):
    """scattered_embedding_lookup of the rows of a SparseTensor, combined: [rows, dimension].

    combiner: "mean", "sqrtn" or "sum". default_value: what stands in an empty row.
    """
    combiner = combiner or "mean"
    params = embedding_ops._partitions(params)
    if not isinstance(sparse_values, sparse_tensor.SparseTensor):
        raise TypeError("sparse_values must be SparseTensor")
    combine = {
        "sum": math_ops.sparse_segment_sum,
        "mean": math_ops.sparse_segment_mean,
        "sqrtn": math_ops.sparse_segment_sqrt_n,
    }
    with ops.name_scope(name, "scattered_embedding_lookup_sparse", [*params, sparse_values]) as scope:
        if default_value is None:
            # TensorFlow's: a value that no other is likely to be.
            default_value = "6ZxWzWOHxZ" if sparse_values.dtype == dtypes.string else 1288896567
        sparse_values, _ = sparse_ops.sparse_fill_empty_rows(sparse_values, default_value)
        rows = math_ops.cast(sparse_values.indices[:, 0], dtypes.int32)
        values, positions = array_ops.unique(sparse_values.values)
        embeddings = scattered_embedding_lookup(params, values, dimension, hash_key=hash_key)
        if combiner not in combine:
            raise ValueError("Combiner must be one of 'mean', 'sqrtn' or 'sum'.")
        return combine[combiner](embeddings, positions, rows, name=scope)


def embedding_lookup_unique(params, ids, partition_strategy="mod", name=None):
    """embedding_lookup() that looks up each id once."""
    with ops.name_scope(name, "EmbeddingLookupUnique", [params, ids]):
        ids = ops.convert_to_tensor(ids)
        shape = array_ops.shape(ids)
        unique, positions = array_ops.unique(
            array_ops.reshape(ids, math_ops.reduce_prod(shape, keepdims=True))
        )
        found = embedding_ops.embedding_lookup(params, unique, partition_strategy)
        flat = array_ops.gather(found, positions)
        full_shape = array_ops.concat([shape, array_ops.shape(found)[1:]], 0)
        result = array_ops.reshape(flat, full_shape)
        result.set_shape(ids.get_shape().concatenate(found.get_shape()[1:]))
        return result
