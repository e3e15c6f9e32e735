"""Splits of a feature of floats by thresholds, which are quantiles.

While statistics are added to the buckets of the last layer's quantiles, values are added to the quantiles of
the next one. Chen and Guestrin, "XGBoost", arXiv 1603.02754, section 3.2.
"""

import re

from braid.tensorflow.contrib.boosted_trees.lib.learner.batch import base_split_handler
from braid.tensorflow.contrib.boosted_trees.lib.learner.batch.categorical_split_handler import with_totals
from braid.tensorflow.contrib.boosted_trees.proto import learner_pb2
from braid.tensorflow.contrib.boosted_trees.python.ops import (
    gen_quantile_ops,
    gen_stats_accumulator_ops,
    quantile_ops,
    split_handler_ops,
    stats_accumulator_ops,
)
from braid.tensorflow.python.framework import constant_op, dtypes, function, ops, sparse_tensor
from braid.tensorflow.python.ops import array_ops, control_flow_ops, math_ops

_BIAS_FEATURE_ID = -1
_PATTERN = re.compile(r"[\W_]+")


class InequalitySplitHandler(base_split_handler.BaseSplitHandler):
    """What dense and sparse features have in common.

    Args:
      epsilon: the error of quantiles.
      num_quantiles: about how many buckets there are.
      init_stamp_token: the stamp that the accumulators begin with.
      The others are BaseSplitHandler's.
    """

    def __init__(
        self,
        l1_regularization,
        l2_regularization,
        tree_complexity_regularization,
        min_node_weight,
        feature_column_group_id,
        epsilon,
        num_quantiles,
        gradient_shape,
        hessian_shape,
        multiclass_strategy,
        init_stamp_token=0,
        loss_uses_sum_reduction=False,
        name=None,
    ):
        super().__init__(
            l1_regularization,
            l2_regularization,
            tree_complexity_regularization,
            min_node_weight,
            feature_column_group_id,
            gradient_shape,
            hessian_shape,
            multiclass_strategy,
            loss_uses_sum_reduction,
            name,
        )
        self._is_scalar = gradient_shape.rank == 0 and hessian_shape.rank == 0
        self._stats_accumulator = stats_accumulator_ops.StatsAccumulator(
            init_stamp_token, gradient_shape, hessian_shape, name=f"StatsAccumulator/{self._name}"
        )
        with ops.colocate_with(self._stats_accumulator.resource_handle):
            self._quantile_accumulator = quantile_ops.QuantileAccumulator(
                init_stamp_token,
                epsilon=epsilon,
                num_quantiles=num_quantiles,
                name=f"QuantileAccumulator/{self._name}",
            )

    def scheduled_reads(self):
        return [self._quantile_accumulator.schedule_get_buckets()]

    def reset(self, stamp_token, next_stamp_token):
        stats = self._stats_accumulator.flush(stamp_token, next_stamp_token)
        quantiles = self._quantile_accumulator.flush(stamp_token, next_stamp_token)
        return control_flow_ops.group([stats, quantiles])

    def _make_splits(self, functions, stamp_token, next_stamp_token, class_id, *arguments):
        return functions[self._is_scalar](
            self._quantile_accumulator.resource_handle,
            self._stats_accumulator.resource_handle,
            stamp_token,
            next_stamp_token,
            self._multiclass_strategy,
            class_id,
            self._feature_column_group_id,
            self._l1_regularization,
            self._l2_regularization,
            self._tree_complexity_regularization,
            self._min_node_weight,
            self._loss_uses_sum_reduction,
            *arguments,
        )


