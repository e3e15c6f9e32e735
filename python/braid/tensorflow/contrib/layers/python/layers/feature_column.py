"""The feature columns of tf.contrib.layers.

They are older than tf.feature_column's and have other variables, other orders and, for crosses, other hashes.
input_from_feature_columns and weighted_sum_from_feature_columns (feature_column_ops) use them by the methods
of _FeatureColumn; tf.feature_column.input_layer and linear_model by those of its older interface.
"""

import collections
import math

from braid.tensorflow.contrib.framework.python.ops import variables as contrib_variables
from braid.tensorflow.contrib.layers.python.layers import embedding_ops
from braid.tensorflow.contrib.layers.python.layers import layers
from braid.tensorflow.contrib.layers.python.ops import sparse_feature_cross_op
from braid.tensorflow.python.feature_column import feature_column as fc_core
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor as sparse_tensor_lib
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import lookup_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import parsing_ops
from braid.tensorflow.python.ops import sparse_ops
from braid.tensorflow.python.ops import string_ops
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import checkpoint_utils

__all__ = [
    "bucketized_column",
    "create_feature_spec_for_parsing",
    "crossed_column",
    "embedding_column",
    "make_place_holder_tensors_for_base_features",
    "one_hot_column",
    "real_valued_column",
    "scattered_embedding_column",
    "shared_embedding_columns",
    "sparse_column_with_hash_bucket",
    "sparse_column_with_integerized_feature",
    "sparse_column_with_keys",
    "sparse_column_with_vocabulary_file",
    "weighted_sparse_column",
]

_SparseTensor = sparse_tensor_lib.SparseTensor

_LinearLookup = collections.namedtuple(
    "_LinearEmbeddingLookupArguments",
    ("input_tensor", "weight_tensor", "vocab_size", "initializer", "combiner"),
)
_DeepLookup = collections.namedtuple(
    "_DeepEmbeddingLookupArguments",
    (
        "input_tensor",
        "weight_tensor",
        "vocab_size",
        "initializer",
        "combiner",
        "dimension",
        "shared_embedding_name",
        "hash_key",
        "max_norm",
        "trainable",
    ),
)


class _FeatureColumn(fc_core._FeatureColumn):
    """A column of tf.contrib.layers. Its classes are named tuples."""

    # Fields that `key` leaves out: functions, whose texts have addresses.
    _unnamed = ()

    @property
    def config(self):
        """A dict for parse_example: how to read the features that the column needs."""
        raise NotImplementedError(f"{type(self).__name__}.config")

    @property
    def key(self):
        """The text by which columns are sorted and told apart."""
        fields = ", ".join(f"{f}={getattr(self, f)}" for f in self._fields if f not in self._unnamed)
        return f"{type(self).__name__}({fields})" if self._unnamed else f"{self}"

    @property
    def _parse_example_spec(self):
        return self.config

    def _features(self, inputs):
        """The column's own form of its features, found in `inputs` by names and columns."""
        raise NotImplementedError(f"Transform is not implemented for {self}.")

    def _transform_feature(self, inputs):
        return self._features(inputs)

    def insert_transformed_feature(self, columns_to_tensors):
        """Puts the column's own form of its features into a dict that has those of the program by names."""
        columns_to_tensors[self] = self._features(_LazyBuilderByColumnsToTensor(columns_to_tensors))

    def _to_dnn_input_layer(self, input_tensor, weight_collections=None, trainable=True, output_rank=2):
        """The dense tensor of the features, of rank output_rank."""
        raise ValueError("Calling an abstract method.")

    def _deep_embedding_lookup_arguments(self, input_tensor):
        """How to look the ids up in a network's embeddings."""
        raise NotImplementedError(f"No deep embedding lookup arguments for column {self}.")

    def _wide_embedding_lookup_arguments(self, input_tensor):
        """How to look the ids up in a linear model's weights."""
        raise NotImplementedError(f"No wide embedding lookup arguments for column {self}.")

    def _to_dense_tensor(self, input_tensor):
        """The dense tensor that a linear model multiplies."""
        raise NotImplementedError(f"No dense tensor representation for column {self}.")

    def _checkpoint_path(self):
        """(a checkpoint, the name of a tensor in it) from which weights begin, or None."""
        if getattr(self, "ckpt_to_load_from", None) is None:
            return None
        return self.ckpt_to_load_from, self.tensor_name_in_ckpt


class _LazyBuilderByColumnsToTensor:
    """A dict of tensors by names and columns, which transforms columns when they are asked for."""

    def __init__(self, columns_to_tensors):
        self._columns_to_tensors = columns_to_tensors

    def get(self, key):
        if key in self._columns_to_tensors:
            return self._columns_to_tensors[key]
        if isinstance(key, str):
            raise ValueError(f"features dictionary doesn't contain key ({key})")
        if not isinstance(key, _FeatureColumn):
            raise TypeError(f'"key" must be either a "str" or "_FeatureColumn". Provided: {key}')
        key.insert_transformed_feature(self._columns_to_tensors)
        return self._columns_to_tensors[key]


def _check_checkpoint(ckpt_to_load_from, tensor_name_in_ckpt):
    if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
        raise ValueError("Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.")


def _dense_to_sparse(tensor, ignore_value=None):
    """A SparseTensor of the elements other than ignore_value: by default "", or 0."""
    with ops.name_scope("DenseToSparseTensor"):
        tensor = ops.convert_to_tensor(tensor)
        if ignore_value is None:
            ignore_value = "" if tensor.dtype == dtypes.string else tensor.dtype.as_numpy_dtype()
        ignore_value = math_ops.cast(ignore_value, tensor.dtype, name="ignore_value")
        indices = array_ops.where(math_ops.not_equal(tensor, ignore_value), name="indices")
        return _SparseTensor(
            indices=indices,
            values=array_ops.gather_nd(tensor, indices, name="values"),
            dense_shape=array_ops.shape(tensor, out_type=dtypes.int64, name="dense_shape"),
        )


