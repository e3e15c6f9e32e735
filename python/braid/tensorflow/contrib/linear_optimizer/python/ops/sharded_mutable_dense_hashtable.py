"""The table of the estimators' package under its name in tf.contrib."""

from braid.tensorflow.python.estimator.canned.linear_optimizer.python.utils import (
    sharded_mutable_dense_hashtable as core,
)


class ShardedMutableDenseHashTable(core._ShardedMutableDenseHashTable):
    """A table of vectors in `num_shards` parts."""
