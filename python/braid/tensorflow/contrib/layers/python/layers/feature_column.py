"""The feature columns of tf.contrib.layers, as those of tf.feature_column that do the same.

The variables that they make are named as tf.feature_column names them.
"""

from braid.tensorflow.python.feature_column import feature_column_lib as fc
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.ops import parsing_ops
from braid.tensorflow.python.ops import variable_scope

__all__ = [
    "bucketized_column",
    "create_feature_spec_for_parsing",
    "crossed_column",
    "embedding_column",
    "input_from_feature_columns",
    "one_hot_column",
    "parse_feature_columns_from_examples",
    "real_valued_column",
    "sparse_column_with_hash_bucket",
    "sparse_column_with_integerized_feature",
    "sparse_column_with_keys",
    "sparse_column_with_vocabulary_file",
    "weighted_sum_from_feature_columns",
]


def real_valued_column(column_name, dimension=1, default_value=None, dtype=dtypes.float32, normalizer=None):
    """Numbers [batch, dimension]."""
    return fc.numeric_column(
        column_name,
        shape=(dimension,),
        default_value=default_value,
        dtype=dtype,
        normalizer_fn=normalizer,
    )


def sparse_column_with_hash_bucket(column_name, hash_bucket_size, combiner="sum", dtype=dtypes.string):
    """Values by their hash, modulo `hash_bucket_size`."""
    return fc.categorical_column_with_hash_bucket(column_name, hash_bucket_size, dtype=dtype)


def sparse_column_with_integerized_feature(column_name, bucket_size, combiner="sum", dtype=dtypes.int64):
    """Integers below `bucket_size`."""
    return fc.categorical_column_with_identity(column_name, num_buckets=bucket_size)


def sparse_column_with_keys(column_name, keys, default_value=-1, combiner="sum", dtype=dtypes.string):
    """Values by their place among `keys`."""
    return fc.categorical_column_with_vocabulary_list(
        column_name, keys, dtype=dtype, default_value=default_value
    )


def sparse_column_with_vocabulary_file(
    column_name,
    vocabulary_file,
    num_oov_buckets=0,
    vocab_size=None,
    default_value=-1,
    combiner="sum",
    dtype=dtypes.string,
):
    """Values by their line in a file."""
    return fc.categorical_column_with_vocabulary_file(
        column_name,
        vocabulary_file,
        vocabulary_size=vocab_size,
        num_oov_buckets=num_oov_buckets,
        default_value=None if num_oov_buckets else default_value,
        dtype=dtype,
    )


def bucketized_column(source_column, boundaries):
    """Numbers by the interval they are in."""
    return fc.bucketized_column(source_column, boundaries)


def crossed_column(columns, hash_bucket_size, combiner="sum", **unused):
    """Combinations of values by their hash."""
    return fc.crossed_column(columns, hash_bucket_size)


def embedding_column(
    sparse_id_column,
    dimension,
    combiner="mean",
    initializer=None,
    ckpt_to_load_from=None,
    tensor_name_in_ckpt=None,
    max_norm=None,
    trainable=True,
):
    """Ids as vectors that are trained."""
    return fc.embedding_column(
        sparse_id_column,
        dimension,
        combiner=combiner,
        initializer=initializer,
        ckpt_to_load_from=ckpt_to_load_from,
        tensor_name_in_ckpt=tensor_name_in_ckpt,
        max_norm=max_norm,
        trainable=trainable,
    )


def one_hot_column(sparse_id_column):
    """Ids as vectors that count them."""
    return fc.indicator_column(sparse_id_column)


def create_feature_spec_for_parsing(feature_columns):
    """{key: how tf.io.parse_example reads it}."""
    return fc.make_parse_example_spec(feature_columns)


def parse_feature_columns_from_examples(serialized, feature_columns, name=None, example_names=None):
    """The tensors of serialized examples, by key."""
    return parsing_ops.parse_example(
        serialized, create_feature_spec_for_parsing(feature_columns), name=name, example_names=example_names
    )


def input_from_feature_columns(
    columns_to_tensors, feature_columns, weight_collections=None, trainable=True, scope=None
):
    """[batch, all columns]: what the first layer of a network takes."""
    with variable_scope.variable_scope(scope, "input_from_feature_columns"):
        return fc.input_layer(
            columns_to_tensors, feature_columns, weight_collections=weight_collections, trainable=trainable
        )


def weighted_sum_from_feature_columns(
    columns_to_tensors, feature_columns, num_outputs, weight_collections=None, trainable=True, scope=None
):
    """[batch, num_outputs]: the prediction of a linear model. Returns it alone: the weights are variables."""
    with variable_scope.variable_scope(scope, "weighted_sum_from_feature_columns"):
        return fc.linear_model(
            columns_to_tensors,
            feature_columns,
            units=num_outputs,
            weight_collections=weight_collections,
            trainable=trainable,
        )