class DenseSplitHandler(InequalitySplitHandler):
    """Splits of a dense feature.

    Args:
      dense_float_column: [examples, 1].
      weak_learner_type: the number of a WeakLearnerType.
      The others are InequalitySplitHandler's.
    """

    def __init__(
        self,
        dense_float_column,
        l1_regularization,
        l2_regularization,
        tree_complexity_regularization,
        min_node_weight,
        feature_column_group_id,
        epsilon,
        num_quantiles,
        gradient_shape,
        hessian_shape,
        multiclass_strategy,
        init_stamp_token=0,
        loss_uses_sum_reduction=False,
        weak_learner_type=learner_pb2.LearnerConfig.NORMAL_DECISION_TREE,
        name=None,
    ):
        super().__init__(
            l1_regularization,
            l2_regularization,
            tree_complexity_regularization,
            min_node_weight,
            feature_column_group_id,
            epsilon,
            num_quantiles,
            gradient_shape,
            hessian_shape,
            multiclass_strategy,
            init_stamp_token,
            loss_uses_sum_reduction,
            name,
        )
        self._dense_float_column = dense_float_column
        self._weak_learner_type = weak_learner_type

    def update_stats(
        self,
        stamp_token,
        example_partition_ids,
        gradients,
        hessians,
        empty_gradients,
        empty_hessians,
        weights,
        is_active,
        scheduled_reads,
    ):
        with ops.name_scope(_PATTERN.sub("", self._name), "DenseSplitHandler"):
            ready, buckets = scheduled_reads[0]
            values, value_weights, *statistics = dense_make_stats_update(
                is_active,
                ready,
                self._dense_float_column,
                buckets,
                example_partition_ids,
                gradients,
                hessians,
                weights,
                empty_gradients,
                empty_hessians,
            )
            return control_flow_ops.no_op(), [
                self._quantile_accumulator.schedule_add_summary(stamp_token, values, value_weights),
                self._stats_accumulator.schedule_add(*statistics),
            ]

    def make_splits(self, stamp_token, next_stamp_token, class_id):
        functions = make_dense_split_tensor, make_dense_split_scalar
        return self._make_splits(functions, stamp_token, next_stamp_token, class_id, self._weak_learner_type)


class SparseSplitHandler(InequalitySplitHandler):
    """Splits of a sparse feature; examples without it go left or right.

    Args:
      sparse_float_column: a SparseTensor [examples, dimensions].
      The others are InequalitySplitHandler's.
    """

    def __init__(
        self,
        sparse_float_column,
        l1_regularization,
        l2_regularization,
        tree_complexity_regularization,
        min_node_weight,
        feature_column_group_id,
        epsilon,
        num_quantiles,
        gradient_shape,
        hessian_shape,
        multiclass_strategy,
        init_stamp_token=0,
        loss_uses_sum_reduction=False,
        name=None,
    ):
        super().__init__(
            l1_regularization,
            l2_regularization,
            tree_complexity_regularization,
            min_node_weight,
            feature_column_group_id,
            epsilon,
            num_quantiles,
            gradient_shape,
            hessian_shape,
            multiclass_strategy,
            init_stamp_token,
            loss_uses_sum_reduction,
            name,
        )
        self._sparse_float_column = sparse_float_column

    def update_stats(
        self,
        stamp_token,
        example_partition_ids,
        gradients,
        hessians,
        empty_gradients,
        empty_hessians,
        weights,
        is_active,
        scheduled_reads,
    ):
        column = self._sparse_float_column
        with ops.name_scope(_PATTERN.sub("", self._name), "SparseSplitHandler"):
            ready, buckets = scheduled_reads[0]
            indices, values, shape, value_weights, *statistics = sparse_make_stats_update(
                is_active,
                ready,
                column.indices,
                column.values,
                column.dense_shape,
                buckets,
                example_partition_ids,
                gradients,
                hessians,
                weights,
                empty_gradients,
                empty_hessians,
            )
            summary = sparse_tensor.SparseTensor(indices, values, shape)
            return control_flow_ops.no_op(), [
                self._quantile_accumulator.schedule_add_summary(stamp_token, summary, value_weights),
                self._stats_accumulator.schedule_add(*statistics),
            ]

    def make_splits(self, stamp_token, next_stamp_token, class_id):
        functions = make_sparse_split_tensor, make_sparse_split_scalar
        return self._make_splits(functions, stamp_token, next_stamp_token, class_id)


