"""Feature columns: how a feature of the input becomes numbers for a model.

A column is a tuple of its settings. Two kinds of layers use them: `input_layer` takes dense columns
(numeric, bucketized, indicator, embedding), `linear_model` takes categorical ones, too. A cache computes each
column once for a set of features.

The columns of tf.feature_column have both interfaces of interfaces.py. What a column does is written once,
for the newer one, in its class of rules; the older interface calls it without a state manager.
feature_column.py has columns of the same rules with the older interface alone.
"""

import collections
import contextlib
import math
import re
import weakref

import numpy as np

from braid.tensorflow.python.feature_column import interfaces
from braid.tensorflow.python.feature_column.interfaces import (
    CategoricalColumn,
    DenseColumn,
    FeatureColumn,
    FeatureTransformationCache,
    SequenceDenseColumn,
)
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor as sparse_tensor_lib
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import embedding_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import lookup_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import parsing_ops
from braid.tensorflow.python.ops import sparse_ops
from braid.tensorflow.python.ops import string_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.training.tracking import tracking
from braid.tensorflow.python.util.tf_export import tf_export

_SparseTensor = sparse_tensor_lib.SparseTensor
_OldColumn = interfaces._FeatureColumn
_OldDense = interfaces._DenseColumn
_OldCategorical = interfaces._CategoricalColumn
_OldSequence = interfaces._SequenceDenseColumn


class StateManager:
    """Makes and finds the variables of columns."""

    def create_variable(
        self, feature_column, name, shape, dtype=None, trainable=True, use_resource=True, initializer=None
    ):
        """Makes the column's variable `name`."""
        raise NotImplementedError("StateManager.create_variable")

    def get_variable(self, feature_column, name):
        """The column's variable `name`."""
        raise NotImplementedError("StateManager.get_variable")

    def add_resource(self, feature_column, name, resource):
        raise NotImplementedError("StateManager.add_resource")

    def get_resource(self, feature_column, name):
        raise NotImplementedError("StateManager.get_resource")


class _StateManagerImpl(StateManager):
    """Variables of columns as weights of a layer, in the current variable scope."""

    _options = {"getter": variable_scope.get_variable}

    def __init__(self, layer, trainable):
        self._trainable = trainable
        self._layer = layer
        self._variables = collections.defaultdict(dict)
        self._resources = collections.defaultdict(dict)

    def create_variable(
        self, feature_column, name, shape, dtype=None, trainable=True, use_resource=True, initializer=None
    ):
        if name in self._variables[feature_column]:
            raise ValueError("Variable already exists.")
        variable = self._layer.add_weight(
            name=name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            trainable=self._trainable and trainable,
            use_resource=use_resource,
            **self._options,
        )
        self._variables[feature_column][name] = variable
        return variable

    def get_variable(self, feature_column, name):
        if name in self._variables[feature_column]:
            return self._variables[feature_column][name]
        raise ValueError("Variable does not exist.")

    def add_resource(self, feature_column, name, resource):
        self._resources[feature_column][name] = resource

    def get_resource(self, feature_column, name):
        if name in self._resources[feature_column]:
            return self._resources[feature_column][name]
        raise ValueError("Resource does not exist.")


class _StateManagerImplV2(_StateManagerImpl):
    """Variables of columns as weights of a layer, outside of variable scopes."""

    _options = {}


class _Both:
    """A column's methods of the older interface, by those of the newer."""

    @property
    def _var_scope_name(self):
        return self.name

    @property
    def _parse_example_spec(self):
        return self.parse_example_spec

    def _transform_feature(self, inputs):
        return self.transform_feature(inputs, None)

    @property
    def _is_v2_column(self):
        return isinstance(self, FeatureColumn) and is_feature_column_v2(
            parent for parent in self.parents if not isinstance(parent, str)
        )

    # Tuples would be compared by their elements.

    def __lt__(self, other):
        return str(self) < str(other)

    def __gt__(self, other):
        return str(self) > str(other)

    def _get_config(self):
        return {field: _config_of(getattr(self, field)) for field in self._fields}

    @classmethod
    def _from_config(cls, config, custom_objects=None, columns_by_name=None):
        from braid.tensorflow.python.feature_column import serialization
        from braid.tensorflow.python.keras import initializers
        from braid.tensorflow.python.keras.utils import generic_utils

        if set(config) != set(cls._fields):
            raise ValueError(f"Invalid config: {config}, expected keys: {cls._fields}")

        def column(value):
            return serialization.deserialize_feature_column(value, custom_objects, columns_by_name)

        read = {
            "dtype": dtypes.as_dtype,
            "normalizer_fn": lambda v: generic_utils.deserialize_keras_object(
                v, custom_objects=custom_objects
            ),
            "initializer": lambda v: initializers.deserialize(v, custom_objects=custom_objects),
            "categorical_column": column,
            "source_column": column,
            "keys": lambda v: tuple(column(key) for key in v),
        }
        return cls(
            **{
                field: read[field](value) if field in read else _nested_tuple(value)
                for field, value in config.items()
            }
        )


def _config_of(value):
    """A setting as _get_config gives it."""
    from braid.tensorflow.python.feature_column import serialization
    from braid.tensorflow.python.keras.utils import generic_utils

    if isinstance(value, FeatureColumn):
        return serialization.serialize_feature_column(value)
    if isinstance(value, tuple):
        return tuple(_config_of(v) for v in value)
    if isinstance(value, dtypes.DType):
        return value.name
    return generic_utils.serialize_keras_object(value) if callable(value) else value


class _BothDense(_Both):
    @property
    def _variable_shape(self):
        return self.variable_shape

    def _get_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        return self.get_dense_tensor(inputs, None)


class _BothCategorical(_Both):
    @property
    def _num_buckets(self):
        return self.num_buckets

    def _get_sparse_tensors(self, inputs, weight_collections=None, trainable=None):
        return self.get_sparse_tensors(inputs, None)


class _BothSequence(_Both):
    def _get_sequence_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        return self.get_sequence_dense_tensor(inputs, None)


def _sparse_tensors(column, cache, state_manager):
    """The IdWeightPair of a column, by the interface that the cache is of."""
    if isinstance(column, _OldCategorical) and isinstance(cache, interfaces._LazyBuilder):
        return column._get_sparse_tensors(cache)
    return column.get_sparse_tensors(cache, state_manager)


def _count_of_ids(column):
    return column.num_buckets if isinstance(column, CategoricalColumn) else column._num_buckets


def _spec_of(column):
    """The column's part of a dict for parse_example."""
    return column.parse_example_spec if isinstance(column, FeatureColumn) else column._parse_example_spec


def _check_key(key):
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key)}, value {key}")


