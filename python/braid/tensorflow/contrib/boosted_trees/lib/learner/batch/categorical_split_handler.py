"""Splits of a feature of ids."""

from braid.tensorflow.contrib.boosted_trees.lib.learner.batch import base_split_handler
from braid.tensorflow.contrib.boosted_trees.proto import learner_pb2
from braid.tensorflow.contrib.boosted_trees.python.ops import split_handler_ops, stats_accumulator_ops
from braid.tensorflow.python.framework import constant_op, dtypes, ops
from braid.tensorflow.python.ops import array_ops, control_flow_ops, math_ops

_BIAS_FEATURE_ID = int(dtypes.int64.min)


def with_totals(partition_ids, examples, gradients, hessians):
    """Statistics of values of examples, behind the totals of partitions.

    Args:
      partition_ids, gradients, hessians: of the examples.
      examples: the number of each value's example.

    Returns:
      The number of partitions as a vector of one, and partition ids, gradients and hessians.
    """
    unique, mapped = array_ops.unique(partition_ids)

    def total(values):
        values = math_ops.cast(values, dtypes.float64)
        sums = math_ops.unsorted_segment_sum(values, mapped, array_ops.size(unique))
        return math_ops.cast(sums, dtypes.float32)

    return (
        array_ops.shape(unique),
        array_ops.concat([unique, array_ops.gather(partition_ids, examples)], 0),
        array_ops.concat([total(gradients), array_ops.gather(gradients, examples)], 0),
        array_ops.concat([total(hessians), array_ops.gather(hessians, examples)], 0),
    )


class EqualitySplitHandler(base_split_handler.BaseSplitHandler):
    """Splits by whether an example has an id.

    Args:
      sparse_int_column: a SparseTensor of ids.
      init_stamp_token: the stamp that the accumulator begins with.
      weak_learner_type: the number of a WeakLearnerType.
      The others are BaseSplitHandler's.
    """

    def __init__(
        self,
        sparse_int_column,
        l1_regularization,
        l2_regularization,
        tree_complexity_regularization,
        min_node_weight,
        feature_column_group_id,
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
            gradient_shape,
            hessian_shape,
            multiclass_strategy,
            loss_uses_sum_reduction,
            name,
        )
        self._stats_accumulator = stats_accumulator_ops.StatsAccumulator(
            init_stamp_token, gradient_shape, hessian_shape, name=f"StatsAccumulator/{self._name}"
        )
        self._sparse_int_column = sparse_int_column
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
        def nothing():
            return (
                constant_op.constant([], dtype=dtypes.int32),
                constant_op.constant_v1([], dtype=dtypes.int64, shape=[1, 2]),
                empty_gradients,
                empty_hessians,
            )

        def everything():
            examples = self._sparse_int_column.indices[:, 0]
            count, partitions, all_gradients, all_hessians = with_totals(
                example_partition_ids, examples, gradients, hessians
            )
            totals = array_ops.fill(count, constant_op.constant(_BIAS_FEATURE_ID, dtypes.int64))
            ids = array_ops.concat([totals, self._sparse_int_column.values], 0)
            pairs = array_ops.stack([ids, array_ops.zeros_like(ids)], axis=1)
            return partitions, pairs, all_gradients, all_hessians

        statistics = control_flow_ops.cond(is_active[0], everything, nothing)
        return control_flow_ops.no_op(), [self._stats_accumulator.schedule_add(*statistics)]

    def make_splits(self, stamp_token, next_stamp_token, class_id):
        minibatches, partition_ids, feature_ids, gradients, hessians = self._stats_accumulator.flush(
            stamp_token, next_stamp_token
        )
        minibatches = control_flow_ops.cond(
            ops.convert_to_tensor(self._loss_uses_sum_reduction),
            lambda: math_ops.cast(1, dtypes.int64),
            lambda: minibatches,
        )
        splits = split_handler_ops.build_categorical_equality_splits(
            num_minibatches=minibatches,
            partition_ids=partition_ids,
            feature_ids=feature_ids,
            gradients=gradients,
            hessians=hessians,
            class_id=class_id,
            feature_column_group_id=self._feature_column_group_id,
            bias_feature_id=_BIAS_FEATURE_ID,
            l1_regularization=self._l1_regularization,
            l2_regularization=self._l2_regularization,
            tree_complexity_regularization=self._tree_complexity_regularization,
            min_node_weight=self._min_node_weight,
            multiclass_strategy=self._multiclass_strategy,
            weak_learner_type=self._weak_learner_type,
        )
        return (constant_op.constant(True), *splits)

    def reset(self, stamp_token, next_stamp_token):
        return self._stats_accumulator.flush(stamp_token, next_stamp_token)
