"""Embeddings looked up where ids may be invalid, or are few."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import embedding_ops

__all__ = ["safe_embedding_lookup_sparse", "embedding_lookup_unique"]


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


def embedding_lookup_unique(params, ids, partition_strategy="mod", name=None):
    """embedding_lookup() that looks up each id once."""
    with ops.name_scope(name, "EmbeddingLookupUnique", [params, ids]):
        ids = ops.convert_to_tensor(ids)
        shape = array_ops.shape(ids)
        unique, positions = array_ops.unique(array_ops.reshape(ids, [-1]))
        found = embedding_ops.embedding_lookup(params, unique, partition_strategy)
        flat = array_ops.gather(found, positions)
        full_shape = array_ops.concat([shape, array_ops.shape(found, out_type=dtypes.int32)[1:]], 0)
        result = array_ops.reshape(flat, full_shape)
        result.set_shape(ids.get_shape().concatenate(found.get_shape()[1:]))
        return result
