"""tf.contrib.layers: layers as functions, whose arguments arg_scope may give; regularizers and initializers."""

from braid.tensorflow.contrib.framework.python.ops.arg_scope import *  # noqa: F401,F403
from braid.tensorflow.contrib.layers.python.layers import *  # noqa: F401,F403

SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY = 0xDECAFCAFFE

_COLUMNS = {
    "bucketized_column",
    "check_feature_columns",
    "create_feature_spec_for_parsing",
    "crossed_column",
    "embedding_column",
    "infer_real_valued_columns",
    "input_from_feature_columns",
    "joint_weighted_sum_from_feature_columns",
    "one_hot_column",
    "parse_feature_columns_from_examples",
    "real_valued_column",
    "shared_embedding_columns",
    "sparse_column_with_hash_bucket",
    "sparse_column_with_integerized_feature",
    "sparse_column_with_keys",
    "sparse_column_with_vocabulary_file",
    "weighted_sparse_column",
    "weighted_sum_from_feature_columns",
}


def __getattr__(name):
    from braid.tensorflow import missing

    if name in _COLUMNS:
        from braid.tensorflow.contrib.layers.python.layers import feature_column

        return getattr(feature_column, name)
    raise AttributeError(missing.message(f"contrib.layers.{name}"))