def _check_default_value(shape, default_value, dtype, key):
    """The default as a nested list of the shape, or None. ValueError or TypeError where it does not fit."""
    if default_value is None:
        return None
    values = np.asarray(default_value)
    if values.dtype.kind in "OSU" and dtype != dtypes.string:
        raise TypeError(
            f"default_value must be compatible with dtype. default_value: {default_value}, "
            f"dtype: {dtype}, key: {key}"
        )
    if values.dtype.kind == "f" and dtype.is_integer:
        raise TypeError(
            f"default_value must be compatible with dtype. default_value: {default_value}, "
            f"dtype: {dtype}, key: {key}"
        )
    if values.ndim == 0:
        values = np.full(tuple(shape), values)
    if values.shape != tuple(shape):
        raise ValueError(
            "The shape of default_value must be equal to given shape. "
            f"default_value: {default_value}, shape: {shape}, key: {key}"
        )
    if dtype == dtypes.string:
        return _nested_tuple(values.tolist())
    return _nested_tuple(values.astype(dtype.as_numpy_dtype).tolist())


def _nested_tuple(values):
    return tuple(_nested_tuple(v) for v in values) if isinstance(values, list) else values


def _check_shape(shape, key):
    """The shape as a tuple of positive ints."""
    shape = tuple(shape) if isinstance(shape, (tuple, list)) or hasattr(shape, "__iter__") else (shape,)
    for d in shape:
        if not isinstance(d, (int, np.integer)) or isinstance(d, bool):
            raise TypeError(f"shape dimensions must be integer. shape: {shape}, key: {key}")
        if d < 1:
            raise ValueError(f"shape dimensions must be greater than 0. shape: {shape}, key: {key}")
    return tuple(int(d) for d in shape)


def _assert_string_or_int(dtype, prefix):
    if dtype != dtypes.string and not dtype.is_integer:
        raise ValueError(f"{prefix} dtype must be string or integer. dtype: {dtype}.")


# Numbers.


class _NumericColumnRules(
    _BothDense,
    collections.namedtuple("NumericColumn", ("key", "shape", "default_value", "dtype", "normalizer_fn")),
):
    @property
    def name(self):
        return self.key

    @property
    def parse_example_spec(self):
        return {self.key: parsing_ops.FixedLenFeature(self.shape, self.dtype, self.default_value)}

    def transform_feature(self, transformation_cache, state_manager):
        tensor = transformation_cache.get(self.key, state_manager)
        if isinstance(tensor, _SparseTensor):
            raise ValueError(
                "The corresponding Tensor of numerical column must be a Tensor. SparseTensor is not supported. "
                f"key: {self.key}"
            )
        if self.normalizer_fn is not None:
            tensor = self.normalizer_fn(tensor)
        return math_ops.cast(tensor, dtypes.float32)

    @property
    def variable_shape(self):
        return tensor_shape.TensorShape(self.shape)

    def get_dense_tensor(self, transformation_cache, state_manager):
        return transformation_cache.get(self, state_manager)

    @property
    def parents(self):
        return [self.key]


class NumericColumn(_NumericColumnRules, DenseColumn, _OldDense):
    """Numbers as they are, or as normalizer_fn makes them. See numeric_column."""


class _BucketizedColumnRules(
    _BothDense, _BothCategorical, collections.namedtuple("BucketizedColumn", ("source_column", "boundaries"))
):
    @property
    def name(self):
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self):
        return _spec_of(self.source_column)

    def transform_feature(self, transformation_cache, state_manager):
        source = transformation_cache.get(self.source_column, state_manager)
        return math_ops.bucketize(source, boundaries=self.boundaries)

    @property
    def variable_shape(self):
        return tensor_shape.TensorShape(tuple(self.source_column.shape) + (len(self.boundaries) + 1,))

    def get_dense_tensor(self, transformation_cache, state_manager):
        buckets = transformation_cache.get(self, state_manager)
        return array_ops.one_hot(
            indices=math_ops.cast(buckets, dtypes.int64),
            depth=len(self.boundaries) + 1,
            on_value=1.0,
            off_value=0.0,
        )

    @property
    def num_buckets(self):
        return (len(self.boundaries) + 1) * self.source_column.shape[0]

    def get_sparse_tensors(self, transformation_cache, state_manager):
        buckets = transformation_cache.get(self, state_manager)
        batch = array_ops.shape(buckets)[0]
        width = self.source_column.shape[0]
        rows = array_ops.reshape(
            array_ops.tile(array_ops.expand_dims(math_ops.range(0, batch), 1), [1, width]), (-1,)
        )
        columns = array_ops.tile(math_ops.range(0, width), [batch])
        # Each number of an example has ids of its own.
        ids = array_ops.reshape(buckets, (-1,)) + (len(self.boundaries) + 1) * columns
        indices = math_ops.cast(array_ops.transpose(array_ops.stack((rows, columns))), dtypes.int64)
        dense_shape = math_ops.cast(array_ops.stack([batch, width]), dtypes.int64)
        return CategoricalColumn.IdWeightPair(_SparseTensor(indices, ids, dense_shape), None)

    @property
    def parents(self):
        return [self.source_column]


class BucketizedColumn(_BucketizedColumnRules, DenseColumn, CategoricalColumn, _OldDense, _OldCategorical):
    """Numbers as the ids of ranges. See bucketized_column."""


# Ids.


class _HashedCategoricalColumnRules(
    _BothCategorical, collections.namedtuple("HashedCategoricalColumn", ("key", "hash_bucket_size", "dtype"))
):
    @property
    def name(self):
        return self.key

    @property
    def parse_example_spec(self):
        return {self.key: parsing_ops.VarLenFeature(self.dtype)}

    def transform_feature(self, transformation_cache, state_manager):
        tensor = _to_sparse_input_and_drop_ignore_values(transformation_cache.get(self.key, state_manager))
        _assert_string_or_int(tensor.dtype, f"column_name: {self.key} input_tensor")
        if self.dtype.is_integer != tensor.dtype.is_integer:
            raise ValueError(
                "Column dtype and SparseTensors dtype must be compatible. "
                f"key: {self.key}, column dtype: {self.dtype}, tensor dtype: {tensor.dtype}"
            )
        values = tensor.values if self.dtype == dtypes.string else string_ops.as_string(tensor.values)
        ids = string_ops.string_to_hash_bucket_fast(values, self.hash_bucket_size, name="lookup")
        return _SparseTensor(tensor.indices, ids, tensor.dense_shape)

    @property
    def num_buckets(self):
        return self.hash_bucket_size

    def get_sparse_tensors(self, transformation_cache, state_manager):
        return CategoricalColumn.IdWeightPair(transformation_cache.get(self, state_manager), None)

    @property
    def parents(self):
        return [self.key]


class HashedCategoricalColumn(_HashedCategoricalColumnRules, CategoricalColumn, _OldCategorical):
    """Values as ids by a hash. See categorical_column_with_hash_bucket."""


