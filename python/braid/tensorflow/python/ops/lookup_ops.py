"""Tables that map keys to values (tf.lookup), and vocabularies."""

import collections
import functools
import uuid

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gen_lookup_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import string_ops
from braid.tensorflow.python.training.tracking import base as trackable
from braid.tensorflow.python.training.tracking import tracking
from braid.tensorflow.python.util import compat
from braid.tensorflow.python.util.tf_export import tf_export


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(gen_lookup_ops, name)


@tf_export(v1=["initialize_all_tables"])
def initialize_all_tables(name="init_all_tables"):
    """tf.tables_initializer under its old name."""
    return tables_initializer(name)


@tf_export(v1=["initializers.tables_initializer", "tables_initializer"])
def tables_initializer(name="init_all_tables"):
    """An operation that initializes all tables of the graph."""
    initializers = ops.get_collection(ops.GraphKeys.TABLE_INITIALIZERS)
    return (
        control_flow_ops.group(*initializers, name=name)
        if initializers
        else control_flow_ops.no_op(name=name)
    )


def check_table_dtypes(table, key_dtype, value_dtype):
    """TypeError: the table's types are others."""
    if key_dtype.base_dtype != table.key_dtype:
        raise TypeError("Invalid key dtype, expected %s but got %s." % (table.key_dtype, key_dtype))
    if value_dtype.base_dtype != table.value_dtype:
        raise TypeError("Invalid value dtype, expected %s but got %s." % (table.value_dtype, value_dtype))


class LookupInterface(trackable.Trackable):
    """A table: `key_dtype` and `value_dtype`, size() and lookup(keys)."""

    def __init__(self, key_dtype, value_dtype):
        self._key_dtype = dtypes.as_dtype(key_dtype)
        self._value_dtype = dtypes.as_dtype(value_dtype)

    def _create_resource(self):
        raise NotImplementedError

    @property
    def key_dtype(self):
        return self._key_dtype

    @property
    def value_dtype(self):
        return self._value_dtype

    @property
    def resource_handle(self):
        return self._resource_handle

    @property
    def name(self):
        """The name of the table's node, without the scopes."""
        raise NotImplementedError

    def size(self, name=None):
        """How many keys there are."""
        raise NotImplementedError

    def lookup(self, keys, name=None):
        """The values of the keys, a Tensor or SparseTensor."""
        raise NotImplementedError


def _short_name(handle):
    return handle.op.name.split("/")[-1]


class InitializableLookupTableBase(LookupInterface):
    """A table that an initializer fills once."""

    def __init__(self, default_value, initializer):
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        with ops.init_scope():
            self._default_value = ops.convert_to_tensor(default_value, dtype=self._value_dtype)
        self._default_value.get_shape().merge_with(tensor_shape.TensorShape([]))
        if isinstance(initializer, TableInitializerBase):
            self._initializer = self._track_trackable(initializer, "_initializer")
        else:
            raise TypeError("a table is filled by a TableInitializerBase, not %r" % (initializer,))
        # Not in a loop or a conditional: tables are initialized by a step of their own.
        with ops.init_scope():
            self._resource_handle = self._create_resource()
            self._init_op = self._initialize()

    def _initialize(self):
        return self._initializer.initialize(self)

    @property
    def default_value(self):
        """The value of keys that are not there."""
        return self._default_value

    @property
    def initializer(self):
        """The operation that fills the table."""
        return self._init_op

    @property
    def init(self):
        return self._init_op

    @property
    def name(self):
        return self._name

    def size(self, name=None):
        with ops.name_scope(name, "%s_Size" % self.name, [self.resource_handle]):
            return gen_lookup_ops.lookup_table_size_v2(self.resource_handle)

    def lookup(self, keys, name=None):
        """The values of the keys, the default value where a key is not there."""
        key_tensor = keys.values if isinstance(keys, sparse_tensor.SparseTensor) else keys
        if dtypes.as_dtype(keys.dtype).base_dtype != self._key_dtype:
            raise TypeError(
                "Signature mismatch. Keys must be dtype %s, got %s." % (self._key_dtype, keys.dtype)
            )
        with ops.name_scope(
            name, "%s_Lookup" % self.name, (self.resource_handle, key_tensor, self._default_value)
        ):
            values = gen_lookup_ops.lookup_table_find_v2(
                self.resource_handle, key_tensor, self._default_value
            )
        values.set_shape(key_tensor.get_shape())
        if isinstance(keys, sparse_tensor.SparseTensor):
            return sparse_tensor.SparseTensor(keys.indices, values, keys.dense_shape)
        return values


