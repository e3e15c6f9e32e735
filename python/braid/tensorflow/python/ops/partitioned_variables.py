"""How variables are divided (tf.fixed_size_partitioner and its kind), for the `partitioner` of scopes."""

import math

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["variable_axis_size_partitioner"])
def variable_axis_size_partitioner(max_shard_bytes, axis=0, bytes_per_string_element=16, max_shards=None):
    """Divides `axis` so that no part has more than `max_shard_bytes`, if `max_shards` allow."""
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError("Both max_shard_bytes and bytes_per_string_element must be positive.")
    if max_shards and max_shards < 1:
        raise ValueError(f"max_shards must be positive: {max_shards}")

    def _partitioner(shape, dtype):
        sizes, element = _checked(shape, dtype, axis, bytes_per_string_element)
        partitions = [1] * len(sizes)
        row = math.prod(sizes) // max(sizes[axis], 1) * element
        rows = max(1, math.floor(max_shard_bytes / max(row, 1)))
        shards = math.ceil(sizes[axis] / rows)
        partitions[axis] = max(1, min(shards, max_shards or shards))
        return partitions

    return _partitioner


@tf_export(v1=["min_max_variable_partitioner"])
def min_max_variable_partitioner(
    max_partitions=1, axis=0, min_slice_size=256 << 10, bytes_per_string_element=16
):
    """Divides `axis` into at most `max_partitions`, none smaller than `min_slice_size` bytes."""

    def _partitioner(shape, dtype):
        sizes, element = _checked(shape, dtype, axis, bytes_per_string_element)
        partitions = [1] * len(sizes)
        whole = math.prod(sizes) * element / min_slice_size
        partitions[axis] = max(1, min(sizes[axis], max_partitions, math.ceil(whole)))
        return partitions

    return _partitioner


@tf_export(v1=["fixed_size_partitioner"])
def fixed_size_partitioner(num_shards, axis=0):
    """Divides `axis` into `num_shards` parts, or into as many as it has elements."""

    def _partitioner(shape, **unused):
        partitions = [1] * len(shape)
        partitions[axis] = min(num_shards, tensor_shape.dimension_value(shape.dims[axis]))
        return partitions

    return _partitioner


def _checked(shape, dtype, axis, bytes_per_string_element):
    """The sizes of the axes and the bytes of an element."""
    if axis >= len(shape):
        raise ValueError(f"Cannot partition variable along axis {axis} when shape is only {shape}")
    if not shape.is_fully_defined():
        raise ValueError(f"Cannot partition a variable of unknown shape: {shape}")
    dtype = dtypes.as_dtype(dtype)
    return shape.as_list(), bytes_per_string_element if dtype == dtypes.string else dtype.size


@tf_export(v1=["create_partitioned_variables"])
def create_partitioned_variables(
    shape,
    slicing,
    initializer,
    dtype=dtypes.float32,
    trainable=True,
    collections=None,
    name=None,
    reuse=None,
):
    """The list of the parts of a variable. `slicing` says in how many each axis is divided."""
    if len(shape) != len(slicing):
        raise ValueError(
            f"The 'shape' and 'slicing' of a partitioned Variable must have the length: shape: {shape}, "
            f"slicing: {slicing}"
        )
    if len(shape) < 1:
        raise ValueError(f"A partitioned Variable must have rank at least 1: shape: {shape}")

    def partitioner(**unused):
        return slicing

    with variable_scope.variable_scope(name, "PartitionedVariable", reuse=reuse):
        return variable_scope._get_partitioned_variable(
            name=None,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            trainable=trainable,
            partitioner=partitioner,
            collections=collections,
        )._get_variable_list()
