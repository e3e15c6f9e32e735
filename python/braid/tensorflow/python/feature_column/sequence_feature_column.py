"""Columns for sequences, and the layer over them."""

import collections

from braid.tensorflow.python.feature_column import feature_column_v2 as fc
from braid.tensorflow.python.feature_column import interfaces
from braid.tensorflow.python.feature_column import utils
from braid.tensorflow.python.feature_column.dense_features import _BaseFeaturesLayer
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import parsing_ops
from braid.tensorflow.python.ops import sparse_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.util.tf_export import keras_export, tf_export


class SequenceNumericColumn(
    fc._BothSequence,
    fc.SequenceDenseColumn,
    interfaces._SequenceDenseColumn,
    collections.namedtuple(
        "SequenceNumericColumn", ("key", "shape", "default_value", "dtype", "normalizer_fn")
    ),
):
    """Numbers for each step of a sequence. See sequence_numeric_column."""

    @property
    def name(self):
        return self.key

    @property
    def parse_example_spec(self):
        return {self.key: parsing_ops.VarLenFeature(self.dtype)}

    def transform_feature(self, transformation_cache, state_manager):
        tensor = transformation_cache.get(self.key, state_manager)
        return tensor if self.normalizer_fn is None else self.normalizer_fn(tensor)

    @property
    def variable_shape(self):
        return tensor_shape.TensorShape(self.shape)

    @property
    def _variable_shape(self):
        return self.variable_shape

    def get_sequence_dense_tensor(self, transformation_cache, state_manager):
        sparse = transformation_cache.get(self, state_manager)
        if not isinstance(sparse, sparse_tensor.SparseTensor):
            raise TypeError(f"sequence_numeric_column {self.key}: a SparseTensor is needed. Given: {sparse}")
        dense = sparse_ops.sparse_tensor_to_dense(sparse, default_value=self.default_value)
        shape = array_ops.concat([array_ops.shape(dense)[:1], [-1], self.variable_shape.as_list()], axis=0)
        dense = array_ops.reshape(dense, shape=shape)
        if sparse.get_shape().ndims == 2:
            elements = self.variable_shape.num_elements()
        else:
            elements = 1
        return fc.SequenceDenseColumn.TensorSequenceLengthPair(
            dense, utils.sequence_length_from_sparse_tensor(sparse, num_elements=elements)
        )

    @property
    def parents(self):
        return [self.key]


@tf_export("feature_column.sequence_numeric_column")
def sequence_numeric_column(key, shape=(1,), default_value=0.0, dtype=dtypes.float32, normalizer_fn=None):
    """Numbers for each step of a sequence. shape: of one step. default_value: fills shorter sequences up."""
    shape = fc._check_shape(shape=shape, key=key)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    return SequenceNumericColumn(key, shape, default_value, dtype, normalizer_fn)


@tf_export("feature_column.sequence_categorical_column_with_identity")
def sequence_categorical_column_with_identity(key, num_buckets, default_value=None):
    """categorical_column_with_identity for each step of a sequence."""
    return fc.SequenceCategoricalColumn(fc.categorical_column_with_identity(key, num_buckets, default_value))


@tf_export("feature_column.sequence_categorical_column_with_hash_bucket")
def sequence_categorical_column_with_hash_bucket(key, hash_bucket_size, dtype=dtypes.string):
    """categorical_column_with_hash_bucket for each step of a sequence."""
    return fc.SequenceCategoricalColumn(fc.categorical_column_with_hash_bucket(key, hash_bucket_size, dtype))


@tf_export("feature_column.sequence_categorical_column_with_vocabulary_file")
def sequence_categorical_column_with_vocabulary_file(
    key, vocabulary_file, vocabulary_size=None, num_oov_buckets=0, default_value=None, dtype=dtypes.string
):
    """categorical_column_with_vocabulary_file for each step of a sequence."""
    return fc.SequenceCategoricalColumn(
        fc.categorical_column_with_vocabulary_file(
            key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
        )
    )