# ---- Functions of the graph's library, which the handlers of all features call ----

_SPLIT_TYPES = (
    *[dtypes.resource] * 2,  # the accumulators of quantiles and of statistics
    *[dtypes.int64] * 2,  # the stamp, and the next one
    *[dtypes.int32] * 3,  # the strategy, the class, the feature
    *[dtypes.float32] * 4,  # the regularizations, and the least weight of a node
    dtypes.bool,  # whether the loss is a sum
)


def _make_split(
    build,
    flush_stats,
    quantiles,
    stats,
    stamp_token,
    next_stamp_token,
    multiclass_strategy,
    class_id,
    feature_column_id,
    l1_regularization,
    l2_regularization,
    tree_complexity_regularization,
    min_node_weight,
    loss_uses_sum_reduction,
    **arguments,
):
    """The best splits of what two accumulators have, which begin anew with the next stamp.

    Args:
      build: the function of the op that makes splits.
      flush_stats: that of the op that flushes statistics.
      quantiles, stats: handles of the accumulators.
      **arguments: of `build`, with those that _SPLIT_TYPES lists.
    """
    all_ready, all_buckets = gen_quantile_ops.quantile_accumulator_get_buckets(
        quantile_accumulator_handles=[quantiles], stamp_token=stamp_token
    )
    with ops.control_dependencies(all_buckets):
        flush = gen_quantile_ops.quantile_accumulator_flush(
            quantile_accumulator_handle=quantiles, stamp_token=stamp_token, next_stamp_token=next_stamp_token
        )
    minibatches, partition_ids, bucket_ids, gradients, hessians = flush_stats(
        stats, stamp_token, next_stamp_token
    )
    minibatches = control_flow_ops.cond(
        loss_uses_sum_reduction, lambda: math_ops.cast(1, dtypes.int64), lambda: minibatches
    )
    with ops.control_dependencies([flush, partition_ids]):
        ready = array_ops.identity(all_ready[0])
    splits = build(
        num_minibatches=minibatches,
        bucket_boundaries=all_buckets[0],
        partition_ids=partition_ids,
        bucket_ids=bucket_ids,
        gradients=gradients,
        hessians=hessians,
        class_id=class_id,
        feature_column_group_id=feature_column_id,
        l1_regularization=l1_regularization,
        l2_regularization=l2_regularization,
        tree_complexity_regularization=tree_complexity_regularization,
        min_node_weight=min_node_weight,
        multiclass_strategy=multiclass_strategy,
        **arguments,
    )
    return (ready, *splits)


def _dense_split(flush_stats):
    @function.Defun(*_SPLIT_TYPES, dtypes.int32, noinline=True)
    def make_dense_split(*arguments):
        *common, weak_learner_type = arguments
        build = split_handler_ops.build_dense_inequality_splits
        return _make_split(build, flush_stats, *common, weak_learner_type=weak_learner_type)

    return make_dense_split


def _sparse_split(flush_stats):
    @function.Defun(*_SPLIT_TYPES, noinline=True)
    def make_sparse_split(*arguments):
        build = split_handler_ops.build_sparse_inequality_splits
        return _make_split(build, flush_stats, *arguments, bias_feature_id=_BIAS_FEATURE_ID)

    return make_sparse_split


make_dense_split_scalar = _dense_split(gen_stats_accumulator_ops.stats_accumulator_scalar_flush)
make_dense_split_tensor = _dense_split(gen_stats_accumulator_ops.stats_accumulator_tensor_flush)
make_sparse_split_scalar = _sparse_split(gen_stats_accumulator_ops.stats_accumulator_scalar_flush)
make_sparse_split_tensor = _sparse_split(gen_stats_accumulator_ops.stats_accumulator_tensor_flush)