class _VocabularyColumn(_BothCategorical):
    """What the two columns with a vocabulary share."""

    @property
    def name(self):
        return self.key

    @property
    def parse_example_spec(self):
        return {self.key: parsing_ops.VarLenFeature(self.dtype)}

    def transform_feature(self, transformation_cache, state_manager):
        tensor = _to_sparse_input_and_drop_ignore_values(transformation_cache.get(self.key, state_manager))
        if self.dtype.is_integer != tensor.dtype.is_integer:
            raise ValueError(
                "Column dtype and SparseTensors dtype must be compatible. "
                f"key: {self.key}, column dtype: {self.dtype}, tensor dtype: {tensor.dtype}"
            )
        _assert_string_or_int(tensor.dtype, f"column_name: {self.key} input_tensor")
        key_dtype = self.dtype
        if tensor.dtype.is_integer:
            # Tables of integers are of int64.
            key_dtype = dtypes.int64
            tensor = math_ops.cast(tensor, dtypes.int64)
        return self._table(key_dtype).lookup(tensor)

    def get_sparse_tensors(self, transformation_cache, state_manager):
        return CategoricalColumn.IdWeightPair(transformation_cache.get(self, state_manager), None)

    @property
    def parents(self):
        return [self.key]


class _VocabularyFileCategoricalColumnRules(
    _VocabularyColumn,
    collections.namedtuple(
        "VocabularyFileCategoricalColumn",
        ("key", "vocabulary_file", "vocabulary_size", "num_oov_buckets", "dtype", "default_value"),
    ),
):
    def _table(self, key_dtype):
        return lookup_ops.index_table_from_file(
            vocabulary_file=self.vocabulary_file,
            num_oov_buckets=self.num_oov_buckets,
            vocab_size=self.vocabulary_size,
            default_value=self.default_value,
            key_dtype=key_dtype,
            name=f"{self.key}_lookup",
        )

    @property
    def num_buckets(self):
        return self.vocabulary_size + self.num_oov_buckets


class VocabularyFileCategoricalColumn(
    _VocabularyFileCategoricalColumnRules, CategoricalColumn, _OldCategorical
):
    """Values as the numbers of their lines in a file. See categorical_column_with_vocabulary_file."""


class _VocabularyListCategoricalColumnRules(
    _VocabularyColumn,
    collections.namedtuple(
        "VocabularyListCategoricalColumn",
        ("key", "vocabulary_list", "dtype", "default_value", "num_oov_buckets"),
    ),
):
    def _table(self, key_dtype):
        return lookup_ops.index_table_from_tensor(
            vocabulary_list=tuple(self.vocabulary_list),
            default_value=self.default_value,
            num_oov_buckets=self.num_oov_buckets,
            dtype=key_dtype,
            name=f"{self.key}_lookup",
        )

    @property
    def num_buckets(self):
        return len(self.vocabulary_list) + self.num_oov_buckets


class VocabularyListCategoricalColumn(
    _VocabularyListCategoricalColumnRules, CategoricalColumn, _OldCategorical
):
    """Values as their places in a list. See categorical_column_with_vocabulary_list."""


class _IdentityCategoricalColumnRules(
    _BothCategorical,
    collections.namedtuple("IdentityCategoricalColumn", ("key", "number_buckets", "default_value")),
):
    @property
    def name(self):
        return self.key

    @property
    def parse_example_spec(self):
        return {self.key: parsing_ops.VarLenFeature(dtypes.int64)}

    def transform_feature(self, transformation_cache, state_manager):
        tensor = _to_sparse_input_and_drop_ignore_values(transformation_cache.get(self.key, state_manager))
        if not tensor.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {tensor.dtype}")
        values = tensor.values
        if tensor.values.dtype != dtypes.int64:
            values = math_ops.cast(values, dtypes.int64, name="values")
        if self.default_value is None:
            count = math_ops.cast(self.num_buckets, dtypes.int64, name="num_buckets")
            zero = math_ops.cast(0, dtypes.int64, name="zero")
            below = check_ops.assert_less(
                values,
                count,
                data=(values, count),
                message=f'Bucket index for categorical column "{self.name}" exceeds number of buckets',
                name="assert_less_than_num_buckets",
            )
            above = check_ops.assert_greater_equal(
                values,
                zero,
                data=(values,),
                message=f'Negative bucket index for categorical column "{self.name}"',
                name="assert_greater_or_equal_0",
            )
            with ops.control_dependencies((below, above)):
                values = array_ops.identity(values)
        else:
            count = math_ops.cast(self.num_buckets, dtypes.int64, name="num_buckets")
            zero = math_ops.cast(0, dtypes.int64, name="zero")
            outside = math_ops.logical_or(
                math_ops.less(values, zero), math_ops.greater_equal(values, count), name="out_of_range"
            )
            default = array_ops.fill(
                dims=array_ops.shape(values),
                value=math_ops.cast(self.default_value, dtypes.int64),
                name="default_values",
            )
            values = array_ops.where(outside, default, values)
        return _SparseTensor(tensor.indices, values, tensor.dense_shape)

    @property
    def num_buckets(self):
        return self.number_buckets

    def get_sparse_tensors(self, transformation_cache, state_manager):
        return CategoricalColumn.IdWeightPair(transformation_cache.get(self, state_manager), None)

    @property
    def parents(self):
        return [self.key]


class IdentityCategoricalColumn(_IdentityCategoricalColumnRules, CategoricalColumn, _OldCategorical):
    """Integers as ids. See categorical_column_with_identity."""


class _WeightedCategoricalColumnRules(
    _BothCategorical,
    collections.namedtuple(
        "WeightedCategoricalColumn", ("categorical_column", "weight_feature_key", "dtype")
    ),
):
    @property
    def name(self):
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parse_example_spec(self):
        spec = dict(_spec_of(self.categorical_column))
        if self.weight_feature_key in spec:
            raise ValueError(f"Parse config {spec} already exists for {self.weight_feature_key}.")
        spec[self.weight_feature_key] = parsing_ops.VarLenFeature(self.dtype)
        return spec

    @property
    def num_buckets(self):
        return _count_of_ids(self.categorical_column)

    def transform_feature(self, transformation_cache, state_manager):
        weights = transformation_cache.get(self.weight_feature_key, state_manager)
        if self.dtype != weights.dtype.base_dtype:
            raise ValueError(f"Bad dtype, expected {self.dtype}, but got {weights.dtype}.")
        if not isinstance(weights, _SparseTensor):
            # Zeros of a dense tensor stand for no weight.
            weights = _to_sparse_input_and_drop_ignore_values(weights, ignore_value=0.0)
        if not weights.dtype.is_floating:
            weights = math_ops.cast(weights, dtypes.float32)
        return transformation_cache.get(self.categorical_column, state_manager), weights

    def get_sparse_tensors(self, transformation_cache, state_manager):
        return CategoricalColumn.IdWeightPair(*transformation_cache.get(self, state_manager))

    @property
    def parents(self):
        return [self.categorical_column, self.weight_feature_key]


