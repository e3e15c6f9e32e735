"""Ensembles of boosted trees and accumulators of quantiles: resources that checkpoints hold."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_boosted_trees_ops
from braid.tensorflow.python.ops import resources
from braid.tensorflow.python.training import saver
from braid.tensorflow.python.training.tracking import tracking

boosted_trees_aggregate_stats = gen_boosted_trees_ops.boosted_trees_aggregate_stats
boosted_trees_bucketize = gen_boosted_trees_ops.boosted_trees_bucketize
boosted_trees_sparse_aggregate_stats = gen_boosted_trees_ops.boosted_trees_sparse_aggregate_stats
calculate_best_feature_split = gen_boosted_trees_ops.boosted_trees_calculate_best_feature_split
calculate_best_gains_per_feature = gen_boosted_trees_ops.boosted_trees_calculate_best_gains_per_feature
center_bias = gen_boosted_trees_ops.boosted_trees_center_bias
create_quantile_stream_resource = gen_boosted_trees_ops.boosted_trees_create_quantile_stream_resource
example_debug_outputs = gen_boosted_trees_ops.boosted_trees_example_debug_outputs
make_quantile_summaries = gen_boosted_trees_ops.boosted_trees_make_quantile_summaries
make_stats_summary = gen_boosted_trees_ops.boosted_trees_make_stats_summary
predict = gen_boosted_trees_ops.boosted_trees_predict
quantile_add_summaries = gen_boosted_trees_ops.boosted_trees_quantile_stream_resource_add_summaries
quantile_resource_deserialize = gen_boosted_trees_ops.boosted_trees_quantile_stream_resource_deserialize
quantile_flush = gen_boosted_trees_ops.boosted_trees_quantile_stream_resource_flush
get_bucket_boundaries = gen_boosted_trees_ops.boosted_trees_quantile_stream_resource_get_bucket_boundaries
quantile_resource_handle_op = gen_boosted_trees_ops.boosted_trees_quantile_stream_resource_handle_op
sparse_calculate_best_feature_split = gen_boosted_trees_ops.boosted_trees_sparse_calculate_best_feature_split
training_predict = gen_boosted_trees_ops.boosted_trees_training_predict
update_ensemble = gen_boosted_trees_ops.boosted_trees_update_ensemble
update_ensemble_v2 = gen_boosted_trees_ops.boosted_trees_update_ensemble_v2
is_quantile_resource_initialized = gen_boosted_trees_ops.is_boosted_trees_quantile_stream_resource_initialized


class PruningMode:
    """The numbers of the modes of pruning, which ops take."""

    NO_PRUNING, PRE_PRUNING, POST_PRUNING = range(3)

    _map = {"none": NO_PRUNING, "pre": PRE_PRUNING, "post": POST_PRUNING}

    @classmethod
    def from_str(cls, mode):
        if mode not in cls._map:
            raise ValueError("pruning_mode mode must be one of: {}".format(", ".join(sorted(cls._map))))
        return cls._map[mode]


class QuantileAccumulatorSaveable(saver.BaseSaverBuilder.SaveableObject):
    """The bucket boundaries of an accumulator, one tensor a stream."""

    def __init__(self, resource_handle, create_op, num_streams, name):
        self._resource_handle = resource_handle
        self._num_streams = num_streams
        self._create_op = create_op
        boundaries = get_bucket_boundaries(resource_handle, num_streams)
        specs = [
            saver.BaseSaverBuilder.SaveSpec(tensor, "", f"{name}_bucket_boundaries_{i}")
            for i, tensor in enumerate(boundaries)
        ]
        super().__init__(resource_handle, specs, name)

    def restore(self, restored_tensors, unused_tensor_shapes):
        with ops.control_dependencies([self._create_op]):
            return quantile_resource_deserialize(self._resource_handle, bucket_boundaries=restored_tensors)


class QuantileAccumulator(tracking.TrackableResource):
    """Streams of float features, and the boundaries of their buckets, which checkpoints hold.

    Args:
      epsilon: the error of quantiles, a part of the weight.
      num_streams: the number of features.
      num_quantiles: about how many buckets a feature gets.
    """

    def __init__(self, epsilon, num_streams, num_quantiles, name=None, max_elements=None):
        self._eps = epsilon
        self._num_streams = num_streams
        self._num_quantiles = num_quantiles
        super().__init__()
        with ops.name_scope(name, "QuantileAccumulator") as name:
            self._name = name
            self._resource_handle = self._create_resource()
            self._init_op = self._initialize()
            is_initialized_op = self.is_initialized()
        resources.register_resource(self.resource_handle, self._init_op, is_initialized_op)
        self._saveable = QuantileAccumulatorSaveable(
            self.resource_handle, self._init_op, self._num_streams, self.resource_handle.name
        )
        ops.add_to_collection(ops.GraphKeys.SAVEABLE_OBJECTS, self._saveable)

    def _create_resource(self):
        return quantile_resource_handle_op(container="", shared_name=self._name, name=self._name)

    def _initialize(self):
        return create_quantile_stream_resource(self.resource_handle, self._eps, self._num_streams)

    @property
    def initializer(self):
        return self._init_op

    def is_initialized(self):
        return is_quantile_resource_initialized(self.resource_handle)

    @property
    def saveable(self):
        return self._saveable

    def _gather_saveables_for_checkpoint(self):
        return {"quantile_accumulator": self._saveable}

    def add_summaries(self, float_columns, example_weights):
        """An operation that adds the values of each feature, a vector, with weights (one, or one an example)."""
        summaries = make_quantile_summaries(float_columns, example_weights, self._eps)
        return quantile_add_summaries(self.resource_handle, summaries)

    def flush(self):
        """An operation that makes boundaries of what was added."""
        return quantile_flush(self.resource_handle, self._num_quantiles)

    def get_bucket_boundaries(self):
        """A list of vectors, one a feature; they are empty before the first flush."""
        return get_bucket_boundaries(self.resource_handle, self._num_streams)


class _TreeEnsembleSavable(saver.BaseSaverBuilder.SaveableObject):
    """An ensemble as its stamp and its serialized TreeEnsemble."""

    def __init__(self, resource_handle, create_op, name):
        stamp_token, serialized = gen_boosted_trees_ops.boosted_trees_serialize_ensemble(resource_handle)
        specs = [
            saver.BaseSaverBuilder.SaveSpec(stamp_token, "", name + "_stamp"),
            saver.BaseSaverBuilder.SaveSpec(serialized, "", name + "_serialized"),
        ]
        super().__init__(resource_handle, specs, name)
        self._resource_handle = resource_handle
        self._create_op = create_op

    def restore(self, restored_tensors, unused_restored_shapes):
        with ops.control_dependencies([self._create_op]):
            return gen_boosted_trees_ops.boosted_trees_deserialize_ensemble(
                self._resource_handle,
                stamp_token=restored_tensors[0],
                tree_ensemble_serialized=restored_tensors[1],
            )


class TreeEnsemble(tracking.TrackableResource):
    """An ensemble of boosted trees.

    Args:
      name: of its node, and of the resource.
      stamp_token: a number that changes with the trees.
      is_local: checkpoints do not hold it.
      serialized_proto: the TreeEnsemble that it begins as; "": without trees.
    """

    def __init__(self, name, stamp_token=0, is_local=False, serialized_proto=""):
        self._stamp_token = stamp_token
        self._serialized_proto = serialized_proto
        self._is_local = is_local
        super().__init__()
        with ops.name_scope(name, "TreeEnsemble") as name:
            self._name = name
            self._resource_handle = self._create_resource()
            self._init_op = self._initialize()
            is_initialized_op = self.is_initialized()
            if not is_local:
                self._saveable = _TreeEnsembleSavable(
                    self.resource_handle, self.initializer, self.resource_handle.name
                )
                ops.add_to_collection(ops.GraphKeys.SAVEABLE_OBJECTS, self._saveable)
            resources.register_resource(
                self.resource_handle, self.initializer, is_initialized_op, is_shared=not is_local
            )

    def _create_resource(self):
        return gen_boosted_trees_ops.boosted_trees_ensemble_resource_handle_op(
            container="", shared_name=self._name, name=self._name
        )

    def _initialize(self):
        return gen_boosted_trees_ops.boosted_trees_create_ensemble(
            self.resource_handle, self._stamp_token, tree_ensemble_serialized=self._serialized_proto
        )

    @property
    def initializer(self):
        return self._init_op

    def is_initialized(self):
        return gen_boosted_trees_ops.is_boosted_trees_ensemble_initialized(self.resource_handle)

    def _gather_saveables_for_checkpoint(self):
        return {} if self._is_local else {"tree_ensemble": self._saveable}

    def get_stamp_token(self):
        return gen_boosted_trees_ops.boosted_trees_get_ensemble_states(self.resource_handle)[0]

    def get_states(self):
        """Stamp, numbers of trees, of finalized trees and of attempted layers, and the range of the nodes of
        the latest layer.
        """
        names = (
            "stamp_token",
            "num_trees",
            "num_finalized_trees",
            "num_attempted_layers",
            "last_layer_nodes_range",
        )
        states = gen_boosted_trees_ops.boosted_trees_get_ensemble_states(self.resource_handle)
        return tuple(array_ops.identity(state, name=name) for state, name in zip(states, names))

    def serialize(self):
        """Stamp and serialized TreeEnsemble."""
        return gen_boosted_trees_ops.boosted_trees_serialize_ensemble(self.resource_handle)

    def deserialize(self, stamp_token, serialized_proto):
        """An operation that replaces the ensemble."""
        return gen_boosted_trees_ops.boosted_trees_deserialize_ensemble(
            self.resource_handle, stamp_token, serialized_proto
        )