InitializableLookupTableBaseV1 = InitializableLookupTableBase


@tf_export(v1=["lookup.StaticHashTable"])
class StaticHashTable(InitializableLookupTableBase):
    """A table whose content an initializer gives; other keys have the default value."""

    def __init__(self, initializer, default_value, name=None):
        self._initializer = initializer
        self._default_value = default_value
        self._shared_name = self._name_of_resource(initializer)
        self._name = name or "hash_table"
        self._table_name = None
        super().__init__(default_value, initializer)
        self._value_shape = self._default_value.get_shape()

    def _name_of_resource(self, initializer):
        """The shared_name of the node: tables of one process that have it are one."""
        return initializer._shared_name or "hash_table_%s" % uuid.uuid4()

    def _create_resource(self):
        handle = gen_lookup_ops.hash_table_v2(
            shared_name=self._shared_name,
            key_dtype=self._initializer.key_dtype,
            value_dtype=self._initializer.value_dtype,
            name=self._name,
        )
        self._table_name = _short_name(handle)
        return handle

    @property
    def name(self):
        return self._table_name

    def export(self, name=None):
        """All keys and values, in no particular order."""
        with ops.name_scope(name, "%s_Export" % self.name, [self.resource_handle]):
            keys, values = gen_lookup_ops.lookup_table_export_v2(
                self.resource_handle, self._key_dtype, self._value_dtype
            )
        values.set_shape(keys.get_shape().concatenate(self._value_shape))
        return keys, values


StaticHashTableV1 = StaticHashTable


class HashTable(StaticHashTable):
    """tf.lookup.StaticHashTable under its old name, with the operation `init`."""


# ---- What tables are filled with ----


class TableInitializerBase(trackable.Trackable):
    """What fills a table: `key_dtype`, `value_dtype` and initialize(table)."""

    def __init__(self, key_dtype, value_dtype):
        self._key_dtype = dtypes.as_dtype(key_dtype)
        self._value_dtype = dtypes.as_dtype(value_dtype)

    @property
    def key_dtype(self):
        return self._key_dtype

    @property
    def value_dtype(self):
        return self._value_dtype

    def initialize(self, table):
        """The operation that fills the table."""
        raise NotImplementedError

    @property
    def _shared_name(self):
        """The name under which tables with the same content are one; None: there is none."""
        return None


@tf_export("lookup.KeyValueTensorInitializer")
class KeyValueTensorInitializer(TableInitializerBase):
    """Keys and values from two tensors."""

    def __init__(self, keys, values, key_dtype=None, value_dtype=None, name=None):
        with ops.init_scope():
            self._keys = ops.convert_to_tensor(keys, dtype=key_dtype, name="keys")
            self._values = ops.convert_to_tensor(values, dtype=value_dtype, name="values")
        self._name = name if name is not None else "key_value_init"
        super().__init__(self._keys.dtype, self._values.dtype)

    def initialize(self, table):
        check_table_dtypes(table, self._keys.dtype, self._values.dtype)
        with ops.name_scope(self._name, values=(table.resource_handle, self._keys, self._values)):
            made = gen_lookup_ops.lookup_table_import_v2(table.resource_handle, self._keys, self._values)
        ops.add_to_collection(ops.GraphKeys.TABLE_INITIALIZERS, made)
        return made


@tf_export("lookup.TextFileIndex")
class TextFileIndex:
    """What of a line of a text file is meant: the whole line, or its number."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


def _file_text(filename):
    """The name of a file as text: of a tensor its value where it is known, else the tensor's own name."""
    if not isinstance(filename, ops.Tensor):
        return filename
    known = tensor_util.constant_value(filename)
    return filename.name if known is None else compat.as_text(known.item())