class WeightedCategoricalColumn(_WeightedCategoricalColumnRules, CategoricalColumn, _OldCategorical):
    """Ids with weights. See weighted_categorical_column."""


class _CrossedColumnRules(
    _BothCategorical, collections.namedtuple("CrossedColumn", ("keys", "hash_bucket_size", "hash_key"))
):
    @property
    def name(self):
        return "_X_".join(sorted(k if isinstance(k, str) else k.name for k in _collect_leaf_level_keys(self)))

    @property
    def parse_example_spec(self):
        spec = {}
        for key in self.keys:
            spec.update(
                {key: parsing_ops.VarLenFeature(dtypes.string)} if isinstance(key, str) else _spec_of(key)
            )
        return spec

    def transform_feature(self, transformation_cache, state_manager):
        tensors = []
        for key in _collect_leaf_level_keys(self):
            if isinstance(key, str):
                tensors.append(transformation_cache.get(key, state_manager))
                continue
            pair = _sparse_tensors(key, transformation_cache, state_manager)
            if pair.weight_tensor is not None:
                raise ValueError(
                    "crossed_column does not support weight_tensor, but the given column populates "
                    f"weight_tensor. Given column: {key.name}"
                )
            tensors.append(pair.id_tensor)
        return sparse_ops.sparse_cross_hashed(
            inputs=tensors, num_buckets=self.hash_bucket_size, hash_key=self.hash_key
        )

    @property
    def num_buckets(self):
        return self.hash_bucket_size

    def get_sparse_tensors(self, transformation_cache, state_manager):
        return CategoricalColumn.IdWeightPair(transformation_cache.get(self, state_manager), None)

    @property
    def parents(self):
        return list(self.keys)


class CrossedColumn(_CrossedColumnRules, CategoricalColumn, _OldCategorical):
    """Combinations of values as ids by a hash. See crossed_column."""


def _collect_leaf_level_keys(cross):
    """The keys of a crossed column, with those of crossed columns among them in their place."""
    keys = []
    for key in cross.keys:
        keys.extend(_collect_leaf_level_keys(key) if isinstance(key, _CrossedColumnRules) else [key])
    return keys


def _to_sparse_input_and_drop_ignore_values(input_tensor, ignore_value=None):
    """A SparseTensor of the values other than `ignore_value`: "" for strings, -1 for integers, or else 0."""
    input_tensor = sparse_tensor_lib.convert_to_tensor_or_sparse_tensor(input_tensor)
    if isinstance(input_tensor, _SparseTensor):
        return input_tensor
    with ops.name_scope(None, "to_sparse_input", (input_tensor, ignore_value)):
        if ignore_value is None:
            if input_tensor.dtype == dtypes.string:
                ignore_value = ""
            elif input_tensor.dtype.is_integer:
                ignore_value = -1
            else:
                ignore_value = input_tensor.dtype.as_numpy_dtype()
        ignore_value = math_ops.cast(ignore_value, input_tensor.dtype, name="ignore_value")
        indices = array_ops.where(math_ops.not_equal(input_tensor, ignore_value), name="indices")
        return _SparseTensor(
            indices=indices,
            values=array_ops.gather_nd(input_tensor, indices, name="values"),
            dense_shape=array_ops.shape(input_tensor, out_type=dtypes.int64, name="dense_shape"),
        )


# Dense forms of ids.


class _IndicatorColumnRules(
    _BothDense, _BothSequence, collections.namedtuple("IndicatorColumn", ("categorical_column",))
):
    @property
    def name(self):
        return f"{self.categorical_column.name}_indicator"

    @property
    def parse_example_spec(self):
        return _spec_of(self.categorical_column)

    def transform_feature(self, transformation_cache, state_manager):
        return self._counts(_sparse_tensors(self.categorical_column, transformation_cache, state_manager))

    def _counts(self, pair):
        depth = self.variable_shape.as_list()[-1]
        if pair.weight_tensor is not None:
            weighted = sparse_ops.sparse_merge(
                sp_ids=pair.id_tensor, sp_values=pair.weight_tensor, vocab_size=int(depth)
            )
            # Ids of -1 are outside.
            weighted = sparse_ops.sparse_slice(weighted, [0, 0], weighted.dense_shape)
            return array_ops.scatter_nd(weighted.indices, weighted.values, weighted.dense_shape)
        ids = sparse_ops.sparse_tensor_to_dense(pair.id_tensor, default_value=-1)
        one_hot = array_ops.one_hot(ids, depth=depth, on_value=1.0, off_value=0.0)
        return math_ops.reduce_sum(one_hot, axis=[-2])

    @property
    def variable_shape(self):
        return tensor_shape.TensorShape([1, _count_of_ids(self.categorical_column)])

    def get_dense_tensor(self, transformation_cache, state_manager):
        _check_is_no_sequence("indicator_column", self, transformation_cache)
        return transformation_cache.get(self, state_manager)

    def get_sequence_dense_tensor(self, transformation_cache, state_manager):
        _check_is_sequence("indicator_column", self, transformation_cache)
        dense = transformation_cache.get(self, state_manager)
        ids = _sparse_tensors(self.categorical_column, transformation_cache, state_manager).id_tensor
        return SequenceDenseColumn.TensorSequenceLengthPair(dense, _sequence_length(ids))

    @property
    def parents(self):
        return [self.categorical_column]


class IndicatorColumn(_IndicatorColumnRules, DenseColumn, SequenceDenseColumn, _OldDense, _OldSequence):
    """How often each id is there. See indicator_column."""


def _interface_words(cache):
    """What messages call sequence columns, the layer for them, and that for others."""
    if isinstance(cache, interfaces._LazyBuilder):
        return "_SequenceCategoricalColumn", "sequence_input_layer", "input_layer"
    return "SequenceCategoricalColumn", "SequenceFeatures", "DenseFeatures"


def _check_is_sequence(what, column, cache):
    if not isinstance(column.categorical_column, _SequenceCategoricalColumnRules):
        kind, layer, _ = _interface_words(cache)
        raise ValueError(
            f"In {what}: {column.name}. categorical_column must be of type {kind} to use {layer}. "
            "Suggested fix: Use one of sequence_categorical_column_with_*. "
            f"Given (type {type(column.categorical_column)}): {column.categorical_column}"
        )


def _check_is_no_sequence(what, column, cache):
    if isinstance(column.categorical_column, _SequenceCategoricalColumnRules):
        kind, sequence_layer, layer = _interface_words(cache)
        raise ValueError(
            f"In {what}: {column.name}. categorical_column must not be of type {kind}. Suggested fix A: If you wish "
            f"to use {layer}, use a non-sequence categorical_column_with_*. Suggested fix B: If you wish to create "
            f"sequence input, use {sequence_layer} instead of {layer}. Given (type "
            f"{type(column.categorical_column)}): {column.categorical_column}"
        )


