"""What collects statistics of a feature, and makes the best splits of them."""

import abc

from braid.tensorflow.contrib.boosted_trees.python.ops import batch_ops_utils
from braid.tensorflow.python.ops import control_flow_ops


class BaseSplitHandler(abc.ABC):
    """The interface of handlers.

    Args:
      l1_regularization, l2_regularization: of the leaves.
      tree_complexity_regularization: what a split costs.
      min_node_weight: the least hessian of a node that is split.
      feature_column_group_id: the number of the feature among those of its kind.
      gradient_shape, hessian_shape: TensorShapes of an example's.
      multiclass_strategy: the number of a MultiClassStrategy.
      loss_uses_sum_reduction: whether losses are sums of examples, not means.
      name: of the feature.
    """

    def __init__(
        self,
        l1_regularization,
        l2_regularization,
        tree_complexity_regularization,
        min_node_weight,
        feature_column_group_id,
        gradient_shape,
        hessian_shape,
        multiclass_strategy,
        loss_uses_sum_reduction=False,
        name=None,
    ):
        self._l1_regularization = l1_regularization
        self._l2_regularization = l2_regularization
        self._tree_complexity_regularization = tree_complexity_regularization
        self._min_node_weight = min_node_weight
        self._feature_column_group_id = feature_column_group_id
        self._name = name or ""
        self._multiclass_strategy = multiclass_strategy
        self._hessian_shape = hessian_shape
        self._gradient_shape = gradient_shape
        self._loss_uses_sum_reduction = loss_uses_sum_reduction

    def scheduled_reads(self):
        """The ScheduledOps whose results update_stats takes."""
        return []

    @abc.abstractmethod
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
        """Adds a batch.

        Args:
          stamp_token: of the accumulators.
          example_partition_ids: the leaves of the examples.
          gradients, hessians: of the examples.
          empty_gradients, empty_hessians: of no examples, of the same ranks.
          weights: of the examples.
          is_active: whether the feature takes part in the current layer, and in the next one.
          scheduled_reads: results of scheduled_reads().

        Returns:
          An operation, and a list of ScheduledOps.
        """

    def update_stats_sync(
        self,
        stamp_token,
        example_partition_ids,
        gradients,
        hessians,
        empty_gradients,
        empty_hessians,
        weights,
        is_active,
    ):
        """An operation that does all that update_stats schedules."""
        reads = batch_ops_utils.run_handler_scheduled_ops({self: self.scheduled_reads()}, stamp_token, None)
        update, scheduled = self.update_stats(
            stamp_token,
            example_partition_ids,
            gradients,
            hessians,
            empty_gradients,
            empty_hessians,
            weights,
            is_active,
            reads[self],
        )
        updates = batch_ops_utils.run_handler_scheduled_ops({self: scheduled}, stamp_token, None)
        return control_flow_ops.group(update, *updates[self])

    @abc.abstractmethod
    def reset(self, stamp_token, next_stamp_token):
        """An operation that forgets what was added."""

    @abc.abstractmethod
    def make_splits(self, stamp_token, next_stamp_token, class_id):
        """Makes the best splits of what was added, and forgets it.

        Returns:
          Whether there are splits, the partitions, their gains, and serialized SplitInfos.
        """