# ---- Ids ----


class _Ids(_FeatureColumn, fc_core._CategoricalColumn):
    """A column of ids with the properties `length` and `combiner`."""

    # What messages call such a column, and what they propose in its place.
    _words = ("", "")

    def id_tensor(self, input_tensor):
        return input_tensor

    def weight_tensor(self, input_tensor):
        return None

    @property
    def _num_buckets(self):
        return self.length

    def _get_sparse_tensors(self, inputs, weight_collections=None, trainable=None):
        found = inputs.get(self)
        return fc_core._CategoricalColumn.IdWeightPair(self.id_tensor(found), self.weight_tensor(found))

    def _to_dnn_input_layer(self, input_tensor, weight_collections=None, trainable=True, output_rank=2):
        kind, use = self._words
        raise ValueError(f"{kind} is not supported in DNN. Please use {use}. column: {self}")

    def _wide_embedding_lookup_arguments(self, input_tensor):
        return _LinearLookup(
            self.id_tensor(input_tensor),
            self.weight_tensor(input_tensor),
            self.length,
            init_ops.zeros_initializer(),
            self.combiner,
        )


_SparseIdLookupConfig = collections.namedtuple(
    "_SparseIdLookupConfig",
    ("vocabulary_file", "keys", "num_oov_buckets", "vocab_size", "default_value"),
    defaults=(None, None, 0, None, -1),
)


class _SparseColumn(
    _Ids,
    collections.namedtuple(
        "_SparseColumn",
        ("column_name", "is_integerized", "bucket_size", "lookup_config", "combiner", "dtype"),
    ),
):
    """Values as ids, a number of bucket_size or by the vocabulary of lookup_config."""

    _words = ("SparseColumn", "embedding_column or one_hot_column")

    def __new__(
        cls,
        column_name,
        is_integerized=False,
        bucket_size=None,
        lookup_config=None,
        combiner="sum",
        dtype=dtypes.string,
    ):
        if is_integerized and bucket_size is None:
            raise ValueError(f"bucket_size must be set if is_integerized is True. column_name: {column_name}")
        if is_integerized and not dtype.is_integer:
            raise ValueError(
                f"dtype must be an integer if is_integerized is True. dtype: {dtype}, "
                f"column_name: {column_name}."
            )
        if dtype != dtypes.string and not dtype.is_integer:
            raise ValueError(f"dtype must be string or integer. dtype: {dtype}, column_name: {column_name}")
        if bucket_size is None and lookup_config is None:
            raise ValueError(f"one of bucket_size or lookup_config must be set. column_name: {column_name}")
        if bucket_size is not None and lookup_config:
            raise ValueError(
                f"one and only one of bucket_size or lookup_config must be set. column_name: {column_name}"
            )
        if bucket_size is not None and bucket_size < 1:
            raise ValueError(
                f"bucket_size must be at least 1. bucket_size: {bucket_size}, column_name: {column_name}"
            )
        if lookup_config and not isinstance(lookup_config, _SparseIdLookupConfig):
            raise TypeError(
                "lookup_config must be an instance of _SparseIdLookupConfig. Given one is in type "
                f"{type(lookup_config)} for column_name {column_name}"
            )
        if lookup_config and lookup_config.vocabulary_file and lookup_config.vocab_size is None:
            raise ValueError(f"vocab_size must be defined. column_name: {column_name}")
        return super().__new__(cls, column_name, is_integerized, bucket_size, lookup_config, combiner, dtype)

    @property
    def name(self):
        return self.column_name

    @property
    def length(self):
        if self.bucket_size is not None:
            return self.bucket_size
        return self.lookup_config.vocab_size + self.lookup_config.num_oov_buckets

    @property
    def config(self):
        return {self.column_name: parsing_ops.VarLenFeature(self.dtype)}

    def is_compatible(self, other_column):
        """Whether the column's ids may mean the same as those of another."""
        if self.lookup_config and other_column.lookup_config:
            return self.lookup_config == other_column.lookup_config
        compatible = self.length == other_column.length and (
            self.dtype == other_column.dtype or (self.dtype.is_integer and other_column.dtype.is_integer)
        )
        if compatible:
            logging.warn(
                "Column {} and {} may not have the same vocabulary.".format(self.name, other_column.name)
            )
        return compatible

    def _features(self, inputs):
        tensor = inputs.get(self.name)
        if not isinstance(tensor, _SparseTensor):
            tensor = _reshape_real_valued_tensor(tensor, 2, self.name)
            tensor = _dense_to_sparse(tensor, "" if tensor.dtype == dtypes.string else -1)
        return self._do_transform(tensor)

    def _do_transform(self, input_tensor):
        raise NotImplementedError(f"{type(self).__name__}._do_transform")


class _SparseColumnIntegerized(_SparseColumn):
    """See sparse_column_with_integerized_feature."""

    def _do_transform(self, input_tensor):
        ids = math_ops.mod(input_tensor.values, self.bucket_size, name="mod")
        return _SparseTensor(input_tensor.indices, ids, input_tensor.dense_shape)


def sparse_column_with_integerized_feature(column_name, bucket_size, combiner="sum", dtype=dtypes.int64):
    """A column of integers, whose ids are the rests of a division by bucket_size.

    combiner: how a linear model combines the weights of an example's ids: "sum", "mean" or "sqrtn".
    """
    return _SparseColumnIntegerized(
        column_name, is_integerized=True, bucket_size=bucket_size, combiner=combiner, dtype=dtype
    )