def _no_statistics(empty_gradients, empty_hessians):
    return (
        constant_op.constant_v1([], dtype=dtypes.int32),
        constant_op.constant_v1([], dtype=dtypes.int64, shape=[1, 2]),
        empty_gradients,
        empty_hessians,
    )


@function.Defun(*[dtypes.bool] * 2, *[dtypes.float32] * 2, dtypes.int32, *[dtypes.float32] * 5, noinline=True)
def dense_make_stats_update(
    is_active,
    are_buckets_ready,
    float_column,
    quantile_buckets,
    example_partition_ids,
    gradients,
    hessians,
    weights,
    empty_gradients,
    empty_hessians,
):
    """What a batch adds to the quantiles (values, weights), and to the statistics, of a dense feature."""
    none = constant_op.constant([], dtype=dtypes.float32, shape=[0, 1])
    values, value_weights = control_flow_ops.cond(
        is_active[1],
        lambda: (array_ops.reshape(float_column, [-1, 1]), array_ops.reshape(weights, [-1, 1])),
        lambda: (none, none),
    )

    def everything():
        dense, _ = gen_quantile_ops.quantiles([float_column], [], [quantile_buckets], [], [])
        return example_partition_ids, math_ops.cast(dense[0], dtypes.int64), gradients, hessians

    has_buckets = math_ops.logical_and(are_buckets_ready, array_ops.size(quantile_buckets) > 0)
    statistics = control_flow_ops.cond(
        math_ops.logical_and(has_buckets, is_active[0]),
        everything,
        lambda: _no_statistics(empty_gradients, empty_hessians),
    )
    return (values, value_weights, *statistics)


@function.Defun(
    *[dtypes.bool] * 2,
    *[dtypes.int64, dtypes.float32] * 2,
    dtypes.int32,
    *[dtypes.float32] * 5,
    noinline=True,
)
def sparse_make_stats_update(
    is_active,
    are_buckets_ready,
    sparse_column_indices,
    sparse_column_values,
    sparse_column_shape,
    quantile_buckets,
    example_partition_ids,
    gradients,
    hessians,
    weights,
    empty_gradients,
    empty_hessians,
):
    """What a batch adds to the quantiles (indices, values, shape, weights), and to the statistics."""
    indices, values, shape, value_weights = control_flow_ops.cond(
        is_active[1],
        lambda: (
            sparse_column_indices,
            sparse_column_values,
            sparse_column_shape,
            array_ops.reshape(weights, [-1, 1]),
        ),
        lambda: (
            constant_op.constant([], dtype=dtypes.int64, shape=[0, 2]),
            constant_op.constant([], dtype=dtypes.float32),
            constant_op.constant([0, 1], dtype=dtypes.int64),
            constant_op.constant([], dtype=dtypes.float32, shape=[0, 1]),
        ),
    )

    def everything():
        _, sparse = gen_quantile_ops.quantiles(
            [], [sparse_column_values], [], [quantile_buckets], [sparse_column_indices]
        )
        count, partitions, all_gradients, all_hessians = with_totals(
            example_partition_ids, sparse_column_indices[:, 0], gradients, hessians
        )
        totals = array_ops.fill(count, constant_op.constant(_BIAS_FEATURE_ID, dtypes.int64))
        pairs = array_ops.stack([totals, array_ops.zeros_like(totals)], axis=1)
        pairs = array_ops.concat([pairs, math_ops.cast(sparse[0], dtypes.int64)], 0)
        return partitions, pairs, all_gradients, all_hessians

    statistics = control_flow_ops.cond(
        math_ops.logical_and(are_buckets_ready, array_ops.size(quantile_buckets) > 0),
        everything,
        lambda: _no_statistics(empty_gradients, empty_hessians),
    )
    return (indices, values, shape, value_weights, *statistics)