def _sequence_length(sparse):
    from braid.tensorflow.python.feature_column import utils

    return utils.sequence_length_from_sparse_tensor(sparse)


class _LookupColumn(_BothDense, _BothSequence):
    """What embeddings share: looking ids up in weights."""

    @property
    def parse_example_spec(self):
        return _spec_of(self.categorical_column)

    def transform_feature(self, transformation_cache, state_manager):
        return transformation_cache.get(self.categorical_column, state_manager)

    @property
    def variable_shape(self):
        return tensor_shape.TensorShape([self.dimension])

    def _weights_shape(self):
        return (_count_of_ids(self.categorical_column), self.dimension)

    def _restored(self, weights):
        _init_from_checkpoint(weights, self.ckpt_to_load_from, self.tensor_name_in_ckpt)
        return weights

    def _lookup(self, pair, weights):
        return embedding_ops.safe_embedding_lookup_sparse(
            weights,
            sparse_ids=pair.id_tensor,
            sparse_weights=pair.weight_tensor,
            combiner=self.combiner,
            name=f"{self.name}_weights",
            max_norm=self.max_norm,
        )

    def get_dense_tensor(self, transformation_cache, state_manager):
        _check_is_no_sequence("embedding_column", self, transformation_cache)
        pair = _sparse_tensors(self.categorical_column, transformation_cache, state_manager)
        return self._lookup(pair, self._weights(state_manager, None, None))

    def _get_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        _check_is_no_sequence("embedding_column", self, inputs)
        with self._old_scope():
            pair = _sparse_tensors(self.categorical_column, inputs, None)
            return self._lookup(pair, self._weights(None, weight_collections, trainable))

    def _old_scope(self):
        return contextlib.nullcontext()

    def _sequence(self, pair, weights):
        dense = self._lookup(pair, weights)
        return SequenceDenseColumn.TensorSequenceLengthPair(dense, _sequence_length(pair.id_tensor))

    def get_sequence_dense_tensor(self, transformation_cache, state_manager):
        _check_is_sequence("embedding_column", self, transformation_cache)
        pair = _sparse_tensors(self.categorical_column, transformation_cache, state_manager)
        return self._sequence(pair, self._weights(state_manager, None, None))

    def _get_sequence_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        _check_is_sequence("embedding_column", self, inputs)
        with self._old_scope():
            pair = _sparse_tensors(self.categorical_column, inputs, None)
            return self._sequence(pair, self._weights(None, weight_collections, trainable))

    @property
    def parents(self):
        return [self.categorical_column]


def _init_from_checkpoint(weights, checkpoint, name):
    """Has the weights begin with a tensor of the checkpoint, unless that is None."""
    if checkpoint is None:
        return
    from braid.tensorflow.python.training import checkpoint_utils

    parts = list(weights) if hasattr(weights, "_get_partitions") else weights
    checkpoint_utils.init_from_checkpoint(checkpoint, {name: parts})


class _EmbeddingColumnRules(
    _LookupColumn,
    collections.namedtuple(
        "EmbeddingColumn",
        (
            "categorical_column",
            "dimension",
            "combiner",
            "initializer",
            "ckpt_to_load_from",
            "tensor_name_in_ckpt",
            "max_norm",
            "trainable",
        ),
    ),
):
    @property
    def name(self):
        return f"{self.categorical_column.name}_embedding"

    def create_state(self, state_manager):
        state_manager.create_variable(
            self,
            name="embedding_weights",
            shape=self._weights_shape(),
            dtype=dtypes.float32,
            trainable=self.trainable,
            use_resource=True,
            initializer=self.initializer,
        )

    def _weights(self, state_manager, weight_collections, trainable):
        if state_manager is not None:
            weights = state_manager.get_variable(self, name="embedding_weights")
        else:
            weights = variable_scope.get_variable(
                "embedding_weights",
                shape=self._weights_shape(),
                dtype=dtypes.float32,
                initializer=self.initializer,
                trainable=self.trainable and trainable is not False,
                collections=_collections(weight_collections),
            )
        return self._restored(weights)


class EmbeddingColumn(_EmbeddingColumnRules, DenseColumn, SequenceDenseColumn, _OldDense, _OldSequence):
    """A learned vector for each id. See embedding_column."""


class _SharedEmbeddingColumnRules(
    _LookupColumn,
    collections.namedtuple(
        "SharedEmbeddingColumn",
        (
            "categorical_column",
            "dimension",
            "combiner",
            "initializer",
            "shared_embedding_collection_name",
            "ckpt_to_load_from",
            "tensor_name_in_ckpt",
            "max_norm",
            "trainable",
        ),
    ),
):
    @property
    def name(self):
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def _var_scope_name(self):
        return self.shared_embedding_collection_name

    def _old_scope(self):
        return ops.name_scope(None, default_name=self.name)

    def _weights(self, state_manager, weight_collections, trainable):
        shared = ops.get_collection(self.shared_embedding_collection_name)
        if len(shared) > 1:
            raise ValueError(
                f"Collection {shared} can only contain one variable. Suggested fix A: Choose a unique name for this "
                "collection. Suggested fix B: Do not add any variables to this collection. The feature_column library "
                "already adds a variable under the hood."
            )
        if shared:
            weights = shared[0]
            if tuple(weights.get_shape().as_list()) != self._weights_shape():
                raise ValueError(
                    f"Shared embedding collection {self.shared_embedding_collection_name} contains variable "
                    f"{weights.name} of unexpected shape {weights.get_shape()}. Expected shape is "
                    f"{self._weights_shape()}. Suggested fix A: Choose a unique name for this collection. Suggested "
                    "fix B: Do not add any variables to this collection. The feature_column library already adds a "
                    "variable under the hood."
                )
        else:
            weights = variable_scope.get_variable(
                "embedding_weights",
                shape=self._weights_shape(),
                dtype=dtypes.float32,
                initializer=self.initializer,
                trainable=self.trainable and trainable is not False,
                collections=_collections(weight_collections),
            )
            ops.add_to_collection(self.shared_embedding_collection_name, weights)
        return self._restored(weights)


class _SharedEmbeddingColumn(_SharedEmbeddingColumnRules, _OldDense, _OldSequence):
    """An embedding whose weights several columns share. See shared_embedding_columns."""