class _SparseColumnHashed(_SparseColumn):
    """See sparse_column_with_hash_bucket."""

    def __new__(
        cls,
        column_name,
        is_integerized=False,
        bucket_size=None,
        lookup_config=None,
        combiner="sum",
        dtype=dtypes.string,
        hash_keys=None,
    ):
        if hash_keys is not None:
            if not isinstance(hash_keys, list) or not hash_keys:
                raise ValueError("hash_keys must be a non-empty list.")
            if not all(
                isinstance(pair, list) and len(pair) == 2 and all(isinstance(key, int) for key in pair)
                for pair in hash_keys
            ):
                raise ValueError("Each element of hash_keys must be a pair of integers.")
        column = super().__new__(
            cls, column_name, is_integerized, bucket_size, lookup_config, combiner, dtype
        )
        column.hash_keys = hash_keys
        return column

    def _do_transform(self, input_tensor):
        values = input_tensor.values
        if self.dtype.is_integer:
            values = string_ops.as_string(values)

        def ids(hashes):
            return _SparseTensor(input_tensor.indices, hashes, input_tensor.dense_shape)

        if not self.hash_keys:
            return ids(string_ops.string_to_hash_bucket_fast(values, self.bucket_size, name="lookup"))
        hashed = [
            ids(string_ops.string_to_hash_bucket_strong(values, self.bucket_size, key))
            for key in self.hash_keys
        ]
        return sparse_ops.sparse_concat(axis=1, sp_inputs=hashed, name="lookup")


def sparse_column_with_hash_bucket(
    column_name, hash_bucket_size, combiner="sum", dtype=dtypes.string, hash_keys=None
):
    """A column of strings or integers, whose ids are hashes below hash_bucket_size.

    combiner: how a linear model combines the weights of an example's ids: "sum", "mean" or "sqrtn". hash_keys:
    pairs of integers; each value gets an id by each pair.
    """
    return _SparseColumnHashed(
        column_name, bucket_size=hash_bucket_size, combiner=combiner, dtype=dtype, hash_keys=hash_keys
    )


class _SparseColumnKeys(_SparseColumn):
    """See sparse_column_with_keys."""

    def _do_transform(self, input_tensor):
        table = lookup_ops.index_table_from_tensor(
            vocabulary_list=tuple(self.lookup_config.keys),
            default_value=self.lookup_config.default_value,
            dtype=self.dtype,
            name="lookup",
        )
        return table.lookup(input_tensor)


def sparse_column_with_keys(column_name, keys, default_value=-1, combiner="sum", dtype=dtypes.string):
    """A column of strings or integers, whose ids are their places among the keys, or default_value."""
    keys = tuple(keys)
    vocabulary = _SparseIdLookupConfig(keys=keys, vocab_size=len(keys), default_value=default_value)
    return _SparseColumnKeys(column_name, lookup_config=vocabulary, combiner=combiner, dtype=dtype)


class _SparseColumnVocabulary(_SparseColumn):
    """See sparse_column_with_vocabulary_file."""

    def _do_transform(self, input_tensor):
        if self.dtype.is_integer:
            input_tensor = _SparseTensor(
                input_tensor.indices, string_ops.as_string(input_tensor.values), input_tensor.dense_shape
            )
        table = lookup_ops.index_table_from_file(
            vocabulary_file=self.lookup_config.vocabulary_file,
            num_oov_buckets=self.lookup_config.num_oov_buckets,
            vocab_size=self.lookup_config.vocab_size,
            default_value=self.lookup_config.default_value,
            name=self.name + "_lookup",
        )
        return table.lookup(input_tensor)


def sparse_column_with_vocabulary_file(
    column_name,
    vocabulary_file,
    num_oov_buckets=0,
    vocab_size=None,
    default_value=-1,
    combiner="sum",
    dtype=dtypes.string,
):
    """A column of strings or integers, whose ids are the numbers of their lines in a file."""
    if vocab_size is None:
        raise ValueError(f"vocab_size should be defined. column_name: {column_name}")
    vocabulary = _SparseIdLookupConfig(
        vocabulary_file=vocabulary_file,
        num_oov_buckets=num_oov_buckets,
        vocab_size=vocab_size,
        default_value=default_value,
    )
    return _SparseColumnVocabulary(column_name, lookup_config=vocabulary, combiner=combiner, dtype=dtype)


class _WeightedSparseColumn(
    _Ids, collections.namedtuple("_WeightedSparseColumn", ("sparse_id_column", "weight_column_name", "dtype"))
):
    """See weighted_sparse_column."""

    _words = ("WeightedSparseColumn", "embedding_column or one_hot_column")

    @property
    def name(self):
        return f"{self.sparse_id_column.name}_weighted_by_{self.weight_column_name}"

    @property
    def length(self):
        return self.sparse_id_column.length

    @property
    def combiner(self):
        return self.sparse_id_column.combiner

    @property
    def lookup_config(self):
        return self.sparse_id_column.lookup_config

    @property
    def config(self):
        weights = {self.weight_column_name: parsing_ops.VarLenFeature(self.dtype)}
        return {**_get_feature_config(self.sparse_id_column), **weights}

    def id_tensor(self, input_tensor):
        return input_tensor[0]

    def weight_tensor(self, input_tensor):
        return input_tensor[1]

    def is_compatible(self, other_column):
        """Whether the column's ids may mean the same as those of another."""
        if isinstance(other_column, _WeightedSparseColumn):
            other_column = other_column.sparse_id_column
        return self.sparse_id_column.is_compatible(other_column)

    def _features(self, inputs):
        ids, weights = inputs.get(self.sparse_id_column), inputs.get(self.weight_column_name)
        if not isinstance(weights, _SparseTensor):
            weights = _dense_to_sparse(weights)
        if not self.dtype.is_floating:
            weights = math_ops.cast(weights, dtypes.float32)
        return ids, weights


