"""Feature columns under tf.contrib.layers' names: they are those of tf.feature_column."""

from braid.tensorflow.contrib.framework.python.ops import variables
from braid.tensorflow.python.feature_column import feature_column as fc_v1
from braid.tensorflow.python.feature_column import feature_column_v2 as fc
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import embedding_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import parsing_ops
from braid.tensorflow.python.ops import sparse_ops
from braid.tensorflow.python.ops import variable_scope

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
    with variable_scope.variable_scope(scope, default_name="input_from_feature_columns"):
        return fc_v1.input_layer(columns_to_tensors, feature_columns, weight_collections, trainable)


def parse_feature_columns_from_examples(serialized, feature_columns, name=None, example_names=None):
    """The features of the columns, parsed."""
    return parsing_ops.parse_example(
        serialized, create_feature_spec_for_parsing(feature_columns), example_names=example_names, name=name
    )


def check_feature_columns(feature_columns):
    """ValueError: they are a dict, or there are two of one name."""
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    seen = set()
    for column in feature_columns:
        if column.name in seen:
            raise ValueError(
                f"Duplicate feature column key found for column: {column.name}. This usually means that the "
                "column is almost identical to another column, and one must be discarded."
            )
        seen.add(column.name)


def infer_real_valued_columns(features):
    """A real_valued_column for each of a dict of dense tensors, or for one tensor, whose name is empty."""

    def inferred(name, tensor):
        if isinstance(tensor, sparse_tensor.SparseTensor):
            raise ValueError(f"SparseTensor {name}: its feature column cannot be inferred: {tensor}")
        if not (tensor.dtype.is_integer or tensor.dtype.is_floating):
            raise ValueError(
                f"Tensor {name} of type {tensor.dtype.name}: its feature column cannot be inferred"
            )
        size = tensor.get_shape()[1:].num_elements()
        return real_valued_column(name, dimension=size, dtype=tensor.dtype)

    if not isinstance(features, dict):
        return [inferred("", features)]
    return [inferred(name, tensor) for name, tensor in features.items()]


def _weights_variable(name, shape, weight_collections, trainable):
    return variables.model_variable(
        name,
        shape=shape,
        dtype=dtypes.float32,
        initializer=init_ops.zeros_initializer(),
        trainable=trainable,
        collections=fc_v1._model_collections(weight_collections) if weight_collections else None,
    )


def _list_of(variable):
    parts = fc_v1._parts(variable)
    return parts if isinstance(parts, list) else [parts]


def weighted_sum_from_feature_columns(
    columns_to_tensors, feature_columns, num_outputs, weight_collections=None, trainable=True, scope=None
):
    """(a linear model of the columns [batch, num_outputs], {column: its variables}, the bias).

    Categorical columns have a row of "weights" for each id, of which those of an example are added up; others
    have a matrix "weight".
    """
    columns = list(feature_columns)
    check_feature_columns(columns)
    with variable_scope.variable_scope(
        scope, default_name="weighted_sum_from_feature_columns", values=columns_to_tensors.values()
    ):
        builder, sums, found = fc_v1._LazyBuilder(dict(columns_to_tensors)), [], {}
        for column in sorted(columns, key=lambda c: c.name):
            categorical = isinstance(column, fc.CategoricalColumn)
            rows = column._num_buckets if categorical else column._variable_shape.num_elements()
            with variable_scope.variable_scope(None, default_name=column._var_scope_name):
                name, shape = "weights" if categorical else "weight", [rows, num_outputs]
                weights = _weights_variable(name, shape, weight_collections, trainable)
                sums.append(fc._create_weighted_sum(column, builder, None, "sum", weights))
            found[column] = _list_of(weights)
        bias = _weights_variable("bias_weight", [num_outputs], weight_collections, trainable)
        return nn_ops.bias_add(math_ops.add_n(sums), bias), found, bias


def joint_weighted_sum_from_feature_columns(
    columns_to_tensors, feature_columns, num_outputs, weight_collections=None, trainable=True, scope=None
):
    """(a linear model of categorical columns [batch, num_outputs], [its one variable of weights], the bias).

    The weights of the columns, in the order of their names, follow one another in the variable.
    """
    columns = sorted(feature_columns, key=lambda c: c.name)
    check_feature_columns(columns)
    with variable_scope.variable_scope(
        scope, default_name="joint_weighted_sum_from_feature_columns", values=columns_to_tensors.values()
    ):
        builder, rows, joint = fc_v1._LazyBuilder(dict(columns_to_tensors)), 0, []
        for column in columns:
            if not isinstance(column, fc.CategoricalColumn):
                raise NotImplementedError(
                    "Real-valued columns are not supported. Use weighted_sum_from_feature_columns instead, or "
                    "bucketize these columns."
                )
            ids, weights = fc._sparse_tensors(column, builder, None)
            assert weights is None, (
                "Joint sums for weighted sparse columns are not supported. Please use "
                "weighted_sum_from_feature_columns instead."
            )
            values = math_ops.cast(ids.values, dtypes.int64)
            values = array_ops.where(values < 0, values, values + rows)
            joint.append(sparse_tensor.SparseTensor(ids.indices, values, ids.dense_shape))
            rows += column._num_buckets
        with variable_scope.variable_scope(None, default_name="linear_weights"):
            weights = _weights_variable("weights", [rows, num_outputs], weight_collections, trainable)
            ids = sparse_ops.sparse_concat(1, joint)
            total = embedding_ops.safe_embedding_lookup_sparse(weights, ids, combiner="sum", name="_weights")
        bias = _weights_variable("bias_weight", [num_outputs], weight_collections, trainable)
        return nn_ops.bias_add(total, bias), _list_of(weights), bias
