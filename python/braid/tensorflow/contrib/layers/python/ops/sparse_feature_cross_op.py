"""Crosses of features, as tf.contrib.layers' columns make them."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.ops import gen_sparse_feature_cross_op
from braid.tensorflow.python.ops import math_ops

SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY = 0xDECAFCAFFE


def sparse_feature_cross(inputs, hashed_output=False, num_buckets=0, name=None, hash_key=None):
    """All combinations of one feature from each input in a row: strings joined by "_X_", or hashes.

    num_buckets: hashes are below it; 0: they are any numbers. hash_key: of FingerprintCat64, as in
    tf.sparse.cross_hashed; without a key hashes are combined by an older function, and are others.
    """
    if not isinstance(inputs, list):
        raise TypeError("Inputs must be a list")
    if not all(isinstance(i, (sparse_tensor.SparseTensor, ops.Tensor)) for i in inputs):
        raise TypeError("All inputs must be SparseTensors")
    sparse = [i for i in inputs if isinstance(i, sparse_tensor.SparseTensor)]
    dense = [i for i in inputs if not isinstance(i, sparse_tensor.SparseTensor)]

    def of_two_types(tensor):
        return tensor if tensor.dtype == dtypes.string else math_ops.cast(tensor, dtypes.int64)

    arguments = dict(
        indices=[s.indices for s in sparse],
        values=[of_two_types(s.values) for s in sparse],
        shapes=[s.dense_shape for s in sparse],
        dense=[of_two_types(d) for d in dense],
        hashed_output=hashed_output,
        num_buckets=num_buckets,
        out_type=dtypes.int64 if hashed_output else dtypes.string,
        internal_type=dtypes.int64 if any(i.dtype != dtypes.string for i in inputs) else dtypes.string,
        name=name,
    )
    if hash_key:
        crossed = gen_sparse_feature_cross_op.sparse_feature_cross_v2(hash_key=hash_key, **arguments)
    else:
        crossed = gen_sparse_feature_cross_op.sparse_feature_cross(**arguments)
    return sparse_tensor.SparseTensor(*crossed)