def weighted_sparse_column(sparse_id_column, weight_column_name, dtype=dtypes.float32):
    """The ids of a column with the weights that another feature has at the same places."""
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype is not convertible to float. Given {dtype}")
    return _WeightedSparseColumn(sparse_id_column, weight_column_name, dtype)


class _CrossedColumn(
    _Ids,
    collections.namedtuple(
        "_CrossedColumn",
        ("columns", "hash_bucket_size", "hash_key", "combiner", "ckpt_to_load_from", "tensor_name_in_ckpt"),
    ),
):
    """See crossed_column."""

    _words = ("CrossedColumn", "embedding_column")

    def __new__(
        cls,
        columns,
        hash_bucket_size,
        hash_key,
        combiner="sum",
        ckpt_to_load_from=None,
        tensor_name_in_ckpt=None,
    ):
        for column in columns:
            if not isinstance(column, (_SparseColumn, _CrossedColumn, _BucketizedColumn)):
                raise TypeError(
                    "columns must be a set of _SparseColumn, _CrossedColumn, or _BucketizedColumn instances. "
                    f"(column {column} is a {type(column).__name__})"
                )
        if len(columns) < 2:
            raise ValueError(f"columns must contain at least 2 elements. columns: {columns}")
        if hash_bucket_size < 2:
            raise ValueError(f"hash_bucket_size must be at least 2. hash_bucket_size: {hash_bucket_size}")
        _check_checkpoint(ckpt_to_load_from, tensor_name_in_ckpt)
        columns = tuple(sorted(columns, key=lambda c: c.name))
        return super().__new__(
            cls, columns, hash_bucket_size, hash_key, combiner, ckpt_to_load_from, tensor_name_in_ckpt
        )

    @property
    def name(self):
        return "_X_".join(sorted(column.name for column in self.columns))

    @property
    def length(self):
        return self.hash_bucket_size

    @property
    def config(self):
        return create_feature_spec_for_parsing(self.columns)

    def _leaves(self):
        """The columns, with those of crosses among them in their place."""
        for column in self.columns:
            yield from column._leaves() if isinstance(column, _CrossedColumn) else [column]

    def _features(self, inputs):
        # Of sparse columns the values are crossed, not the ids.
        tensors = [
            column.to_sparse_tensor(inputs.get(column))
            if isinstance(column, _BucketizedColumn)
            else inputs.get(column.name)
            for column in self._leaves()
        ]
        return sparse_feature_cross_op.sparse_feature_cross(
            tensors,
            hashed_output=True,
            num_buckets=self.hash_bucket_size,
            hash_key=self.hash_key,
            name="cross",
        )


def crossed_column(
    columns,
    hash_bucket_size,
    combiner="sum",
    ckpt_to_load_from=None,
    tensor_name_in_ckpt=None,
    hash_key=None,
):
    """Combinations of the values of columns, in the order of their names, as hashes below hash_bucket_size.

    With a hash_key the hashes are those of tf.feature_column.crossed_column with that key; without one they
    are others. ckpt_to_load_from, tensor_name_in_ckpt: the tensor from which a linear model's weights begin.
    """
    return _CrossedColumn(
        columns, hash_bucket_size, hash_key, combiner, ckpt_to_load_from, tensor_name_in_ckpt
    )


# ---- Dense tensors of ids ----


class _OneHotColumn(
    _FeatureColumn, fc_core._DenseColumn, collections.namedtuple("_OneHotColumn", ("sparse_id_column",))
):
    """See one_hot_column."""

    @property
    def name(self):
        return f"{self.sparse_id_column.name}_one_hot"

    @property
    def length(self):
        return self.sparse_id_column.length

    @property
    def config(self):
        return _get_feature_config(self.sparse_id_column)

    @property
    def _variable_shape(self):
        return tensor_shape.TensorShape([self.length])

    def _features(self, inputs):
        return inputs.get(self.sparse_id_column)

    def _transform_feature(self, inputs):
        return self._to_dnn_input_layer(inputs.get(self.sparse_id_column))

    def _get_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        return inputs.get(self)

    def _to_dnn_input_layer(self, input_tensor, weight_collections=None, trainable=False, output_rank=2):
        ids = layers._inner_flatten(self.sparse_id_column.id_tensor(input_tensor), output_rank)
        weights = self.sparse_id_column.weight_tensor(input_tensor)
        if weights is None:
            dense_ids = sparse_ops.sparse_tensor_to_dense(ids, default_value=-1)
            one_hot = array_ops.one_hot(dense_ids, depth=self.length, on_value=1.0, off_value=0.0)
            return math_ops.reduce_sum(one_hot, axis=[output_rank - 1])
        weighted = sparse_ops.sparse_merge(sp_ids=ids, sp_values=weights, vocab_size=self.length)
        # Ids of -1 are outside.
        weighted = sparse_ops.sparse_slice(
            weighted, array_ops.zeros_like(weighted.dense_shape), weighted.dense_shape
        )
        dense = sparse_ops.sparse_tensor_to_dense(weighted)
        rows = array_ops.shape(dense)[:-1]
        return array_ops.reshape(dense, array_ops.concat([rows, [self.length]], axis=0))


