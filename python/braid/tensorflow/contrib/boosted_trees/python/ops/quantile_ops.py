"""Accumulators of the quantiles of a feature, as resources that checkpoints hold."""

import re

from braid.tensorflow.contrib.boosted_trees.python.ops import batch_ops_utils, gen_quantile_ops
from braid.tensorflow.contrib.boosted_trees.python.ops.gen_quantile_ops import *  # noqa: F401,F403
from braid.tensorflow.python.framework import ops, sparse_tensor
from braid.tensorflow.python.ops import resources
from braid.tensorflow.python.training import saver
from braid.tensorflow.python.training.tracking import tracking

_PATTERN = re.compile(r"[\W_]+")


class QuantileAccumulatorSaveable(saver.BaseSaverBuilder.SaveableObject):
    """An accumulator as its stamp, the state of its stream, and its buckets."""

    def __init__(self, resource_handle, create_op, name):
        self._resource_handle = resource_handle
        self._create_op = create_op
        tensors = gen_quantile_ops.quantile_accumulator_serialize(resource_handle)
        suffixes = "_stamp", "_state", "_are_buckets_ready", "buckets"
        specs = [
            saver.BaseSaverBuilder.SaveSpec(tensor, "", name + suffix)
            for tensor, suffix in zip(tensors, suffixes)
        ]
        super().__init__(resource_handle, specs, name)

    def restore(self, restored_tensors, unused_restored_shapes):
        stamp, state, are_buckets_ready, buckets = restored_tensors
        with ops.control_dependencies([self._create_op]):
            return gen_quantile_ops.quantile_accumulator_deserialize(
                self._resource_handle,
                stamp_token=[stamp],
                stream_state=[state],
                are_buckets_ready=[are_buckets_ready],
                buckets=buckets,
            )


class QuantileAccumulator(tracking.TrackableResource):
    """Quantiles of a feature, which many workers may add to.

    Args:
      init_stamp_token: the stamp that it begins with.
      epsilon: the error of quantiles, a part of the weight.
      num_quantiles: about how many buckets there will be.
      max_elements: of values, about; None: not limited.
      name: in the graph and in checkpoints.
      container: of the resource.
      generate_quantiles: makes exactly num_quantiles buckets.
    """

    def __init__(
        self,
        init_stamp_token,
        epsilon,
        num_quantiles,
        max_elements=None,
        name=None,
        container=None,
        generate_quantiles=False,
    ):
        self._init_stamp_token = init_stamp_token
        self._epsilon = epsilon
        self._num_quantiles = num_quantiles
        self._max_elements = max_elements
        self._container = container
        self._generate_quantiles = generate_quantiles
        super().__init__()
        name = _PATTERN.sub("", name)
        with ops.name_scope(name, "QuantileAccumulator") as name:
            self._name = name
            self._resource_handle = self._create_resource()
            self._init_op = self._initialize()
            is_initialized_op = self.is_initialized()
        resources.register_resource(self.resource_handle, self._init_op, is_initialized_op)
        self._saveable = QuantileAccumulatorSaveable(self.resource_handle, self._init_op, name)
        ops.add_to_collection(ops.GraphKeys.SAVEABLE_OBJECTS, self._saveable)

    def _create_resource(self):
        return gen_quantile_ops.quantile_stream_resource_handle_op(
            container=self._container or "", shared_name=self._name, name=self._name
        )

    def _initialize(self):
        limit = {} if self._max_elements is None else {"max_elements": self._max_elements}
        return gen_quantile_ops.create_quantile_accumulator(
            self.resource_handle,
            self._init_stamp_token,
            epsilon=self._epsilon,
            num_quantiles=self._num_quantiles,
            generate_quantiles=self._generate_quantiles,
            **limit,
        )

    @property
    def initializer(self):
        return self._init_op

    def is_initialized(self):
        return gen_quantile_ops.quantile_accumulator_is_initialized(self.resource_handle)

    @property
    def saveable(self):
        return self._saveable

    def _gather_saveables_for_checkpoint(self):
        return {"quantile_accumulator": self._saveable}

    def get_buckets(self, stamp_token):
        """Whether there are buckets, and their boundaries, which the last flush has made."""
        ready, buckets = gen_quantile_ops.quantile_accumulator_get_buckets(
            quantile_accumulator_handles=[self.resource_handle], stamp_token=stamp_token
        )
        return ready[0], buckets[0]

    def schedule_get_buckets(self):
        return batch_ops_utils.ScheduledStampedResourceOp(
            resource_handle=self.resource_handle, op=gen_quantile_ops.quantile_accumulator_get_buckets
        )

    def _make_summary(self, column, example_weights):
        is_sparse = isinstance(column, sparse_tensor.SparseTensor)
        dense, sparse = gen_quantile_ops.make_quantile_summaries(
            dense_float_features=[] if is_sparse else [column],
            sparse_float_feature_indices=[column.indices] if is_sparse else [],
            sparse_float_feature_values=[column.values] if is_sparse else [],
            sparse_float_feature_shapes=[column.dense_shape] if is_sparse else [],
            example_weights=example_weights,
            epsilon=self._epsilon / 2,
        )
        return (sparse if is_sparse else dense)[0]

    def add_summary(self, stamp_token, column, example_weights):
        """An operation that adds the values of a column."""
        return self.add_prebuilt_summary(stamp_token, self._make_summary(column, example_weights))

    def add_prebuilt_summary(self, stamp_token, summary):
        """An operation that adds a serialized QuantileSummaryState."""
        return gen_quantile_ops.quantile_accumulator_add_summaries(
            quantile_accumulator_handles=[self.resource_handle], stamp_token=stamp_token, summaries=[summary]
        )

    def schedule_add_summary(self, stamp_token, column, example_weights):
        return batch_ops_utils.ScheduledStampedResourceOp(
            op=gen_quantile_ops.quantile_accumulator_add_summaries,
            resource_handle=self.resource_handle,
            summaries=self._make_summary(column, example_weights),
        )

    def flush(self, stamp_token, next_stamp_token):
        """An operation that makes buckets of what was added, and begins anew with the next stamp."""
        return gen_quantile_ops.quantile_accumulator_flush(
            quantile_accumulator_handle=self.resource_handle,
            stamp_token=stamp_token,
            next_stamp_token=next_stamp_token,
        )

    def flush_summary(self, stamp_token, next_stamp_token):
        """The summary of what was added; the accumulator begins anew with the next stamp."""
        return gen_quantile_ops.quantile_accumulator_flush_summary(
            quantile_accumulator_handle=self.resource_handle,
            stamp_token=stamp_token,
            next_stamp_token=next_stamp_token,
        )