@tf_export("lookup.TextFileInitializer")
class TextFileInitializer(TableInitializerBase):
    """Keys and values from the lines of a file: a column (from 0), the whole line or its number."""

    def __init__(
        self,
        filename,
        key_dtype,
        key_index,
        value_dtype,
        value_index,
        vocab_size=None,
        delimiter="\t",
        name=None,
    ):
        if not isinstance(filename, ops.Tensor) and not filename:
            raise ValueError("Filename required for %s." % name)
        key_dtype, value_dtype = dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype)
        for what, index, dtype, allowed in (
            ("Key", key_index, key_dtype, (dtypes.string, dtypes.int64)),
            ("Value", value_index, value_dtype, (dtypes.string,)),
        ):
            if index < -2:
                raise ValueError("Invalid %s index %s." % (what.lower(), index))
            if index == TextFileIndex.LINE_NUMBER and dtype != dtypes.int64:
                raise ValueError(
                    "Signature mismatch. %s must be dtype %s, got %s." % (what + "s", dtypes.int64, dtype)
                )
            if index == TextFileIndex.WHOLE_LINE and dtype not in allowed:
                raise ValueError(
                    "Signature mismatch. %s must be dtype %s, got %s." % (what + "s", dtypes.string, dtype)
                )
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError("Invalid vocab_size %s." % vocab_size)
        self._key_index = key_index
        self._value_index = value_index
        self._vocab_size = vocab_size
        self._delimiter = delimiter
        self._name = name
        self._filename_arg = filename
        self._filename = self._track_trackable(tracking.TrackableAsset(filename), "_filename")
        super().__init__(key_dtype, value_dtype)

    @property
    def _shared_name(self):
        size = "" if self._vocab_size is None else "%s_" % self._vocab_size
        file = _file_text(self._filename_arg)
        return "hash_table_%s_%s%s_%s" % (file, size, self._key_index, self._value_index)

    def initialize(self, table):
        check_table_dtypes(table, self.key_dtype, self.value_dtype)
        with ops.name_scope(self._name, "text_file_init", [table.resource_handle]):
            filename = self._filename.asset_path
            made = gen_lookup_ops.initialize_table_from_text_file_v2(
                table.resource_handle,
                filename,
                self._key_index,
                self._value_index,
                -1 if self._vocab_size is None else self._vocab_size,
                self._delimiter,
            )
        ops.add_to_collection(ops.GraphKeys.TABLE_INITIALIZERS, made)
        if filename.op.type == "Const":  # saved models take the file along
            ops.add_to_collection(ops.GraphKeys.ASSET_FILEPATHS, filename)
        return made


class TextFileStringTableInitializer(TextFileInitializer):
    """Strings by the number of their line."""

    def __init__(
        self,
        filename,
        key_column_index=TextFileIndex.LINE_NUMBER,
        value_column_index=TextFileIndex.WHOLE_LINE,
        vocab_size=None,
        delimiter="\t",
        name="text_file_string_table_init",
    ):
        super().__init__(
            filename,
            dtypes.int64,
            key_column_index,
            dtypes.string,
            value_column_index,
            vocab_size=vocab_size,
            delimiter=delimiter,
            name=name,
        )


class TextFileIdTableInitializer(TextFileInitializer):
    """The numbers of lines by the string in them."""

    def __init__(
        self,
        filename,
        key_column_index=TextFileIndex.WHOLE_LINE,
        value_column_index=TextFileIndex.LINE_NUMBER,
        vocab_size=None,
        delimiter="\t",
        name="text_file_id_table_init",
        key_dtype=dtypes.string,
    ):
        super().__init__(
            filename,
            key_dtype,
            key_column_index,
            dtypes.int64,
            value_column_index,
            vocab_size=vocab_size,
            delimiter=delimiter,
            name=name,
        )


# ---- Vocabularies with buckets for other words ----


class HasherSpec(collections.namedtuple("HasherSpec", ["hasher", "key"])):
    """A hash function: its name, and a key of two integers or None."""

    __slots__ = ()


FastHashSpec = HasherSpec("fasthash", None)
LegacyHashSpec = HasherSpec("legacy", None)


class StrongHashSpec(HasherSpec):
    """A hash that nobody without the key, two integers, can foresee."""

    __slots__ = ()

    def __new__(cls, key):
        if len(key) != 2:
            raise ValueError("key must have size 2, got %s." % len(key))
        if not all(isinstance(k, int) for k in key):
            raise TypeError("Invalid key %s. Must be unsigned integer values." % (key,))
        return super().__new__(cls, "stronghash", key)


