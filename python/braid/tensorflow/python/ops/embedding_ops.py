"""Rows of tables by their numbers: tables in one piece or in partitions, lists of numbers in
SparseTensors."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import clip_ops
from braid.tensorflow.python.ops import gen_data_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import resource_variable_ops
from braid.tensorflow.python.ops import sparse_ops
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.util.tf_export import tf_export


def _is_resource_variable(params):
    return resource_variable_ops.is_resource_variable(params)


def _clip(params, ids, max_norm):
    """The rows, of norm `max_norm` at most."""
    if max_norm is None:
        return params
    ids_rank, params_rank = ids.get_shape().ndims, params.get_shape().ndims
    if ids_rank is None or params_rank is None:
        axes = math_ops.range(array_ops.rank(ids), array_ops.rank(params))
    else:
        axes = list(range(ids_rank, params_rank))
    return clip_ops.clip_by_norm(params, max_norm, axes=axes)


def _partitions(params):
    if isinstance(params, variables.PartitionedVariable):
        return list(params)
    if isinstance(params, (list, tuple)):
        return list(params)
    return [params]


def _assignments(flat, params, strategy):
    """The partition of each id, and the row in it."""
    count = len(params)
    if strategy == "mod":
        return flat % count, flat // count
    if strategy != "div":
        raise ValueError("Unrecognized partition strategy: " + strategy)
    sizes = [tensor_shape.dimension_value(p.get_shape()[0]) for p in params]
    if None not in sizes:
        total = constant_op.constant(sum(sizes), flat.dtype)
    else:
        dims = []
        for param, size in zip(params, sizes):
            if size is not None:
                dims.append(size)
                continue
            with ops.colocate_with(param):
                dims.append(array_ops.shape(param)[0])
        total = math_ops.reduce_sum(math_ops.cast(array_ops.stack(dims), flat.dtype))
    each, extras = total // count, total % count
    place = math_ops.maximum(flat // (each + 1), (flat - extras) // each)
    row = array_ops.where(place < extras, flat % (each + 1), (flat - extras) % each)
    return place, row


def _embedding_lookup_and_transform(
    params, ids, partition_strategy="mod", name=None, max_norm=None, transform_fn=None
):
    """The rows, each after transform_fn."""
    if params is None:
        raise ValueError("params must be specified")
    params = _partitions(params)
    if not params:
        raise ValueError("Need at least one param")
    with ops.name_scope(name, "embedding_lookup", params + [ids]) as name:
        if not any(_is_resource_variable(p) or isinstance(p, variables.Variable) for p in params):
            params = ops.convert_n_to_tensor_or_indexed_slices(params, name="params")
        ids = ops.convert_to_tensor(ids, name="ids")
        is_flat = not transform_fn or ids.get_shape().ndims == 1
        if len(params) == 1 and is_flat:
            with ops.colocate_with(params[0]):
                made = _clip(array_ops.gather(params[0], ids, name=name), ids, max_norm)
                if transform_fn:
                    made = transform_fn(made)
            return array_ops.identity(made)  # which is not bound to the table's device
        flat = array_ops.reshape(ids, [-1])
        places = math_ops.range(array_ops.size(flat))
        if len(params) == 1 and transform_fn:
            made = transform_fn(_clip(array_ops.gather(params[0], flat), flat, max_norm))
            return _shaped(made, ids, params, transform_fn)
        which, rows = _assignments(flat, params, partition_strategy)
        which = math_ops.cast(which, dtypes.int32)
        ids_of = gen_data_flow_ops.dynamic_partition(rows, which, len(params))
        places_of = gen_data_flow_ops.dynamic_partition(places, which, len(params))
        parts = []
        for param, part_ids in zip(params, ids_of):
            with ops.colocate_with(param):
                part = array_ops.gather(param, part_ids)
                if transform_fn:
                    part = transform_fn(_clip(part, part_ids, max_norm))
            parts.append(part)
        made = gen_data_flow_ops.parallel_dynamic_stitch(places_of, parts, name=name)
        made = _shaped(made, ids, params, transform_fn)
        return made if transform_fn else _clip(made, ids, max_norm)


def _shaped(made, ids, params, transform_fn):
    """The rows of flat ids in the shape of `ids`."""
    if transform_fn:
        inner = made.get_shape()[1:]
    else:
        inner = params[0].get_shape()[1:]
        for param in params[1:]:
            inner = inner.merge_with(param.get_shape()[1:])
    if inner.is_fully_defined():
        row_shape = inner
    elif transform_fn:
        row_shape = array_ops.shape(made)[1:]
    else:
        with ops.colocate_with(params[0]):
            row_shape = array_ops.shape(params[0])[1:]
    made = array_ops.reshape(made, array_ops.concat([array_ops.shape(ids), row_shape], 0))
    made.set_shape(ids.get_shape().concatenate(inner))
    return made


@tf_export(v1=["nn.embedding_lookup"])
def embedding_lookup(params, ids, partition_strategy="mod", name=None, validate_indices=True, max_norm=None):
    """The rows of a table, [..., n] for ids [...].

    params: the table, or its partitions along the rows. partition_strategy: "mod" has row i in partition i %
    count, "div" has consecutive rows in each. max_norm: longer rows are scaled down.
    """
    return _embedding_lookup_and_transform(
        params, ids, partition_strategy=partition_strategy, name=name, max_norm=max_norm
    )


def embedding_lookup_v2(params, ids, max_norm=None, name=None):
    return embedding_lookup(params, ids, "div", name, max_norm=max_norm)


def _weighted(rows, weights, segments, combiner, name):
    """The combined rows of each segment, where each row has a weight."""
    if weights.dtype != rows.dtype:
        weights = math_ops.cast(weights, rows.dtype)
    ones = array_ops.fill(array_ops.expand_dims(array_ops.rank(rows) - 1, 0), 1)
    column = array_ops.reshape(weights, array_ops.concat([array_ops.shape(weights), ones], 0))
    known = weights.get_shape().ndims
    if known is not None and rows.get_shape().ndims is not None:
        column.set_shape(weights.get_shape().concatenate([1] * (rows.get_shape().ndims - 1)))
    rows = rows * column
    if combiner == "sum":
        return math_ops.segment_sum(rows, segments, name=name)
    total = math_ops.segment_sum(rows, segments)
    if combiner == "mean":
        weight = math_ops.segment_sum(column, segments)
    else:
        weight = math_ops.sqrt(math_ops.segment_sum(math_ops.pow(column, 2), segments))
    return math_ops.div(total, weight, name=name)


@tf_export(v1=["nn.embedding_lookup_sparse"])
def embedding_lookup_sparse(
    params, sp_ids, sp_weights, partition_strategy="mod", name=None, combiner=None, max_norm=None
):
    """For each row of a SparseTensor of ids, the rows of a table that it names, combined.

    sp_weights: their weights, a SparseTensor with the same places, or None. combiner: "sum", "mean" (the
    default: by the sum of the weights) or "sqrtn" (by the square root of the sum of their squares).
    """
    combiner = "mean" if combiner is None else combiner
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError("combiner must be one of 'mean', 'sqrtn' or 'sum'")
    params = _partitions(params)
    if not isinstance(sp_ids, sparse_tensor.SparseTensor):
        raise TypeError("sp_ids must be SparseTensor")
    if sp_weights is not None:
        if not isinstance(sp_weights, sparse_tensor.SparseTensor):
            raise TypeError("sp_weights must be either None or SparseTensor")
        sp_ids.values.get_shape().assert_is_compatible_with(sp_weights.values.get_shape())
        sp_ids.indices.get_shape().assert_is_compatible_with(sp_weights.indices.get_shape())
        sp_ids.dense_shape.get_shape().assert_is_compatible_with(sp_weights.dense_shape.get_shape())
    with ops.name_scope(name, "embedding_lookup_sparse", params + [sp_ids]) as name:
        segments = sp_ids.indices[:, 0]
        if segments.dtype != dtypes.int32:
            segments = math_ops.cast(segments, dtypes.int32)
        ids, places = array_ops.unique(sp_ids.values)
        rows = embedding_lookup(params, ids, partition_strategy=partition_strategy, max_norm=max_norm)
        if rows.dtype in (dtypes.float16, dtypes.bfloat16):
            rows = math_ops.cast(rows, dtypes.float32)  # so that sums are accurate
        if sp_weights is not None:
            return _weighted(array_ops.gather(rows, places), sp_weights.values, segments, combiner, name)
        combine = {
            "sum": math_ops.sparse_segment_sum,
            "mean": math_ops.sparse_segment_mean,
            "sqrtn": math_ops.sparse_segment_sqrt_n,
        }[combiner]
        return combine(rows, places, segments, name=name)


def embedding_lookup_sparse_v2(params, sp_ids, sp_weights, combiner=None, max_norm=None, name=None):
    return embedding_lookup_sparse(params, sp_ids, sp_weights, "div", name, combiner, max_norm)


def _without_invalid_ids(sparse_ids, sparse_weights):
    """The ids that are not negative."""
    is_valid = math_ops.greater_equal(sparse_ids.values, 0)
    if sparse_weights is not None:
        some = array_ops.ones_like(sparse_weights.values, dtype=dtypes.bool)
        is_valid = math_ops.logical_and(is_valid, some)
    kept = sparse_ops.sparse_retain(sparse_ids, is_valid)
    if sparse_weights is not None:
        sparse_weights = sparse_ops.sparse_retain(sparse_weights, is_valid)
    return kept, sparse_weights


def _without_invalid_weights(sparse_ids, sparse_weights):
    if sparse_weights is not None:
        is_valid = math_ops.greater(sparse_weights.values, 0)
        sparse_ids = sparse_ops.sparse_retain(sparse_ids, is_valid)
        sparse_weights = sparse_ops.sparse_retain(sparse_weights, is_valid)
    return sparse_ids, sparse_weights


@tf_export(v1=["nn.safe_embedding_lookup_sparse"])
def safe_embedding_lookup_sparse(
    embedding_weights,
    sparse_ids,
    sparse_weights=None,
    combiner="mean",
    default_id=None,
    name=None,
    partition_strategy="div",
    max_norm=None,
):
    """As tf.nn.embedding_lookup_sparse, for ids that may be negative (not taken) and rows that may be empty.

    An empty row gives row `default_id` of the table, or zeros. sparse_ids: [d0, ..., dn], the result [d0,
    ..., dn-1, n].
    """
    if embedding_weights is None:
        raise ValueError("Missing embedding_weights %s." % embedding_weights)
    weights = _partitions(embedding_weights)
    if not weights:
        raise ValueError("Missing embedding_weights %s." % embedding_weights)
    dtype = sparse_weights.dtype if sparse_weights is not None else None
    weights = [
        w if _is_resource_variable(w) and dtype in (None, w.dtype) else ops.convert_to_tensor(w, dtype=dtype)
        for w in weights
    ]
    with ops.name_scope(name, "embedding_lookup", weights + [sparse_ids, sparse_weights]) as scope:
        original = sparse_ids.dense_shape
        known = tensor_shape.dimension_value(sparse_ids.dense_shape.get_shape()[0])
        rank = array_ops.size(original) if known is None else known
        rows = math_ops.reduce_prod(array_ops.slice(original, [0], [rank - 1]))
        columns = array_ops.gather(original, rank - 1)
        sparse_ids = sparse_ops.sparse_reshape(sparse_ids, [rows, columns])
        if sparse_weights is not None:
            sparse_weights = sparse_tensor.SparseTensor(
                sparse_ids.indices, sparse_weights.values, sparse_ids.dense_shape
            )
        sparse_ids, sparse_weights = _without_invalid_ids(sparse_ids, sparse_weights)
        if combiner != "sum":
            sparse_ids, sparse_weights = _without_invalid_weights(sparse_ids, sparse_weights)
        sparse_ids, is_empty = sparse_ops.sparse_fill_empty_rows(sparse_ids, default_id or 0)
        if sparse_weights is not None:
            sparse_weights, _ = sparse_ops.sparse_fill_empty_rows(sparse_weights, 1.0)
        made = embedding_lookup_sparse(
            weights,
            sparse_ids,
            sparse_weights,
            combiner=combiner,
            partition_strategy=partition_strategy,
            name=None if default_id is None else scope,
            max_norm=max_norm,
        )
        if default_id is None:
            mask = array_ops.tile(
                array_ops.reshape(is_empty, [-1, 1]), array_ops.stack([1, array_ops.shape(made)[1]])
            )
            made = array_ops.where(mask, array_ops.zeros_like(made), made, name=scope)
        outer = array_ops.slice(math_ops.cast(original, dtypes.int32), [0], [rank - 1])
        final = array_ops.reshape(
            made, array_ops.concat([outer, array_ops.slice(array_ops.shape(made), [1], [-1])], 0)
        )
        final.set_shape(tensor_shape.unknown_shape(known and known - 1).concatenate(made.get_shape()[1:]))
        return final


def safe_embedding_lookup_sparse_v2(
    embedding_weights,
    sparse_ids,
    sparse_weights=None,
    combiner="mean",
    default_id=None,
    max_norm=None,
    name=None,
):
    return safe_embedding_lookup_sparse(
        embedding_weights, sparse_ids, sparse_weights, combiner, default_id, name, "div", max_norm
    )