def one_hot_column(sparse_id_column):
    """How often each id of a column is there, or the sums of the ids' weights."""
    return _OneHotColumn(sparse_id_column)


class _EmbeddingColumn(
    _FeatureColumn,
    fc_core._DenseColumn,
    collections.namedtuple(
        "_EmbeddingColumn",
        (
            "sparse_id_column",
            "dimension",
            "combiner",
            "initializer",
            "ckpt_to_load_from",
            "tensor_name_in_ckpt",
            "shared_embedding_name",
            "shared_vocab_size",
            "max_norm",
            "trainable",
        ),
    ),
):
    """See embedding_column."""

    _unnamed = ("initializer",)

    def __new__(
        cls,
        sparse_id_column,
        dimension,
        combiner="mean",
        initializer=None,
        ckpt_to_load_from=None,
        tensor_name_in_ckpt=None,
        shared_embedding_name=None,
        shared_vocab_size=None,
        max_norm=None,
        trainable=True,
    ):
        if initializer is not None and not callable(initializer):
            raise ValueError(
                "initializer must be callable if specified. Embedding of column_name: "
                f"{sparse_id_column.name}"
            )
        _check_checkpoint(ckpt_to_load_from, tensor_name_in_ckpt)
        if initializer is None:
            initializer = init_ops.truncated_normal_initializer(
                mean=0.0, stddev=1 / math.sqrt(sparse_id_column.length)
            )
        return super().__new__(
            cls,
            sparse_id_column,
            dimension,
            combiner,
            initializer,
            ckpt_to_load_from,
            tensor_name_in_ckpt,
            shared_embedding_name,
            shared_vocab_size,
            max_norm,
            trainable,
        )

    @property
    def name(self):
        shared = "" if self.shared_embedding_name is None else "_shared"
        return f"{self.sparse_id_column.name}{shared}_embedding"

    @property
    def length(self):
        return self.sparse_id_column.length if self.shared_vocab_size is None else self.shared_vocab_size

    @property
    def config(self):
        return _get_feature_config(self.sparse_id_column)

    @property
    def _variable_shape(self):
        return tensor_shape.TensorShape([self.dimension])

    def _features(self, inputs):
        return inputs.get(self.sparse_id_column)

    def _deep_embedding_lookup_arguments(self, input_tensor):
        return _DeepLookup(
            self.sparse_id_column.id_tensor(input_tensor),
            self.sparse_id_column.weight_tensor(input_tensor),
            self.length,
            self.initializer,
            self.combiner,
            self.dimension,
            self.shared_embedding_name,
            None,
            self.max_norm,
            self.trainable,
        )

    def _wide_embedding_lookup_arguments(self, input_tensor):
        raise ValueError(f"Column {self} is not supported in linear models. Please use sparse_column.")

    def _get_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        arguments = self._deep_embedding_lookup_arguments(inputs.get(self))
        return _embeddings_from_arguments(self, arguments, weight_collections, trainable)


def _variables_of(variable):
    """A list of the variable's parts."""
    parts = fc_core._parts(variable)
    return parts if isinstance(parts, list) else [parts]


def _shared_embeddings(name, shape, make):
    collection = ops.get_default_graph().get_collection_ref(f"SHARED_EMBEDDING_COLLECTION_{name.upper()}")
    if not collection:
        collection.append(make(name))
    elif len(collection) > 1:
        raise ValueError(
            f"Collection SHARED_EMBEDDING_COLLECTION_{name.upper()} can only contain one (partitioned) variable."
        )
    elif collection[0].get_shape() != shape:
        raise ValueError(
            f"The embedding variable with name {name} already exists, but its shape does not match required "
            "embedding shape here. Please make sure to use different shared_embedding_name for different "
            "shared embeddings."
        )
    return collection[0]


def _embeddings_from_arguments(column, args, weight_collections, trainable, output_rank=2):
    """The combined embeddings of a column's ids, of rank output_rank."""
    ids = layers._inner_flatten(args.input_tensor, output_rank)
    weights = None if args.weight_tensor is None else layers._inner_flatten(args.weight_tensor, output_rank)
    shape = [args.vocab_size] if args.hash_key else [args.vocab_size, args.dimension]

    def make(name):
        return contrib_variables.model_variable(
            name=name,
            shape=shape,
            dtype=dtypes.float32,
            initializer=args.initializer,
            trainable=trainable and args.trainable,
            collections=weight_collections,
        )

    if args.hash_key:
        return embedding_ops.scattered_embedding_lookup_sparse(
            make("weights"),
            ids,
            args.dimension,
            hash_key=args.hash_key,
            combiner=args.combiner,
            name="lookup",
        )
    if args.shared_embedding_name is None:
        embeddings = make("weights")
    else:
        embeddings = _shared_embeddings(args.shared_embedding_name, shape, make)
    embeddings = _variables_of(embeddings)
    _maybe_restore_from_checkpoint(column._checkpoint_path(), embeddings)
    return embedding_ops.safe_embedding_lookup_sparse(
        embeddings,
        ids,
        sparse_weights=weights,
        combiner=args.combiner,
        name=column.name + "weights",
        max_norm=args.max_norm,
    )


def _maybe_restore_from_checkpoint(checkpoint_path, variable):
    if checkpoint_path is not None:
        path, name = checkpoint_path
        checkpoint_utils.init_from_checkpoint(path, {name: variable[0] if len(variable) == 1 else variable})


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
    """The embeddings of a column's ids, combined by "mean", "sqrtn" or "sum" for each example.

    initializer: by default a truncated normal one of the standard deviation 1/sqrt(number of ids).
    ckpt_to_load_from, tensor_name_in_ckpt: the tensor from which the embeddings begin. max_norm: the longest
    that an embedding may be; longer ones are scaled.
    """
    return _EmbeddingColumn(
        sparse_id_column,
        dimension,
        combiner,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm=max_norm,
        trainable=trainable,
    )