class SharedEmbeddingColumnCreator(tracking.AutoTrackable):
    """The weights that several columns share, one variable in each graph, and what makes these columns."""

    def __init__(
        self,
        dimension,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        num_buckets,
        trainable,
        name="shared_embedding_column_creator",
    ):
        self._dimension = dimension
        self._initializer = initializer
        self._ckpt_to_load_from = ckpt_to_load_from
        self._tensor_name_in_ckpt = tensor_name_in_ckpt
        self._num_buckets = num_buckets
        self._trainable = trainable
        self._name = name
        self._embedding_weights = weakref.WeakKeyDictionary()

    def __call__(self, categorical_column, combiner, max_norm):
        return SharedEmbeddingColumn(categorical_column, self, combiner, max_norm)

    @property
    def embedding_weights(self):
        """The variable [num_buckets, dimension] of the default graph."""
        key = ops.get_default_graph()
        if key not in self._embedding_weights:
            variable = variable_scope.get_variable(
                name=self._name,
                shape=(self._num_buckets, self._dimension),
                dtype=dtypes.float32,
                initializer=self._initializer,
                trainable=self._trainable,
            )
            _init_from_checkpoint(variable, self._ckpt_to_load_from, self._tensor_name_in_ckpt)
            self._embedding_weights[key] = variable
        return self._embedding_weights[key]

    @property
    def dimension(self):
        return self._dimension


class SharedEmbeddingColumn(
    _LookupColumn,
    DenseColumn,
    SequenceDenseColumn,
    _OldDense,
    _OldSequence,
    collections.namedtuple(
        "SharedEmbeddingColumn",
        ("categorical_column", "shared_embedding_column_creator", "combiner", "max_norm"),
    ),
):
    """An embedding whose weights several columns share, for layers. See shared_embedding_columns_v2."""

    @property
    def name(self):
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def dimension(self):
        return self.shared_embedding_column_creator.dimension

    @property
    def _is_v2_column(self):
        return True

    def get_dense_tensor(self, transformation_cache, state_manager):
        with ops.name_scope(None, default_name=self.name):
            return super().get_dense_tensor(transformation_cache, state_manager)

    def get_sequence_dense_tensor(self, transformation_cache, state_manager):
        with ops.name_scope(None, default_name=self.name):
            return super().get_sequence_dense_tensor(transformation_cache, state_manager)

    def _weights(self, state_manager, weight_collections, trainable):
        return self.shared_embedding_column_creator.embedding_weights

    def _get_config(self):
        raise NotImplementedError("SharedEmbeddingColumn has no settings that can be written")

    @classmethod
    def _from_config(cls, config, custom_objects=None, columns_by_name=None):
        raise NotImplementedError("SharedEmbeddingColumn has no settings that can be written")

    def _refuse_old(self, *args, **kwargs):
        raise ValueError(
            "SharedEmbeddingColumns are not supported in `linear_model` or `input_layer`. Please use "
            "`DenseFeatures` or `LinearModel` instead."
        )

    _parse_example_spec = property(_refuse_old)
    _variable_shape = property(_refuse_old)
    _transform_feature = _get_dense_tensor = _get_sequence_dense_tensor = _refuse_old


def _collections(weight_collections):
    names = list(weight_collections or [])
    if ops.GraphKeys.GLOBAL_VARIABLES not in names:
        names.append(ops.GraphKeys.GLOBAL_VARIABLES)
    return names


# Sequences.


class _SequenceCategoricalColumnRules(
    _BothCategorical, collections.namedtuple("SequenceCategoricalColumn", ("categorical_column",))
):
    @property
    def name(self):
        return self.categorical_column.name

    @property
    def parse_example_spec(self):
        return _spec_of(self.categorical_column)

    def transform_feature(self, transformation_cache, state_manager):
        column = self.categorical_column
        if isinstance(transformation_cache, interfaces._LazyBuilder) and isinstance(column, _OldColumn):
            return column._transform_feature(transformation_cache)
        return column.transform_feature(transformation_cache, state_manager)

    @property
    def num_buckets(self):
        return _count_of_ids(self.categorical_column)

    def get_sparse_tensors(self, transformation_cache, state_manager):
        pair = _sparse_tensors(self.categorical_column, transformation_cache, state_manager)
        return CategoricalColumn.IdWeightPair(
            _in_steps(pair.id_tensor), None if pair.weight_tensor is None else _in_steps(pair.weight_tensor)
        )

    @property
    def parents(self):
        return [self.categorical_column]


class SequenceCategoricalColumn(_SequenceCategoricalColumnRules, CategoricalColumn, _OldCategorical):
    """Ids for each step of a sequence."""


def _in_steps(sparse):
    """[batch, steps, values of a step]: one value in each step for a tensor of rank 2."""
    shape = array_ops.shape(sparse, out_type=dtypes.int64)
    rank = sparse.dense_shape.get_shape().as_list()[0]
    if rank is not None and rank >= 3:
        return sparse
    return sparse_ops.sparse_reshape(
        sparse, array_ops.concat([shape, [1]], axis=0) if rank is None else [shape[0], shape[1], 1]
    )


# The functions that make columns.


@tf_export("feature_column.numeric_column")
def numeric_column(key, shape=(1,), default_value=None, dtype=dtypes.float32, normalizer_fn=None):
    """Numbers of a feature.

    key: the feature's name. shape: the shape for one example. default_value: for examples without the
    feature; a scalar or of that shape. dtype: of the feature. normalizer_fn: a function of the tensor, as x -
    3.
    """
    shape = _check_shape(shape, key)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    default_value = _check_default_value(shape, default_value, dtype, key)
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    _check_key(key)
    return NumericColumn(key, shape, default_value, dtype, normalizer_fn)


@tf_export("feature_column.bucketized_column")
def bucketized_column(source_column, boundaries):
    """Ranges of numbers: id 0 below boundaries[0], id i from boundaries[i - 1] on.

    source_column: a numeric column of one dimension. boundaries: a sorted list.
    """
    if not boundaries:
        raise ValueError("boundaries must not be empty.")
    _check_bucketized(source_column, boundaries)
    return BucketizedColumn(source_column, tuple(boundaries))


def _check_bucketized(source_column, boundaries):
    if not isinstance(source_column, _NumericColumnRules):
        raise ValueError(
            f"source_column must be a column generated with numeric_column(). Given: {source_column}"
        )
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not isinstance(boundaries, (list, tuple)) or any(a >= b for a, b in zip(boundaries, boundaries[1:])):
        raise ValueError("boundaries must be a sorted list.")


@tf_export("feature_column.categorical_column_with_hash_bucket")
def categorical_column_with_hash_bucket(key, hash_bucket_size, dtype=dtypes.string):
    """Ids below hash_bucket_size by a hash of strings or integers."""
    if hash_bucket_size is None:
        raise ValueError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise ValueError(
            f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}"
        )
    _check_key(key)
    _assert_string_or_int(dtype, f"column_name: {key}")
    return HashedCategoricalColumn(key, hash_bucket_size, dtype)