def _as_string(tensor):
    return tensor if tensor.dtype == dtypes.string else string_ops.as_string(tensor)


class IdTableWithHashBuckets(LookupInterface):
    """A table of numbers from 0, and further numbers, by a hash, for keys that are not in it."""

    def __init__(self, table, num_oov_buckets, hasher_spec=FastHashSpec, name=None, key_dtype=None):
        if name:
            name = name.rstrip("/")
        if table:
            key_dtype = table.key_dtype if key_dtype is None else key_dtype
            if table.key_dtype not in (dtypes.string, dtypes.int64):
                raise TypeError(
                    "Invalid key dtype, expected one of %s, but got %s."
                    % ((dtypes.int64, dtypes.string), key_dtype)
                )
            if table.value_dtype != dtypes.int64:
                raise TypeError(
                    "Invalid value dtype: expected %s but got %s." % (dtypes.int64, table.value_dtype)
                )
        else:
            key_dtype = dtypes.string if key_dtype is None else dtypes.as_dtype(key_dtype)
            if not key_dtype.is_integer and key_dtype != dtypes.string:
                raise TypeError("Invalid key_dtype, expected integer or string, got %s." % key_dtype)
            if num_oov_buckets <= 0:
                raise ValueError("oov_buckets must be > 0 if no table is supplied.")
            name = name or "hash_bucket"
        if not isinstance(hasher_spec, HasherSpec):
            raise TypeError("hasher_spec must be of type HasherSpec, got %s" % type(hasher_spec))
        self._table = table
        self._num_oov_buckets = num_oov_buckets
        self._hasher_spec = hasher_spec
        self._table_name = name or table.name.split("/")[-1]
        super().__init__(key_dtype, dtypes.int64)

    @property
    def initializer(self):
        if self._table is not None:
            return self._table.initializer
        with ops.name_scope(None, "initialize_hash_buckets"):
            return control_flow_ops.no_op()

    @property
    def init(self):
        return self.initializer

    @property
    def resource_handle(self):
        return None if self._table is None else self._table.resource_handle

    @property
    def name(self):
        return self._table_name

    def size(self, name=None):
        """The number of keys and of buckets."""
        with ops.name_scope(name, "%s_Size" % self.name):
            count = self._table.size() if self._table else ops.convert_to_tensor(0, dtype=dtypes.int64)
            return count + self._num_oov_buckets

    def _hash(self, values):
        spec = self._hasher_spec
        if spec.hasher == "fasthash":
            return string_ops.string_to_hash_bucket_fast(
                values, num_buckets=self._num_oov_buckets, name="hash_bucket"
            )
        if spec.hasher == "legacy":
            return string_ops.string_to_hash_bucket(
                values, num_buckets=self._num_oov_buckets, name="hash_bucket"
            )
        if spec.hasher == "stronghash":
            return string_ops.string_to_hash_bucket_strong(
                values, num_buckets=self._num_oov_buckets, key=spec.key, name="hash_bucket"
            )
        raise ValueError("Unknown hasher %s" % spec.hasher)

    def lookup(self, keys, name=None):
        """The keys' numbers; those of buckets come after the table's."""
        if dtypes.as_dtype(keys.dtype).base_dtype != self._key_dtype:
            raise TypeError(
                "Signature mismatch. Keys must be dtype %s, got %s." % (self._key_dtype, keys.dtype)
            )
        values = keys.values if isinstance(keys, sparse_tensor.SparseTensor) else keys
        if self._table and self._table.key_dtype.base_dtype == dtypes.int64:
            values = math_ops.cast(values, dtypes.int64)
        if self._num_oov_buckets == 0:
            ids = self._table.lookup(values, name=name)
        else:
            with ops.name_scope(name, "%s_Lookup" % self.name):
                buckets = self._hash(_as_string(values))
                if self._table:
                    ids = self._table.lookup(values)
                    buckets = math_ops.add(buckets, self._table.size())
                    is_known = math_ops.not_equal(ids, self._table.default_value)
                    ids = array_ops.where(is_known, ids, buckets)
                else:
                    ids = buckets
        if isinstance(keys, sparse_tensor.SparseTensor):
            return sparse_tensor.SparseTensor(keys.indices, ids, keys.dense_shape)
        return ids


