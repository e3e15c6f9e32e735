"""Accumulators of gradients and hessians, as resources that checkpoints hold."""

import re

from braid.tensorflow.contrib.boosted_trees.python.ops import batch_ops_utils, gen_stats_accumulator_ops
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import resources
from braid.tensorflow.python.training import saver
from braid.tensorflow.python.training.tracking import tracking

_PATTERN = re.compile(r"[\W_]+")


def _op(is_scalar, name):
    """The function of an op on accumulators of numbers, or of tensors."""
    return getattr(gen_stats_accumulator_ops, name.format("scalar" if is_scalar else "tensor"))


class StatsAccumulatorSaveable(saver.BaseSaverBuilder.SaveableObject):
    """An accumulator as its stamp, and its sums."""

    def __init__(self, resource_handle, create_op, is_scalar, name):
        self._create_op = create_op
        self._resource_handle = resource_handle
        self._is_scalar = is_scalar
        suffixes = "_stamp", "_num_updates", "_partition_ids", "_feature_ids", "_gradients", "hessians"
        specs = [
            saver.BaseSaverBuilder.SaveSpec(tensor, "", resource_handle.name + suffix)
            for tensor, suffix in zip(self.serialize(), suffixes)
        ]
        super().__init__(resource_handle, specs, name)

    def serialize(self):
        return _op(self._is_scalar, "stats_accumulator_{}_serialize")(self._resource_handle)

    def deserialize(self, stamp_token, num_updates, partition_ids, feature_ids, gradients, hessians):
        return _op(self._is_scalar, "stats_accumulator_{}_deserialize")(
            self._resource_handle, stamp_token, num_updates, partition_ids, feature_ids, gradients, hessians
        )

    def restore(self, restored_tensors, unused_restored_shapes):
        with ops.control_dependencies([self._create_op]):
            return self.deserialize(*restored_tensors)


class StatsAccumulator(tracking.TrackableResource):
    """Sums of gradients and hessians by partition, feature id and dimension.

    What is added with another stamp than the accumulator's is left out.

    Args:
      stamp_token: the stamp that it begins with.
      gradient_shape, hessian_shape: TensorShapes of one example's.
      name: in the graph and in checkpoints.
      container: of the resource.
    """

    def __init__(self, stamp_token, gradient_shape, hessian_shape, name=None, container=None):
        self._stamp_token = stamp_token
        self._gradient_shape = gradient_shape
        self._hessian_shape = hessian_shape
        self._container = container
        self._is_scalar = gradient_shape.rank == 0 and hessian_shape.rank == 0
        super().__init__()
        if name is not None:
            name = _PATTERN.sub("", name)
        with ops.name_scope(name, "StatsAccumulator") as name:
            self._name = name
            self._resource_handle = self._create_resource()
            self._init_op = self._initialize()
            is_initialized_op = self.is_initialized()
        resources.register_resource(self.resource_handle, self.initializer, is_initialized_op)
        self._saveable = StatsAccumulatorSaveable(
            self.resource_handle, self.initializer, self._is_scalar, name
        )
        ops.add_to_collection(ops.GraphKeys.SAVEABLE_OBJECTS, self._saveable)

    def _create_resource(self):
        handle_op = _op(self._is_scalar, "stats_accumulator_{}_resource_handle_op")
        return handle_op(self._container or "", self._name, name=self._name)

    def _initialize(self):
        create_op = _op(self._is_scalar, "create_stats_accumulator_{}")
        shapes = [] if self._is_scalar else [self._gradient_shape.as_list(), self._hessian_shape.as_list()]
        return create_op(self.resource_handle, self._stamp_token, *shapes)

    @property
    def initializer(self):
        return self._init_op

    def is_initialized(self):
        return _op(self._is_scalar, "stats_accumulator_{}_is_initialized")(self.resource_handle)

    @property
    def saveable(self):
        return self._saveable

    def _gather_saveables_for_checkpoint(self):
        return {"stats_accumulator": self._saveable}

    def _make_summary(self, partition_ids, feature_ids, gradients, hessians):
        return _op(self._is_scalar, "stats_accumulator_{}_make_summary")(
            partition_ids, feature_ids, gradients, hessians
        )

    def add(self, stamp_token, partition_ids, feature_ids, gradients, hessians):
        """An operation that adds gradients and hessians."""
        summary = self._make_summary(partition_ids, feature_ids, gradients, hessians)
        add_op = _op(self._is_scalar, "stats_accumulator_{}_add")
        return add_op([self.resource_handle], stamp_token, *([tensor] for tensor in summary))

    def schedule_add(self, partition_ids, feature_ids, gradients, hessians):
        summary = self._make_summary(partition_ids, feature_ids, gradients, hessians)
        names = "partition_ids", "feature_ids", "gradients", "hessians"
        return batch_ops_utils.ScheduledStampedResourceOp(
            op=_op(self._is_scalar, "stats_accumulator_{}_add"),
            resource_handle=self.resource_handle,
            **dict(zip(names, summary)),
        )

    def flush(self, stamp_token, next_stamp_token):
        """The number of additions, and the sums; the accumulator begins anew with the next stamp."""
        flush_op = _op(self._is_scalar, "stats_accumulator_{}_flush")
        return flush_op(self.resource_handle, stamp_token, next_stamp_token)
