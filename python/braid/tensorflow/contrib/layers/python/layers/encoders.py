"""Sequences of ids as embeddings."""

from braid.tensorflow.contrib.framework.python.ops import variables
from braid.tensorflow.contrib.layers.python.layers import embedding_ops as contrib_embedding_ops
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import embedding_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import variable_scope

__all__ = ["bow_encoder", "embed_sequence"]


def _without_zeros(ids):
    """The SparseTensor of the ids that are not 0, or not empty strings."""
    with ops.name_scope("DenseToSparseTensor"):
        ids = ops.convert_to_tensor(ids)
        ignored = "" if ids.dtype == dtypes.string else ids.dtype.as_numpy_dtype()
        ignored = math_ops.cast(ignored, ids.dtype, name="ignore_value")
        indices = array_ops.where(math_ops.not_equal(ids, ignored), name="indices")
        values = array_ops.gather_nd(ids, indices, name="values")
        shape = array_ops.shape(ids, out_type=dtypes.int64, name="dense_shape")
        return sparse_tensor.SparseTensor(indices, values, shape)


def bow_encoder(
    ids,
    vocab_size,
    embed_dim,
    sparse_lookup=True,
    initializer=None,
    regularizer=None,
    trainable=True,
    scope=None,
    reuse=None,
):
    """[batch, embed_dim]: the mean of the embeddings of ids [batch, words]."""
    with variable_scope.variable_scope(scope, "bow_encoder", [ids], reuse=reuse):
        embeddings = variables.model_variable(
            "embeddings",
            shape=[vocab_size, embed_dim],
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        if sparse_lookup:
            if not isinstance(ids, sparse_tensor.SparseTensor):
                ids = _without_zeros(ids)
            return contrib_embedding_ops.safe_embedding_lookup_sparse(
                [embeddings], ids, combiner="mean", default_id=0
            )
        if isinstance(ids, sparse_tensor.SparseTensor):
            raise TypeError("ids are expected to be dense Tensor, got: %s" % ids)
        return math_ops.reduce_mean(embedding_ops.embedding_lookup(embeddings, ids), axis=1)


def embed_sequence(
    ids,
    vocab_size=None,
    embed_dim=None,
    unique=False,
    initializer=None,
    regularizer=None,
    trainable=True,
    scope=None,
    reuse=None,
):
    """[batch, length, embed_dim]: the embeddings of ids [batch, length]. Without sizes they must be reused."""
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(
            f"Must specify vocab size and embedding dimension when not reusing. Got vocab_size={vocab_size} and "
            f"embed_dim={embed_dim}"
        )
    with variable_scope.variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        shape = [vocab_size, embed_dim]
        if reuse and (vocab_size is None or embed_dim is None):
            shape = None
        embeddings = variables.model_variable(
            "embeddings",
            shape=shape,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        if unique:
            return contrib_embedding_ops.embedding_lookup_unique(embeddings, ids)
        return embedding_ops.embedding_lookup(embeddings, ids)