@tf_export(v1=["lookup.StaticVocabularyTable"])
class StaticVocabularyTable(IdTableWithHashBuckets):
    """Numbers of words, and buckets, by a hash, for those that are not in the vocabulary."""

    def __init__(self, initializer, num_oov_buckets, lookup_key_dtype=None, name=None):
        if num_oov_buckets <= 0:
            raise ValueError("oov_buckets must be > 0.")
        table = None
        if initializer:
            if initializer.value_dtype != dtypes.int64:
                raise TypeError(
                    "Invalid value dtype, expected %s but got %s." % (dtypes.int64, initializer.value_dtype)
                )
            if initializer.key_dtype not in (dtypes.string, dtypes.int64):
                raise TypeError(
                    "Invalid key dtype, expected one of %s, but got %s."
                    % ((dtypes.int64, dtypes.string), initializer.key_dtype)
                )
            table = HashTable(initializer, default_value=-1)
        super().__init__(table, num_oov_buckets, name=name, key_dtype=lookup_key_dtype)


StaticVocabularyTableV1 = StaticVocabularyTable


def index_table_from_file(
    vocabulary_file=None,
    num_oov_buckets=0,
    vocab_size=None,
    default_value=-1,
    hasher_spec=FastHashSpec,
    key_dtype=dtypes.string,
    name=None,
    key_column_index=TextFileIndex.WHOLE_LINE,
    value_column_index=TextFileIndex.LINE_NUMBER,
    delimiter="\t",
):
    """A table from the words of a file to the numbers of their lines."""
    if vocabulary_file is None or (isinstance(vocabulary_file, (str, bytes)) and not vocabulary_file):
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    if num_oov_buckets < 0:
        raise ValueError("num_oov_buckets must be greater or equal than 0, got %d." % num_oov_buckets)
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(
            "vocab_size must be greater than 0, got %d. vocabulary_file: %s"
            % (vocab_size, _file_text(vocabulary_file))
        )
    if (not key_dtype.is_integer) and dtypes.string != key_dtype.base_dtype:
        raise TypeError("Only integer and string keys are supported.")
    with ops.name_scope(name, "string_to_index"):
        with ops.name_scope(None, "hash_table"):
            initializer = TextFileIdTableInitializer(
                vocabulary_file,
                vocab_size=vocab_size,
                key_dtype=dtypes.int64 if key_dtype.is_integer else key_dtype,
                name="table_init",
                key_column_index=key_column_index,
                value_column_index=value_column_index,
                delimiter=delimiter,
            )
            table = HashTable(initializer, default_value)
        if num_oov_buckets:
            table = IdTableWithHashBuckets(
                table, num_oov_buckets=num_oov_buckets, hasher_spec=hasher_spec, key_dtype=key_dtype
            )
        return table


def index_table_from_tensor(
    vocabulary_list,
    num_oov_buckets=0,
    default_value=-1,
    hasher_spec=FastHashSpec,
    dtype=dtypes.string,
    name=None,
):
    """A table from the words of a vector to their places in it."""
    if vocabulary_list is None:
        raise ValueError("vocabulary_list must be specified.")
    if num_oov_buckets < 0:
        raise ValueError("num_oov_buckets must be greater or equal than 0, got %d." % num_oov_buckets)
    if (not dtype.is_integer) and dtypes.string != dtype.base_dtype:
        raise TypeError("Only integer and string keys are supported.")
    with ops.name_scope(name, "string_to_index"):
        keys = ops.convert_to_tensor(vocabulary_list)
        if keys.dtype.is_integer != dtype.is_integer:
            raise ValueError(
                "Expected %s, got %s." % ("integer" if dtype.is_integer else "non-integer", keys.dtype)
            )
        if not dtype.is_integer and keys.dtype.base_dtype != dtype:
            raise ValueError("Expected %s, got %s." % (dtype, keys.dtype))
        count = array_ops.size(keys)
        values = math_ops.cast(math_ops.range(count), dtypes.int64)
        with ops.name_scope(None, "hash_table"):
            keys = math_ops.cast(keys, dtypes.int64) if keys.dtype.is_integer else keys
            initializer = KeyValueTensorInitializer(
                keys, values, keys.dtype.base_dtype, dtypes.int64, name="table_init"
            )
            table = HashTable(initializer, default_value)
        if num_oov_buckets:
            table = IdTableWithHashBuckets(
                table, num_oov_buckets=num_oov_buckets, hasher_spec=hasher_spec, key_dtype=dtype
            )
        return table