def _shared_name(columns):
    plain = sorted((c for c in columns if isinstance(c, _SparseColumn)), key=lambda c: c.column_name)
    weighted = sorted((c for c in columns if not isinstance(c, _SparseColumn)), key=lambda c: c.name)
    names = [column.name for column in plain + weighted]
    others = f"_plus_{len(names) - 3}_others" if len(names) > 3 else ""
    return "_".join(names[:3]) + others + "_shared_embedding"


def shared_embedding_columns(
    sparse_id_columns,
    dimension,
    combiner="mean",
    shared_embedding_name=None,
    initializer=None,
    ckpt_to_load_from=None,
    tensor_name_in_ckpt=None,
    max_norm=None,
    trainable=True,
):
    """Columns as embedding_column's, a tuple of them, that look ids up in the same embeddings."""
    if not isinstance(sparse_id_columns, collections.abc.Sequence) or isinstance(sparse_id_columns, str):
        raise TypeError(
            "sparse_id_columns must be a non-string sequence (ex: list or tuple) instead of type "
            f"{type(sparse_id_columns)}."
        )
    if len(sparse_id_columns) < 1:
        raise ValueError("The input sparse_id_columns should have at least one element.")
    for column in sparse_id_columns:
        if not isinstance(column, (_SparseColumn, _WeightedSparseColumn)):
            raise TypeError(
                f"Elements of sparse_id_columns must be _SparseColumn or _WeightedSparseColumn, but {column} is "
                "not."
            )
    first, *others = sparse_id_columns
    settings = (dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt)
    if not others:
        return [
            _EmbeddingColumn(first, *settings, shared_embedding_name, max_norm=max_norm, trainable=trainable)
        ]
    for column in others:
        pair = (first, column) if isinstance(first, _WeightedSparseColumn) else (column, first)
        if not pair[0].is_compatible(pair[1]):
            raise ValueError("The input sparse id columns are not compatible.")
    name = shared_embedding_name or _shared_name(sparse_id_columns)
    return tuple(
        _EmbeddingColumn(column, *settings, name, first.length, max_norm, trainable)
        for column in sparse_id_columns
    )


class _ScatteredEmbeddingColumn(
    _FeatureColumn,
    fc_core._DenseColumn,
    collections.namedtuple(
        "_ScatteredEmbeddingColumn",
        ("column_name", "size", "dimension", "hash_key", "combiner", "initializer"),
    ),
):
    """See scattered_embedding_column."""

    _unnamed = ("initializer",)

    def __new__(cls, column_name, size, dimension, hash_key, combiner="sqrtn", initializer=None):
        if initializer is not None and not callable(initializer):
            raise ValueError(f"initializer must be callable if specified. column_name: {column_name}")
        initializer = initializer or init_ops.truncated_normal_initializer(mean=0.0, stddev=0.1)
        return super().__new__(cls, column_name, size, dimension, hash_key, combiner, initializer)

    @property
    def name(self):
        return f"{self.column_name}_scattered_embedding"

    @property
    def config(self):
        return {self.column_name: parsing_ops.VarLenFeature(dtypes.string)}

    @property
    def _variable_shape(self):
        return tensor_shape.TensorShape([self.dimension])

    def _features(self, inputs):
        return inputs.get(self.column_name)

    def _deep_embedding_lookup_arguments(self, input_tensor):
        return _DeepLookup(
            input_tensor,
            None,
            self.size,
            self.initializer,
            self.combiner,
            self.dimension,
            None,
            self.hash_key,
            None,
            True,
        )

    def _get_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        arguments = self._deep_embedding_lookup_arguments(inputs.get(self))
        return _embeddings_from_arguments(self, arguments, weight_collections, trainable)


def scattered_embedding_column(column_name, size, dimension, hash_key, combiner="mean", initializer=None):
    """Embeddings of strings, each of whose numbers is found among `size` numbers by a hash of its own.

    combiner: how those of an example are combined. initializer: by default a truncated normal one of the
    standard deviation 0.1.
    """
    if dimension < 1 or size < 1:
        raise ValueError(
            "Dimension and size must be greater than 0. "
            f"dimension: {dimension}, size: {size}, column_name: {column_name}"
        )
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(
            "Combiner must be one of 'mean', 'sqrtn' or 'sum'. "
            f"combiner: {combiner}, column_name: {column_name}"
        )
    return _ScatteredEmbeddingColumn(column_name, size, dimension, hash_key, combiner, initializer)


# ---- Numbers ----


def _reshape_real_valued_tensor(input_tensor, output_rank, column_name=None):
    """The tensor with its inner dimensions flattened, or one more, of size 1. ValueError: its rank is too low."""
    rank = input_tensor.get_shape().ndims
    if rank is not None:
        if output_rank > rank + 1:
            where = "" if column_name is None else f"Error while processing column {column_name}."
            raise ValueError(
                f"{where}Rank of input Tensor ({rank}) should be the same as output_rank ({output_rank}). For "
                "example, sequence data should typically be 3 dimensional (rank 3) while non-sequence data is "
                "typically 2 dimensional (rank 2)."
            )
        if output_rank == rank + 1:
            logging.warning(
                "Rank of input Tensor ({}) should be the same as output_rank ({}) for column. Will attempt to "
                "expand dims. It is highly recommended that you resize your input, as this behavior may "
                "change.".format(rank, output_rank)
            )
            return array_ops.expand_dims(input_tensor, -1, name="expand_dims")
        if output_rank == rank:
            return input_tensor
    return layers._inner_flatten(input_tensor, output_rank)