@tf_export("feature_column.sequence_categorical_column_with_vocabulary_list")
def sequence_categorical_column_with_vocabulary_list(
    key, vocabulary_list, dtype=None, default_value=-1, num_oov_buckets=0
):
    """categorical_column_with_vocabulary_list for each step of a sequence."""
    return fc.SequenceCategoricalColumn(
        fc.categorical_column_with_vocabulary_list(
            key, vocabulary_list, dtype, default_value, num_oov_buckets
        )
    )


def concatenate_context_input(context_input, sequence_input):
    """[batch, steps, a + b]: the context [batch, a] beside each step of [batch, steps, b], both float32."""
    checks = []
    for name, value, rank in (("sequence_input", sequence_input, 3), ("context_input", context_input, 2)):
        checks.append(
            check_ops.assert_rank(
                value, rank, message=f"{name} must have rank {rank}", data=[array_ops.shape(value)]
            )
        )
        checks.append(
            check_ops.assert_type(
                value, dtypes.float32, message=f"{name} must have dtype float32; got {value.dtype}."
            )
        )
    with ops.control_dependencies(checks):
        steps = array_ops.shape(sequence_input)[1]
        tiled = array_ops.tile(array_ops.expand_dims(context_input, 1), [1, steps, 1])
    return array_ops.concat([sequence_input, tiled], 2)


def _equal_lengths(lengths):
    checks = [check_ops.assert_equal(lengths[0], other) for other in lengths[1:]]
    with ops.control_dependencies(checks):
        return array_ops.identity(lengths[0])


def sequence_input_layer(features, feature_columns, weight_collections=None, trainable=True):
    """(inputs [batch, steps, sum of the columns' sizes], lengths [batch]) of sequence columns."""
    from braid.tensorflow.python.feature_column import feature_column as fc_v1

    columns = fc_v1._normalize_feature_columns(feature_columns)
    for column in columns:
        if not isinstance(column, interfaces._SequenceDenseColumn):
            raise ValueError(
                "All feature_columns must be of type _SequenceDenseColumn. You can wrap a "
                "sequence_categorical_column with an embedding_column or indicator_column. "
                f"Given (type {type(column)}): {column}"
            )
    weight_collections = fc_v1._model_collections(weight_collections)
    with variable_scope.variable_scope(None, default_name="sequence_input_layer", values=features.values()):
        builder = interfaces._LazyBuilder(features)
        tensors, lengths = [], []
        for column in columns:
            with variable_scope.variable_scope(None, default_name=column._var_scope_name):
                dense, length = column._get_sequence_dense_tensor(
                    builder, weight_collections=weight_collections, trainable=trainable
                )
                shape = array_ops.shape(dense)
                elements = column._variable_shape.num_elements()
                tensors.append(
                    array_ops.reshape(dense, shape=array_ops.concat([shape[:2], [elements]], axis=0))
                )
                lengths.append(length)
        fc._verify_static_batch_size_equality(tensors, columns)
        fc._verify_static_batch_size_equality(lengths, columns)
        return array_ops.concat(tensors, -1), _equal_lengths(lengths)


@keras_export("keras.experimental.SequenceFeatures")
class SequenceFeatures(_BaseFeaturesLayer):
    """sequence_input_layer as a layer."""

    def __init__(self, feature_columns, trainable=True, name=None, **kwargs):
        super().__init__(feature_columns, fc.SequenceDenseColumn, trainable, name, **kwargs)

    def _target_shape(self, input_shape, total_elements):
        return (input_shape[0], input_shape[1], total_elements)

    def call(self, features):
        if not isinstance(features, dict):
            raise ValueError("We expected a dictionary here. Instead we got: ", features)
        cache = fc.FeatureTransformationCache(features)
        tensors, lengths = [], []
        for column in self._feature_columns:
            with ops.name_scope(column.name):
                dense, length = column.get_sequence_dense_tensor(cache, self._state_manager)
                tensors.append(self._process_dense_tensor(column, dense))
                lengths.append(math_ops.cast(length, dtypes.int64))
        return self._verify_and_concat_tensors(tensors), _equal_lengths(lengths)
