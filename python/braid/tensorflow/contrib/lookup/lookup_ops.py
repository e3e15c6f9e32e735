"""Tables under their names in tf.contrib.lookup; they are those of tf.lookup."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.ops import lookup_ops
from braid.tensorflow.python.ops.lookup_ops import FastHashSpec
from braid.tensorflow.python.ops.lookup_ops import HasherSpec
from braid.tensorflow.python.ops.lookup_ops import IdTableWithHashBuckets
from braid.tensorflow.python.ops.lookup_ops import KeyValueTensorInitializer
from braid.tensorflow.python.ops.lookup_ops import LookupInterface
from braid.tensorflow.python.ops.lookup_ops import MutableHashTable
from braid.tensorflow.python.ops.lookup_ops import StrongHashSpec
from braid.tensorflow.python.ops.lookup_ops import TableInitializerBase
from braid.tensorflow.python.ops.lookup_ops import TextFileIdTableInitializer
from braid.tensorflow.python.ops.lookup_ops import TextFileIndex
from braid.tensorflow.python.ops.lookup_ops import TextFileInitializer
from braid.tensorflow.python.ops.lookup_ops import TextFileStringTableInitializer
from braid.tensorflow.python.ops.lookup_ops import index_table_from_file
from braid.tensorflow.python.ops.lookup_ops import index_to_string_table_from_file
from braid.tensorflow.python.ops.lookup_ops import tables_initializer


def index_table_from_tensor(
    mapping, num_oov_buckets=0, default_value=-1, hasher_spec=FastHashSpec, dtype=dtypes.string, name=None
):
    """A table from the words of a vector to their places in it."""
    if mapping is None:
        raise ValueError("mapping must be specified.")
    return lookup_ops.index_table_from_tensor(
        mapping, num_oov_buckets, default_value, hasher_spec, dtype, name
    )


def index_to_string_table_from_tensor(mapping, default_value="UNK", name=None):
    """A table from places in a vector to the words there."""
    if mapping is None:
        raise ValueError("mapping must be specified.")
    return lookup_ops.index_to_string_table_from_tensor(mapping, default_value, name)


def string_to_index_table_from_file(
    vocabulary_file=None,
    num_oov_buckets=0,
    vocab_size=None,
    default_value=-1,
    hasher_spec=FastHashSpec,
    name=None,
):
    """index_table_from_file under its old name."""
    return index_table_from_file(
        vocabulary_file, num_oov_buckets, vocab_size, default_value, hasher_spec, name=name
    )


def string_to_index_table_from_tensor(
    mapping, num_oov_buckets=0, default_value=-1, hasher_spec=FastHashSpec, name=None
):
    """index_table_from_tensor under its old name."""
    return index_table_from_tensor(mapping, num_oov_buckets, default_value, hasher_spec, name=name)


def string_to_index(tensor, mapping, default_value=-1, name=None):
    """The places of words in a vector."""
    return index_table_from_tensor(mapping, default_value=default_value, name=name).lookup(tensor)


def index_to_string(tensor, mapping, default_value="UNK", name=None):
    """The words at places of a vector."""
    return index_to_string_table_from_tensor(mapping, default_value, name).lookup(tensor)


class HashTable(lookup_ops.StaticHashTable):
    """A table whose content an initializer gives.

    shared_name: tables with it are one, also in sessions that share their resources; None: the node's name.
    """

    def __init__(self, initializer, default_value, shared_name=None, name=None):
        self._given_name = shared_name
        super().__init__(initializer, default_value, name)

    def _name_of_resource(self, initializer):
        return self._given_name


class MutableDenseHashTable(lookup_ops.DenseHashTable):
    """tf.lookup.experimental.DenseHashTable with the arguments that it has had."""

    def __init__(
        self,
        key_dtype,
        value_dtype,
        default_value,
        empty_key,
        deleted_key,
        initial_num_buckets=None,
        shared_name=None,
        name="MutableDenseHashTable",
        checkpoint=True,
    ):
        self._given_name = shared_name or ""
        super().__init__(
            key_dtype,
            value_dtype,
            default_value,
            empty_key,
            deleted_key,
            initial_num_buckets,
            name,
            checkpoint,
        )