class _RealValuedColumn(
    _FeatureColumn,
    fc_core._DenseColumn,
    collections.namedtuple(
        "_RealValuedColumn", ("column_name", "dimension", "default_value", "dtype", "normalizer")
    ),
):
    """See real_valued_column."""

    _unnamed = ("normalizer",)

    def __new__(cls, column_name, dimension, default_value, dtype, normalizer):
        default_value = None if default_value is None else tuple(default_value)
        return super().__new__(cls, column_name, dimension, default_value, dtype, normalizer)

    @property
    def name(self):
        return self.column_name

    @property
    def normalizer_fn(self):
        return self.normalizer

    @property
    def config(self):
        default = None if self.default_value is None else list(self.default_value)
        return {self.column_name: parsing_ops.FixedLenFeature([self.dimension], self.dtype, default)}

    @property
    def _variable_shape(self):
        return tensor_shape.TensorShape([self.dimension])

    def _features(self, inputs):
        tensor = inputs.get(self.name)
        if self.normalizer is not None:
            tensor = self.normalizer(tensor)
        return math_ops.cast(tensor, dtypes.float32)

    def _to_dense_tensor(self, input_tensor):
        return input_tensor

    def _to_dnn_input_layer(self, input_tensor, weight_collections=None, trainable=True, output_rank=2):
        input_tensor = math_ops.cast(self._to_dense_tensor(input_tensor), dtypes.float32)
        return _reshape_real_valued_tensor(input_tensor, output_rank, self.name)

    def _get_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        return inputs.get(self)


def real_valued_column(column_name, dimension=1, default_value=None, dtype=dtypes.float32, normalizer=None):
    """A column of `dimension` numbers. default_value: a number, or a list of them, for parsing."""
    told = f"dimension: {dimension}, column_name: {column_name}"
    if dimension is None:
        raise TypeError(
            "dimension must be an integer. Use the _real_valued_var_len_column for variable length features."
            + told
        )
    if not isinstance(dimension, int):
        raise TypeError(f"dimension must be an integer. {told}")
    if dimension < 1:
        raise ValueError(f"dimension must be greater than 0. {told}")
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, column_name: {column_name}")
    if default_value is not None:
        values = [default_value] * dimension if isinstance(default_value, (int, float)) else default_value
        if isinstance(values, list) and len(values) != dimension:
            raise ValueError(
                "The length of default_value must be equal to dimension. "
                f"default_value: {default_value}, dimension: {dimension}, column_name: {column_name}"
            )
        kinds = int if dtype.is_integer else (int, float)
        if not isinstance(values, list) or not all(isinstance(v, kinds) for v in values):
            raise TypeError(
                "default_value must be compatible with dtype. "
                f"default_value: {default_value}, dtype: {dtype}, column_name: {column_name}"
            )
        default_value = values if dtype.is_integer else [float(v) for v in values]
    return _RealValuedColumn(column_name, dimension, default_value, dtype, normalizer)


class _RealValuedVarLenColumn(
    _FeatureColumn,
    collections.namedtuple(
        "_RealValuedVarLenColumn", ("column_name", "default_value", "dtype", "normalizer", "is_sparse")
    ),
):
    """See _real_valued_var_len_column."""

    _unnamed = ("normalizer",)

    @property
    def name(self):
        return self.column_name

    @property
    def normalizer_fn(self):
        return self.normalizer

    @property
    def config(self):
        if self.is_sparse:
            return {self.column_name: parsing_ops.VarLenFeature(self.dtype)}
        return {
            self.column_name: parsing_ops.FixedLenSequenceFeature(
                [], self.dtype, allow_missing=True, default_value=self.default_value
            )
        }

    def _features(self, inputs):
        tensor = inputs.get(self.name)
        if self.normalizer is not None:
            if self.is_sparse:
                values = self.normalizer(tensor.values)
                tensor = _SparseTensor(tensor.indices, values, tensor.dense_shape)
            else:
                tensor = self.normalizer(tensor)
        return math_ops.cast(tensor, dtypes.float32)

    def _to_dnn_input_layer(self, input_tensor, weight_collections=None, trainable=True, output_rank=2):
        return _reshape_real_valued_tensor(self._to_dense_tensor(input_tensor), output_rank, self.name)

    def _to_dense_tensor(self, input_tensor):
        if self.is_sparse:
            raise ValueError(
                f"Set is_sparse to False if you want a dense Tensor for column_name: {self.name}"
            )
        return input_tensor


def _real_valued_var_len_column(
    column_name, default_value=None, dtype=dtypes.float32, normalizer=None, is_sparse=False
):
    """A column of any number of numbers: a SparseTensor, or one filled up with default_value."""
    if not (dtype.is_integer or dtype.is_floating):
        raise TypeError(f"dtype must be convertible to float. dtype: {dtype}, column_name: {column_name}")
    if default_value is None and not is_sparse:
        raise ValueError(
            "default_value must be provided when is_sparse=False to parse a padded Tensor. "
            f"column_name: {column_name}"
        )
    if isinstance(default_value, list):
        raise ValueError(
            f"Only scalar default value. default_value: {default_value}, column_name: {column_name}"
        )
    if default_value is not None:
        default_value = (int if dtype.is_integer else float)(default_value)
    return _RealValuedVarLenColumn(column_name, default_value, dtype, normalizer, is_sparse)