@tf_export(v1=["feature_column.categorical_column_with_vocabulary_file"])
def categorical_column_with_vocabulary_file(
    key, vocabulary_file, vocabulary_size=None, num_oov_buckets=0, default_value=None, dtype=dtypes.string
):
    """Ids by the lines of a file.

    vocabulary_size: how many lines count; all if None. num_oov_buckets: ids for values outside, by a hash.
    default_value: the id of values outside, -1 if None; not with num_oov_buckets.
    """
    return categorical_column_with_vocabulary_file_v2(
        key, vocabulary_file, vocabulary_size, dtype, default_value, num_oov_buckets
    )


def categorical_column_with_vocabulary_file_v2(
    key, vocabulary_file, vocabulary_size=None, dtype=dtypes.string, default_value=None, num_oov_buckets=0
):
    """categorical_column_with_vocabulary_file with TensorFlow 2's order of arguments."""
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        try:
            with open(vocabulary_file, "rb") as file:
                vocabulary_size = sum(1 for _ in file)
        except FileNotFoundError:
            raise ValueError(
                "Vocabulary file must exist when vocabulary_size is None. "
                f"key: {key}, file: {vocabulary_file}"
            ) from None
    elif vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}.")
    if num_oov_buckets:
        if default_value is not None:
            raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
        if num_oov_buckets < 0:
            raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")
    _assert_string_or_int(dtype, f"column_name: {key}")
    _check_key(key)
    return VocabularyFileCategoricalColumn(
        key,
        vocabulary_file,
        vocabulary_size,
        num_oov_buckets or 0,
        dtype,
        -1 if default_value is None else default_value,
    )


@tf_export("feature_column.categorical_column_with_vocabulary_list")
def categorical_column_with_vocabulary_list(
    key, vocabulary_list, dtype=None, default_value=-1, num_oov_buckets=0
):
    """Ids by the places in a list of strings or integers.

    default_value: the id of values outside. num_oov_buckets: ids for them by a hash; not with a
    default_value.
    """
    if vocabulary_list is None or len(vocabulary_list) < 1:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    values = tuple(v.item() if isinstance(v, np.generic) else v for v in vocabulary_list)
    if len(set(values)) != len(values):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    kind = dtypes.as_dtype(np.array(values).dtype)
    if num_oov_buckets:
        if default_value != -1:
            raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
        if num_oov_buckets < 0:
            raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")
    _assert_string_or_int(kind, f"column_name: {key} vocabulary")
    if dtype is None:
        dtype = kind
    elif dtype.is_integer != kind.is_integer:
        raise ValueError(f"dtype {dtype} and vocabulary dtype {kind} do not match, column_name: {key}")
    _assert_string_or_int(dtype, f"column_name: {key}")
    _check_key(key)
    return VocabularyListCategoricalColumn(key, values, dtype, default_value, num_oov_buckets or 0)


@tf_export("feature_column.categorical_column_with_identity")
def categorical_column_with_identity(key, num_buckets, default_value=None):
    """Integers as ids. default_value: in place of those outside [0, num_buckets), which are errors if
    None."""
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}")
    _check_key(key)
    return IdentityCategoricalColumn(key, num_buckets, default_value)


@tf_export("feature_column.indicator_column")
def indicator_column(categorical_column):
    """How often each id of a categorical column is in an example, as floats [num_buckets]."""
    if not isinstance(categorical_column, (CategoricalColumn, _OldCategorical)):
        raise ValueError(
            "Unsupported input type. Input must be a CategoricalColumn. " f"Given: {categorical_column}"
        )
    return IndicatorColumn(categorical_column)


@tf_export("feature_column.weighted_categorical_column")
def weighted_categorical_column(categorical_column, weight_feature_key, dtype=dtypes.float32):
    """Ids with the weights of another feature, which has as many values."""
    if dtype is None or not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype {dtype} is not convertible to float.")
    return WeightedCategoricalColumn(categorical_column, weight_feature_key, dtype)


