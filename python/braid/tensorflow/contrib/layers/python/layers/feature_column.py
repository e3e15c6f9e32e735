"""Feature columns under tf.contrib.layers' names: they are those of tf.feature_column."""

from braid.tensorflow.python.feature_column import feature_column as fc_v1
from braid.tensorflow.python.feature_column import feature_column_v2 as fc
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.ops import parsing_ops

# A combiner says how a linear model adds the weights of an example's ids up: LinearClassifier's sparse_combiner.


def _check_combiner(combiner):
    if combiner not in (None, "sum"):
        raise NotImplementedError(
            f"a column's combiner={combiner!r}: give LinearClassifier(sparse_combiner=) in place of it"
        )


def real_valued_column(column_name, dimension=1, default_value=None, dtype=dtypes.float32, normalizer=None):
    """tf.feature_column.numeric_column."""
    return fc.numeric_column(
        column_name, shape=(dimension,), default_value=default_value, dtype=dtype, normalizer_fn=normalizer
    )


def sparse_column_with_hash_bucket(column_name, hash_bucket_size, combiner="sum", dtype=dtypes.string):
    """tf.feature_column.categorical_column_with_hash_bucket."""
    _check_combiner(combiner)
    return fc.categorical_column_with_hash_bucket(column_name, hash_bucket_size, dtype)


def sparse_column_with_keys(column_name, keys, default_value=-1, combiner="sum", dtype=dtypes.string):
    """tf.feature_column.categorical_column_with_vocabulary_list."""
    _check_combiner(combiner)
    return fc.categorical_column_with_vocabulary_list(column_name, keys, dtype, default_value)


def sparse_column_with_integerized_feature(column_name, bucket_size, combiner="sum", dtype=dtypes.int64):
    """tf.feature_column.categorical_column_with_identity."""
    _check_combiner(combiner)
    if not dtype.is_integer:
        raise ValueError(
            f"dtype must be an integer if is_integerized is True. dtype: {dtype}, column_name: {column_name}."
        )
    return fc.categorical_column_with_identity(column_name, bucket_size)


def sparse_column_with_vocabulary_file(
    column_name,
    vocabulary_file,
    num_oov_buckets=0,
    vocab_size=None,
    default_value=-1,
    combiner="sum",
    dtype=dtypes.string,
):
    """tf.feature_column.categorical_column_with_vocabulary_file."""
    _check_combiner(combiner)
    default = None if num_oov_buckets else default_value
    return fc.categorical_column_with_vocabulary_file(
        column_name, vocabulary_file, vocab_size, num_oov_buckets, default, dtype
    )


def weighted_sparse_column(sparse_id_column, weight_column_name, dtype=dtypes.float32):
    """tf.feature_column.weighted_categorical_column."""
    return fc.weighted_categorical_column(sparse_id_column, weight_column_name, dtype)


def one_hot_column(sparse_id_column):
    """tf.feature_column.indicator_column."""
    return fc.indicator_column(sparse_id_column)


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
    """tf.feature_column.embedding_column."""
    return fc.embedding_column(
        sparse_id_column,
        dimension,
        combiner,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
    )


def shared_embedding_columns(
    sparse_id_columns, dimension, combiner="mean", shared_embedding_name=None, initializer=None, **kwargs
):
    """tf.feature_column.shared_embedding_columns."""
    return fc.shared_embedding_columns(
        sparse_id_columns, dimension, combiner, initializer, shared_embedding_name, **kwargs
    )


def bucketized_column(source_column, boundaries):
    """tf.feature_column.bucketized_column."""
    return fc.bucketized_column(source_column, list(boundaries))


def crossed_column(columns, hash_bucket_size, combiner="sum", hash_key=None, **kwargs):
    """tf.feature_column.crossed_column; of hashed columns the features are crossed."""
    _check_combiner(combiner)
    if kwargs:
        raise NotImplementedError(f"tf.contrib.layers.crossed_column: arguments {sorted(kwargs)}")
    keys = [c.key if isinstance(c, fc.HashedCategoricalColumn) else c for c in columns]
    return fc.crossed_column(keys, hash_bucket_size, hash_key)


def create_feature_spec_for_parsing(feature_columns):
    """tf.feature_column.make_parse_example_spec."""
    return fc_v1.make_parse_example_spec(feature_columns)


def input_from_feature_columns(
    columns_to_tensors, feature_columns, weight_collections=None, trainable=True, scope=None
):
    """tf.feature_column.input_layer, in the scope input_from_feature_columns."""
    from braid.tensorflow.python.ops import variable_scope

    with variable_scope.variable_scope(scope, default_name="input_from_feature_columns"):
        return fc_v1.input_layer(columns_to_tensors, feature_columns, weight_collections, trainable)


def parse_feature_columns_from_examples(serialized, feature_columns, name=None, example_names=None):
    """The features of the columns, parsed."""
    return parsing_ops.parse_example(
        serialized, create_feature_spec_for_parsing(feature_columns), example_names=example_names, name=name
    )
