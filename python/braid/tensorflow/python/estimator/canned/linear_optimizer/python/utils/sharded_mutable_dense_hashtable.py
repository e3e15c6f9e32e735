"""A table of vectors in several parts, which may be on several tasks."""

from braid.tensorflow.contrib.lookup.lookup_ops import MutableDenseHashTable
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import data_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.framework import dtypes


class _ShardedMutableDenseHashTable:
    """`num_shards` tables: a key is in that of the remainder of its first element.

    The tables' arguments are MutableDenseHashTable's.
    """

    def __init__(
        self,
        key_dtype,
        value_dtype,
        default_value,
        empty_key,
        deleted_key,
        num_shards=1,
        checkpoint=True,
        name="ShardedMutableHashTable",
    ):
        self._key_dtype = key_dtype
        self._value_dtype = value_dtype
        with ops.name_scope(name, "sharded_mutable_hash_table") as scope:
            self._table_name = scope
            self._table_shards = [
                MutableDenseHashTable(
                    key_dtype=key_dtype,
                    value_dtype=value_dtype,
                    default_value=default_value,
                    empty_key=empty_key,
                    deleted_key=deleted_key,
                    checkpoint=checkpoint,
                    name=f"{name}-{i + 1}-of-{num_shards}",
                )
                for i in range(num_shards)
            ]
        self._value_shape = self._table_shards[0]._value_shape

    @property
    def name(self):
        return self._table_name

    @property
    def _num_shards(self):
        return len(self._table_shards)

    @property
    def table_shards(self):
        return self._table_shards

    def size(self, name=None):
        """The number of keys in all parts."""
        with ops.name_scope(name, "sharded_mutable_hash_table_size"):
            return math_ops.add_n([table.size() for table in self._table_shards])

    def _shard_indices(self, keys):
        if keys.get_shape().ndims > 1:
            keys = array_ops.reshape(array_ops.slice(keys, [0, 0], [-1, 1]), [-1])
        return math_ops.cast(math_ops.mod(math_ops.abs(keys), self._num_shards), dtypes.int32)

    def _check_keys(self, keys):
        if keys.get_shape().ndims not in (1, 2):
            raise ValueError(f"Expected a vector or matrix for keys, got {keys.get_shape()}.")

    def lookup(self, keys, name=None):
        """The values of `keys`, or the default value."""
        if keys.dtype.base_dtype != self._key_dtype:
            raise TypeError(f"Signature mismatch. Keys must be dtype {self._key_dtype}, got {keys.dtype}.")
        self._check_keys(keys)
        count = self._num_shards
        if count == 1:
            return self._table_shards[0].lookup(keys, name=name)
        shards = self._shard_indices(keys)
        parts = data_flow_ops.dynamic_partition(keys, shards, count)
        values = [table.lookup(part, name=name) for table, part in zip(self._table_shards, parts)]
        places = data_flow_ops.dynamic_partition(math_ops.range(array_ops.shape(keys)[0]), shards, count)
        return data_flow_ops.dynamic_stitch(places, values)

    def insert(self, keys, values, name=None):
        """An operation that gives `keys` values."""
        self._check_keys(keys)
        count = self._num_shards
        if count == 1:
            return self._table_shards[0].insert(keys, values, name=name)
        shards = self._shard_indices(keys)
        key_parts = data_flow_ops.dynamic_partition(keys, shards, count)
        value_parts = data_flow_ops.dynamic_partition(values, shards, count)
        return control_flow_ops.group(
            *[
                table.insert(part, of_part, name=name)
                for table, part, of_part in zip(self._table_shards, key_parts, value_parts)
            ]
        )

    def export_sharded(self, name=None):
        """Two lists: the keys of each part, and the values of each."""
        exports = [table.export(name=name) for table in self._table_shards]
        return [keys for keys, _ in exports], [values for _, values in exports]