@tf_export("feature_column.crossed_column")
def crossed_column(keys, hash_bucket_size, hash_key=None):
    """Ids below hash_bucket_size for combinations of values.

    keys: names of string features, or categorical columns other than hashed and weighted ones.
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, (str, CategoricalColumn, _OldCategorical)):
            raise ValueError(
                f"Unsupported key type. All keys must be either string, or categorical column except "
                f"HashedCategoricalColumn. Given: {key}"
            )
        if isinstance(key, _HashedCategoricalColumnRules):
            raise ValueError(
                "categorical_column_with_hash_bucket is not supported for crossing. Hashing before "
                f"crossing will increase probability of collision. Instead, use the feature name as a "
                f"string. Given: {key}"
            )
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)


def _embedding_initializer(dimension, initializer):
    if initializer is not None and not callable(initializer):
        raise ValueError("initializer must be callable if specified.")
    return initializer or init_ops.truncated_normal_initializer(mean=0.0, stddev=1 / math.sqrt(dimension))


def _check_embedding(dimension, ckpt_to_load_from, tensor_name_in_ckpt):
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
        raise ValueError("Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.")


@tf_export("feature_column.embedding_column")
def embedding_column(
    categorical_column,
    dimension,
    combiner="mean",
    initializer=None,
    ckpt_to_load_from=None,
    tensor_name_in_ckpt=None,
    max_norm=None,
    trainable=True,
):
    """A vector [dimension] for each id, which is learned.

    combiner: "mean", "sqrtn" or "sum" of the vectors of an example. initializer: a truncated normal of
    deviation 1/sqrt(dimension) if None. ckpt_to_load_from, tensor_name_in_ckpt: where the weights begin.
    max_norm: longer vectors are scaled down to it.
    """
    _check_embedding(dimension, ckpt_to_load_from, tensor_name_in_ckpt)
    if initializer is not None and not callable(initializer):
        raise ValueError(
            "initializer must be callable if specified. "
            f"Embedding of column_name: {categorical_column.name}"
        )
    return EmbeddingColumn(
        categorical_column,
        dimension,
        combiner,
        _embedding_initializer(dimension, initializer),
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
    )


@tf_export(v1=["feature_column.shared_embedding_columns"])
def shared_embedding_columns(
    categorical_columns,
    dimension,
    combiner="mean",
    initializer=None,
    shared_embedding_collection_name=None,
    ckpt_to_load_from=None,
    tensor_name_in_ckpt=None,
    max_norm=None,
    trainable=True,
):
    """Embeddings of several columns with the same ids, which share their weights. See embedding_column.

    shared_embedding_collection_name: the scope of the weights; made of the columns' names if None.
    Returns a column for each of `categorical_columns`.
    """
    _check_embedding(dimension, ckpt_to_load_from, tensor_name_in_ckpt)
    initializer = _embedding_initializer(dimension, initializer)
    _check_shared(categorical_columns, _OldCategorical)
    return [
        _SharedEmbeddingColumn(
            column,
            dimension,
            combiner,
            initializer,
            shared_embedding_collection_name or _shared_name(categorical_columns),
            ckpt_to_load_from,
            tensor_name_in_ckpt,
            max_norm,
            trainable,
        )
        for column in categorical_columns
    ]


@tf_export("feature_column.shared_embeddings", v1=[])
def shared_embedding_columns_v2(
    categorical_columns,
    dimension,
    combiner="mean",
    initializer=None,
    shared_embedding_collection_name=None,
    ckpt_to_load_from=None,
    tensor_name_in_ckpt=None,
    max_norm=None,
    trainable=True,
):
    """shared_embedding_columns for layers like DenseFeatures.

    shared_embedding_collection_name: the name of the weights.
    """
    _check_embedding(dimension, ckpt_to_load_from, tensor_name_in_ckpt)
    initializer = _embedding_initializer(dimension, initializer)
    creator = SharedEmbeddingColumnCreator(
        dimension,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        _check_shared(categorical_columns, CategoricalColumn),
        trainable,
        shared_embedding_collection_name or _shared_name(categorical_columns),
    )
    return [creator(column, combiner=combiner, max_norm=max_norm) for column in categorical_columns]


def _shared_name(columns):
    return "_".join(sorted(c.name for c in columns)) + "_shared_embedding"


def _check_shared(columns, kind):
    """How many ids the columns have. ValueError where they cannot share an embedding."""
    ordered = sorted(columns, key=lambda c: c.name)
    for column in ordered:
        if not isinstance(column, kind):
            raise ValueError(
                f"All categorical_columns must be subclasses of {kind.__name__}. Given: {column}, of type: "
                f"{type(column)}"
            )
    bases = [c.categorical_column if isinstance(c, _WeightedCategoricalColumnRules) else c for c in ordered]
    first, count = bases[0], _count_of_ids(bases[0])
    for column in bases[1:]:
        if not isinstance(column, type(first)):
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same type, or be "
                f"weighted_categorical_column of the same type. Given column: {first} of type: {type(first)} "
                f"does not match given column: {column} of type: {type(column)}"
            )
        if _count_of_ids(column) != count:
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same number of buckets. "
                f"Given column: {first} with buckets: {count} does not match column: {column} with "
                f"buckets: {_count_of_ids(column)}"
            )
    return count


# Layers over columns.


def is_feature_column_v2(feature_columns):
    """Whether all columns find their variables by a state manager."""
    return all(isinstance(column, FeatureColumn) and column._is_v2_column for column in feature_columns)


def _sanitize_column_name_for_variable_scope(name):
    return re.sub("[^A-Za-z0-9_.\\-/]", "_", name)


def _normalize_feature_columns(feature_columns, kind=FeatureColumn):
    """The columns as a list in the order of their names. ValueError for what is none of class `kind`, or has
    no name of its own."""
    if isinstance(feature_columns, kind):
        feature_columns = [feature_columns]
    if isinstance(feature_columns, collections.abc.Iterator):
        feature_columns = list(feature_columns)
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    for column in feature_columns:
        if not isinstance(column, kind):
            raise ValueError(
                f"Items of feature_columns must be a {kind.__name__}. Given (type {type(column)}): {column}."
            )
    if not feature_columns:
        raise ValueError("feature_columns must not be empty.")
    names = {}
    for column in feature_columns:
        if column.name in names:
            raise ValueError(
                "Duplicate feature column name found for columns: {} and {}. This usually means that these columns "
                "refer to same base feature. Either one must be discarded or a duplicate but renamed item must be "
                "inserted in features dict.".format(column, names[column.name])
            )
        names[column.name] = column
    return sorted(feature_columns, key=lambda c: c.name)


def _verify_static_batch_size_equality(tensors, columns):
    """ValueError where two tensors are known to have batches of different sizes."""
    expected, first = None, 0
    for i, tensor in enumerate(tensors):
        shape = tensor.shape
        batch = tensor_shape.dimension_value(shape[0]) if shape.ndims else None
        if batch is None:
            continue
        if expected is None:
            expected, first = batch, i
        elif batch != expected:
            raise ValueError(
                f"Batch size (first dimension) of each feature must be same. Batch size of columns "
                f"({columns[first].name}, {columns[i].name}): ({expected}, {batch})"
            )


def _transform_features_v2(features, feature_columns, state_manager):
    """A dict from columns to their tensors."""
    outputs = {}
    with ops.name_scope(None, default_name="transform_features", values=features.values()):
        cache = FeatureTransformationCache(features)
        for column in _normalize_feature_columns(feature_columns):
            with ops.name_scope(None, default_name=_sanitize_column_name_for_variable_scope(column.name)):
                outputs[column] = cache.get(column, state_manager)
    return outputs


@tf_export("feature_column.make_parse_example_spec", v1=[])
def make_parse_example_spec_v2(feature_columns):
    """A dict for parse_example: all features that the columns need."""
    return _parse_example_spec_of(feature_columns, FeatureColumn, lambda column: column.parse_example_spec)


def _parse_example_spec_of(feature_columns, kind, spec):
    result = {}
    for column in feature_columns:
        if not isinstance(column, kind):
            raise ValueError(f"All feature_columns must be {kind.__name__} instances. Given: {column}")
        config = spec(column)
        for key, value in config.items():
            if key in result and value != result[key]:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. "
                    f"Given {value} and {result[key]}"
                )
        result.update(config)
    return result


def _create_weighted_sum(column, transformation_cache, state_manager, sparse_combiner, weight_var):
    """The column's part of a linear model [batch, units]."""
    if isinstance(column, (CategoricalColumn, _OldCategorical)):
        pair = _sparse_tensors(column, transformation_cache, state_manager)
        return _weighted_sum_of_ids(pair, sparse_combiner, weight_var)
    if state_manager is None:
        tensor, shape = column._get_dense_tensor(transformation_cache), column._variable_shape
    else:
        tensor, shape = column.get_dense_tensor(transformation_cache, state_manager), column.variable_shape
    tensor = array_ops.reshape(tensor, shape=(array_ops.shape(tensor)[0], shape.num_elements()))
    return math_ops.matmul(tensor, weight_var, name="weighted_sum")


def _weighted_sum_of_ids(pair, sparse_combiner, weight_var):
    def flat(sparse):
        return sparse_ops.sparse_reshape(sparse, [array_ops.shape(sparse)[0], -1])

    ids = flat(pair.id_tensor)
    weights = None if pair.weight_tensor is None else flat(pair.weight_tensor)
    return embedding_ops.safe_embedding_lookup_sparse(
        weight_var, ids, sparse_weights=weights, combiner=sparse_combiner, name="weighted_sum"
    )


def __getattr__(name):
    """The layers of linear models, whose module takes functions from here."""
    if name not in ("LinearModel", "_LinearModelLayer"):
        raise AttributeError(name)
    from braid.tensorflow.python.feature_column import linear_layers

    return getattr(linear_layers, name)