class _BucketizedColumn(
    _FeatureColumn,
    fc_core._CategoricalColumn,
    fc_core._DenseColumn,
    collections.namedtuple("_BucketizedColumn", ("source_column", "boundaries")),
):
    """See bucketized_column."""

    def __new__(cls, source_column, boundaries):
        if not isinstance(source_column, _RealValuedColumn):
            raise TypeError(
                f"source_column must be an instance of _RealValuedColumn. source_column: {source_column}"
            )
        if not isinstance(boundaries, (list, tuple)) or not boundaries:
            raise ValueError(f"boundaries must be a non-empty list or tuple. boundaries: {boundaries}")
        if any(a > b for a, b in zip(boundaries, boundaries[1:])):
            raise ValueError(f"boundaries must be a sorted list. boundaries: {boundaries}")
        different = [a for a, b in zip(boundaries, boundaries[1:]) if a != b]
        return super().__new__(cls, source_column, (*different, boundaries[-1]))

    @property
    def name(self):
        return f"{self.source_column.name}_bucketized"

    @property
    def length(self):
        return len(self.boundaries) + 1

    @property
    def config(self):
        return self.source_column.config

    @property
    def _num_buckets(self):
        return self.length * self.source_column.dimension

    @property
    def _variable_shape(self):
        return tensor_shape.TensorShape([self._num_buckets])

    def _features(self, inputs):
        tensor = inputs.get(self.source_column)
        return math_ops._bucketize(tensor, boundaries=list(self.boundaries), name="bucketize")

    def _to_dnn_input_layer(self, input_tensor, weight_collections=None, trainable=True, output_rank=2):
        if output_rank != 2:
            raise ValueError("BucketizedColumn currently only supports output_rank=2")
        ids = math_ops.cast(input_tensor, dtypes.int64)
        one_hot = array_ops.one_hot(ids, self.length, 1.0, 0.0, name="one_hot")
        return array_ops.reshape(one_hot, [-1, self._num_buckets], name="reshape")

    def to_sparse_tensor(self, input_tensor):
        """The buckets as ids; each dimension has ids of its own."""
        dimension = self.source_column.dimension
        batch = array_ops.shape(input_tensor, name="shape")[0]
        if dimension > 1:
            rows = array_ops.expand_dims(math_ops.range(0, batch), 1, name="expand_dims")
            rows = array_ops.reshape(array_ops.tile(rows, [1, dimension], name="tile"), [-1], name="reshape")
            places = array_ops.tile(math_ops.range(0, dimension), [batch], name="tile")
            ids = array_ops.reshape(input_tensor, [-1], name="reshape") + self.length * places
        else:
            rows = math_ops.range(0, batch)
            places = array_ops.zeros([batch], dtype=dtypes.int32, name="zeros")
            ids = array_ops.reshape(input_tensor, [-1], name="reshape")
        indices = math_ops.cast(array_ops.transpose(array_ops.stack((rows, places))), dtypes.int64)
        shape = math_ops.cast(array_ops.stack([batch, dimension]), dtypes.int64)
        return _SparseTensor(indices, ids, shape)

    def _wide_embedding_lookup_arguments(self, input_tensor):
        zeros = init_ops.zeros_initializer()
        return _LinearLookup(self.to_sparse_tensor(input_tensor), None, self._num_buckets, zeros, "sum")

    def _get_sparse_tensors(self, inputs, weight_collections=None, trainable=None):
        return fc_core._CategoricalColumn.IdWeightPair(self.to_sparse_tensor(inputs.get(self)), None)

    def _get_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        return self._to_dnn_input_layer(inputs.get(self), weight_collections, trainable)


def bucketized_column(source_column, boundaries):
    """The ranges between sorted boundaries in which the numbers of a real_valued_column are, as ids."""
    return _BucketizedColumn(source_column, boundaries)


# ---- Parsing ----


def _get_feature_config(feature_column):
    if not isinstance(feature_column, _FeatureColumn):
        raise TypeError(
            "feature_columns should only contain instances of _FeatureColumn. "
            f"Given column is {feature_column}"
        )
    return feature_column.config


def create_feature_spec_for_parsing(feature_columns):
    """A dict for parse_example: how to read the features that the columns, or the values of a dict, need."""
    if isinstance(feature_columns, dict):
        feature_columns = feature_columns.values()
    spec = {}
    for column in feature_columns:
        spec.update(_get_feature_config(column))
    return spec


def _create_sequence_feature_spec_for_parsing(sequence_feature_columns, allow_missing_by_default=False):
    """A dict for parse_single_sequence_example."""
    spec = {}
    for key, feature in create_feature_spec_for_parsing(sequence_feature_columns).items():
        if not isinstance(feature, parsing_ops.VarLenFeature):
            has_default = feature.default_value is not None
            if has_default:
                logging.warning(
                    'Found default value {} for feature "{}". Ignoring this value and setting '
                    "`allow_missing=True` instead.".format(feature.default_value, key)
                )
            feature = parsing_ops.FixedLenSequenceFeature(
                shape=feature.shape,
                dtype=feature.dtype,
                allow_missing=allow_missing_by_default or has_default,
            )
        spec[key] = feature
    return spec


def make_place_holder_tensors_for_base_features(feature_columns):
    """A dict of placeholders, sparse or [batch, size], for the features that the columns need."""
    return {
        name: array_ops.sparse_placeholder(feature.dtype, name=f"Placeholder_{name}")
        if isinstance(feature, parsing_ops.VarLenFeature)
        else array_ops.placeholder(feature.dtype, shape=(None, feature.shape[0]), name=f"Placeholder_{name}")
        for name, feature in create_feature_spec_for_parsing(feature_columns).items()
    }