def index_to_string_table_from_file(
    vocabulary_file,
    vocab_size=None,
    default_value="UNK",
    name=None,
    key_column_index=TextFileIndex.LINE_NUMBER,
    value_column_index=TextFileIndex.WHOLE_LINE,
    delimiter="\t",
):
    """A table from numbers of lines of a file to the words in them."""
    if vocabulary_file is None or (isinstance(vocabulary_file, (str, bytes)) and not vocabulary_file):
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(
            "vocab_size must be greater than 0, got %d. vocabulary_file: %s"
            % (vocab_size, _file_text(vocabulary_file))
        )
    with ops.name_scope(name, "index_to_string"):
        initializer = TextFileStringTableInitializer(
            vocabulary_file,
            vocab_size=vocab_size,
            name="table_init",
            key_column_index=key_column_index,
            value_column_index=value_column_index,
            delimiter=delimiter,
        )
        return HashTable(initializer, default_value)


def index_to_string_table_from_tensor(vocabulary_list, default_value="UNK", name=None):
    """A table from places in a vector to the words there."""
    if vocabulary_list is None:
        raise ValueError("vocabulary_list must be specified.")
    with ops.name_scope(name, "index_to_string"):
        words = ops.convert_to_tensor(vocabulary_list, dtypes.string)
        keys = math_ops.cast(math_ops.range(array_ops.size(words)), dtypes.int64)
        initializer = KeyValueTensorInitializer(keys, words, dtypes.int64, dtypes.string, name="table_init")
        return HashTable(initializer, default_value)


# ---- Tables that steps change ----


def _saveable(table, name):
    """What a Saver saves of a table: its keys and values."""
    from braid.tensorflow.python.training import saver

    class Saveable(saver.BaseSaverBuilder.SaveableObject):
        def __init__(self):
            keys, values = table.export()
            specs = [
                saver.BaseSaverBuilder.SaveSpec(keys, "", name + "-keys"),
                saver.BaseSaverBuilder.SaveSpec(values, "", name + "-values"),
            ]
            super().__init__(table, specs, name)

        def restore(self, restored_tensors, restored_shapes):
            del restored_shapes
            with ops.colocate_with(table.resource_handle):
                return gen_lookup_ops.lookup_table_import_v2(table.resource_handle, *restored_tensors)

    return Saveable()


class _MutableTable(LookupInterface):
    """What both kinds of tables that steps change have in common."""

    @property
    def name(self):
        return self._table_name

    def _checked(self, keys, name):
        if not hasattr(keys, "dtype"):
            keys = ops.convert_to_tensor(keys, self._key_dtype, name=name)
        if dtypes.as_dtype(keys.dtype).base_dtype != self._key_dtype:
            raise TypeError(
                "Signature mismatch. Keys must be dtype %s, got %s." % (self._key_dtype, keys.dtype)
            )
        return keys

    def size(self, name=None):
        with ops.name_scope(name, "%s_Size" % self.name, [self.resource_handle]):
            with ops.colocate_with(self.resource_handle):
                return gen_lookup_ops.lookup_table_size_v2(self.resource_handle)

    def remove(self, keys, name=None):
        """An operation that removes keys, those that are not there without a word."""
        keys = self._checked(keys, "keys")
        with ops.name_scope(
            name, "%s_lookup_table_remove" % self.name, (self.resource_handle, keys, self._default_value)
        ):
            return gen_lookup_ops.lookup_table_remove_v2(self.resource_handle, keys)

    def lookup(self, keys, name=None):
        """The values of the keys, the default value where a key is not there."""
        with ops.name_scope(
            name, "%s_lookup_table_find" % self.name, (self.resource_handle, keys, self._default_value)
        ):
            keys = ops.convert_to_tensor(keys, dtype=self._key_dtype, name="keys")
            with ops.colocate_with(self.resource_handle):
                return gen_lookup_ops.lookup_table_find_v2(self.resource_handle, keys, self._default_value)

    def insert(self, keys, values, name=None):
        """An operation that gives keys values."""
        with ops.name_scope(name, "%s_lookup_table_insert" % self.name, [self.resource_handle, keys, values]):
            keys = ops.convert_to_tensor(keys, self._key_dtype, name="keys")
            values = ops.convert_to_tensor(values, self._value_dtype, name="values")
            with ops.colocate_with(self.resource_handle):
                return gen_lookup_ops.lookup_table_insert_v2(self.resource_handle, keys, values)

    def export(self, name=None):
        """All keys and values, in no particular order."""
        with ops.name_scope(name, "%s_lookup_table_export_values" % self.name, [self.resource_handle]):
            with ops.colocate_with(self.resource_handle):
                return gen_lookup_ops.lookup_table_export_v2(
                    self.resource_handle, self._key_dtype, self._value_dtype
                )

    def _gather_saveables_for_checkpoint(self):
        return {"table": functools.partial(_saveable, self, name=self._resource_handle.op.name)}

    def _finish(self, checkpoint):
        self._table_name = _short_name(self._resource_handle)
        if checkpoint:
            # Checkpoints have a table under its name without scopes, as TensorFlow 1.15's. A second table of
            # that name, with which 1.15's Saver fails, is under the name of its node.
            saved = ops.get_collection(ops.GraphKeys.SAVEABLE_OBJECTS)
            is_taken = any(s.name == self._name for s in saved)
            name = self.resource_handle.op.name if is_taken else self._name
            ops.add_to_collection(ops.GraphKeys.SAVEABLE_OBJECTS, _saveable(self, name))


@tf_export("lookup.experimental.MutableHashTable", v1=["lookup.experimental.MutableHashTable"])
class MutableHashTable(_MutableTable):
    """A table that steps change. checkpoint: a Saver saves its content."""

    def __init__(self, key_dtype, value_dtype, default_value, name="MutableHashTable", checkpoint=True):
        super().__init__(key_dtype, value_dtype)
        self._default_value = ops.convert_to_tensor(default_value, dtype=self._value_dtype)
        self._value_shape = self._default_value.get_shape()
        self._checkpoint = checkpoint
        self._name = name
        self._resource_handle = self._create_resource()
        self._finish(checkpoint)

    def _create_resource(self):
        options = dict(
            use_node_name_sharing=self._checkpoint,
            key_dtype=self._key_dtype,
            value_dtype=self._value_dtype,
            name=self._name,
        )
        if self._value_shape.ndims == 0:
            return gen_lookup_ops.mutable_hash_table_v2(**options)
        return gen_lookup_ops.mutable_hash_table_of_tensors_v2(value_shape=self._value_shape, **options)


@tf_export("lookup.experimental.DenseHashTable", v1=["lookup.experimental.DenseHashTable"])
class DenseHashTable(_MutableTable):
    """A table that steps change, in an array: `empty_key` and `deleted_key` are never keys."""

    _given_name = ""  # the shared_name of the node, which tf.contrib.lookup takes

    def __init__(
        self,
        key_dtype,
        value_dtype,
        default_value,
        empty_key,
        deleted_key,
        initial_num_buckets=None,
        name="MutableDenseHashTable",
        checkpoint=True,
    ):
        super().__init__(key_dtype, value_dtype)
        self._default_value = ops.convert_to_tensor(
            default_value, dtype=self._value_dtype, name="default_value"
        )
        self._empty_key = ops.convert_to_tensor(empty_key, dtype=self._key_dtype, name="empty_key")
        self._deleted_key = ops.convert_to_tensor(deleted_key, dtype=self._key_dtype, name="deleted_key")
        self._value_shape = self._default_value.get_shape()
        self._initial_num_buckets = 131072 if initial_num_buckets is None else initial_num_buckets
        self._checkpoint = checkpoint
        self._name = name
        self._resource_handle = self._create_resource()
        self._finish(checkpoint)

    def _create_resource(self):
        return gen_lookup_ops.mutable_dense_hash_table_v2(
            empty_key=self._empty_key,
            deleted_key=self._deleted_key,
            shared_name=self._given_name,
            use_node_name_sharing=self._checkpoint and not self._given_name,
            value_dtype=self._value_dtype,
            value_shape=self._value_shape,
            initial_num_buckets=self._initial_num_buckets,
            name=self._name,
        )

    def insert_or_assign(self, keys, values, name=None):
        """An operation that gives keys values."""
        return self.insert(keys, values, name)

    def erase(self, keys, name=None):
        """An operation that removes keys."""
        return self.remove(keys, name)
