"""BoostedTreesClassifier, BoostedTreesRegressor, BoostedTreesEstimator: gradient boosted decision trees.

Trees grow by layers from sums of gradients and hessians over buckets of the features (Chen and Guestrin,
"XGBoost", arXiv 1603.02754; Ponomareva et al., "TF Boosted Trees", arXiv 1710.11555). The values of numeric
columns are first sorted into buckets by quantiles of what the first batches have.
"""

import abc
import collections
import functools

import numpy as np

from braid.tensorflow.core.kernels.boosted_trees import boosted_trees_pb2
from braid.tensorflow.python.estimator import estimator
from braid.tensorflow.python.estimator.canned import boosted_trees_utils
from braid.tensorflow.python.estimator.canned import head as head_lib
from braid.tensorflow.python.estimator.mode_keys import ModeKeys
from braid.tensorflow.python.feature_column import feature_column as fc_old
from braid.tensorflow.python.feature_column import feature_column_lib
from braid.tensorflow.python.feature_column import feature_column_v2
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import boosted_trees_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import data_flow_ops
from braid.tensorflow.python.ops import gen_lookup_ops
from braid.tensorflow.python.ops import gradients_impl
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.ops.losses import losses
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import checkpoint_utils
from braid.tensorflow.python.training import session_run_hook
from braid.tensorflow.python.training import training_util
from braid.tensorflow.python.util.tf_export import estimator_export

_TreeHParams = collections.namedtuple(
    "TreeHParams",
    [
        "n_trees",
        "max_depth",
        "learning_rate",
        "l1",
        "l2",
        "tree_complexity",
        "min_node_weight",
        "center_bias",
        "pruning_mode",
        "quantile_sketch_epsilon",
    ],
)

# Defaults of the number of classes and of the dimension of labels: boosted trees have one logit.
_HOLD_FOR_MULTI_CLASS_SUPPORT = object()
_HOLD_FOR_MULTI_DIM_SUPPORT = object()
_DUMMY_NODE_ID = -1  # of an example that has not been in the trees
_QUANTILE_ACCUMULATOR_RESOURCE_NAME = "QuantileAccumulator"

_INDICATOR = (feature_column_lib.IndicatorColumn, fc_old._IndicatorColumn)
_BUCKETIZED = (feature_column_lib.BucketizedColumn, fc_old._BucketizedColumn)
_CATEGORICAL = (feature_column_lib.CategoricalColumn, fc_old._CategoricalColumn)
_DENSE = (feature_column_lib.DenseColumn, fc_old._DenseColumn)


# ---- Columns ----


def _check_column(column):
    """ValueError for a column that trees cannot use."""
    if isinstance(column, _INDICATOR + _BUCKETIZED + _DENSE):
        return
    if isinstance(column, _CATEGORICAL):
        raise ValueError(f"CategoricalColumn must be wrapped by IndicatorColumn, got: {column}")
    raise ValueError(f"Got unexpected feature column type {column}")


def _get_variable_shape(column):
    if feature_column_lib.is_feature_column_v2([column]):
        return column.variable_shape
    return column._variable_shape


def _num_features(column):
    """How many features a column is: one a category, or one a dimension."""
    _check_column(column)
    if isinstance(column, _INDICATOR):
        categorical = column.categorical_column
        return categorical.num_buckets if hasattr(categorical, "num_buckets") else categorical._num_buckets
    if isinstance(column, _BUCKETIZED):
        return 1
    shape = _get_variable_shape(column).as_list()
    return shape[0] if shape else 1


def _calculate_num_features(sorted_feature_columns):
    return sum(_num_features(column) for column in sorted_feature_columns)


def _generate_feature_col_name_mapping(sorted_feature_columns):
    """The name of its column for each feature."""
    names = []
    for column in sorted_feature_columns:
        name = column.categorical_column.name if isinstance(column, _INDICATOR) else column.name
        names.extend([name] * _num_features(column))
    return names


def _is_float_column(feature_column):
    """Whether a column's values have to be put into buckets."""
    if isinstance(feature_column, _CATEGORICAL + _BUCKETIZED + _INDICATOR):
        return False
    if isinstance(feature_column, _DENSE):
        return feature_column.dtype.is_floating
    raise ValueError(f"Encountered unexpected column {feature_column}")


def _get_float_feature_columns(sorted_feature_columns):
    return [column for column in sorted_feature_columns if _is_float_column(column)]


def _get_float_boundaries_dict(float_columns, bucket_boundaries):
    """The boundaries of each column's features, by its name."""
    result, at = {}, 0
    for column in float_columns:
        count = _num_features(column)
        result[column.name] = bucket_boundaries[at : at + count]
        at += count
    return result


def _group_features_by_num_buckets(sorted_feature_columns, num_quantiles):
    """Numbers of buckets, and for each the ids of the features that need as many.

    All bucketized columns get the most buckets that one of them needs.
    """
    groups = collections.OrderedDict()
    bucketized, most_buckets, feature = [], 2, 0
    for column in sorted_feature_columns:
        features = list(range(feature, feature + _num_features(column)))
        feature += len(features)
        if isinstance(column, _BUCKETIZED):
            most_buckets = max(most_buckets, len(column.boundaries) + 1)
            bucketized.extend(features)
        else:
            groups.setdefault(2 if isinstance(column, _INDICATOR) else num_quantiles, []).extend(features)
    if bucketized and most_buckets in groups:
        groups[most_buckets].extend(bucketized)
    elif bucketized:
        groups[most_buckets] = bucketized
    return list(groups.keys()), list(groups.values())


def _apply_feature_transformations(features, feature_columns):
    """A dict from columns of either kind to their tensors."""
    new, old = [], []
    for column in feature_columns:
        (new if feature_column_lib.is_feature_column_v2([column]) else old).append(column)
    transformed = {}
    if new:
        manager = feature_column_v2._StateManagerImpl(layer=None, trainable=False)
        transformed = feature_column_v2._transform_features_v2(features, new, manager)
    if old:
        transformed.update(fc_old._transform_features(features, old))
    return transformed


def _features_of(column, features, transformed, bucket_boundaries_dict):
    """The features of a column: vectors of buckets, or of values where there are no boundaries."""
    _check_column(column)
    if isinstance(column, _BUCKETIZED):
        name = column.source_column.name
        tensor = array_ops.squeeze(transformed[column], axis=1)
        if len(tensor.shape) > 1:
            raise ValueError(
                "For now, only supports features equivalent to rank 1 but column `{}` got: {}".format(
                    name, features[name].shape
                )
            )
        return [tensor]
    if isinstance(column, _INDICATOR):
        name = column.categorical_column.name
        tensor = math_ops.cast(transformed[column], dtypes.int32)
        if len(tensor.shape) > 2:
            raise ValueError(
                "Rank of indicator column must be no more than 2, but column `{}` got: {}".format(
                    name, features[name].shape
                )
            )
        return array_ops.unstack(tensor, axis=1)
    if _get_variable_shape(column).rank > 1:
        raise ValueError(
            "For now, we only support Dense column with rank of 1, but column `{}` got: {}".format(
                column.name, _get_variable_shape(column)
            )
        )
    values = array_ops.unstack(transformed[column], axis=1)
    if not bucket_boundaries_dict:
        return values
    boundaries = bucket_boundaries_dict[column.name]
    assert len(boundaries) == _num_features(column)
    return list(boosted_trees_ops.boosted_trees_bucketize(values, boundaries))


def _get_transformed_features(features, sorted_feature_columns, bucket_boundaries_dict=None):
    """The features of all columns, in their order."""
    return _get_transformed_features_and_merge_with_previously_transformed(
        features, sorted_feature_columns, sorted_feature_columns, bucket_boundaries_dict
    )


def _get_transformed_features_and_merge_with_previously_transformed(
    features,
    sorted_feature_columns,
    all_sorted_columns,
    bucket_boundaries_dict=None,
    already_transformed_features=None,
):
    """The features of all columns, of which those in `already_transformed_features` have their tensors."""
    transformed = _apply_feature_transformations(features, sorted_feature_columns)
    transformed.update(already_transformed_features or {})
    result = []
    for column in all_sorted_columns:
        result.extend(_features_of(column, features, transformed, bucket_boundaries_dict))
    return result


# ---- State of training ----


def _variable(initial_value, trainable=False, name=None):
    """A resource variable of any shape."""
    return variable_scope.variable(
        initial_value=initial_value, trainable=trainable, validate_shape=False, name=name, use_resource=True
    )


def _cond(var, true_branch, false_branch, name=None):
    return control_flow_ops.cond(ops.convert_to_tensor(var), true_branch, false_branch, name=name)


def _accumulator(dtype, shape, shared_name):
    return data_flow_ops.ConditionalAccumulator(dtype=dtype, shape=shape, shared_name=shared_name)


def _cache_transformed_features(
    features,
    sorted_feature_columns,
    cat_columns,
    other_columns,
    batch_size,
    bucket_boundaries_dict,
    are_boundaries_ready,
):
    """The features, which variables keep from the first step with boundaries on, and an operation that fills
    these.

    Categorical columns are transformed outside of conditionals, where their tables are initialized.
    """
    cached_features = [
        _variable(array_ops.zeros([batch_size], dtype=dtypes.int32), name=f"cached_feature_{i}")
        for i in range(_calculate_num_features(sorted_feature_columns))
    ]
    are_features_cached = _variable(False, name="are_features_cached")
    cat_transformed = _apply_feature_transformations(features, cat_columns) if cat_columns else {}

    def transform():
        return _get_transformed_features_and_merge_with_previously_transformed(
            features, other_columns, sorted_feature_columns, bucket_boundaries_dict, cat_transformed
        )

    def without_cache():
        return transform(), control_flow_ops.no_op()

    def read_cache():
        return [array_ops.identity(cached) for cached in cached_features], control_flow_ops.no_op()

    def fill_cache():
        assigned = [state_ops.assign(c, value) for c, value in zip(cached_features, transform())]
        assigned = [ops.convert_to_tensor(value) for value in assigned]
        with ops.control_dependencies(assigned):
            return assigned, are_features_cached.assign(True).op

    # Before there are boundaries, nothing is to be kept.
    return _cond(
        are_boundaries_ready, lambda: _cond(are_features_cached, read_cache, fill_cache), without_cache
    )


class _CacheTrainingStatesUsingHashTable:
    """Where examples are in the trees, and their logits, by an id of each example (int64 or string)."""

    def __init__(self, example_ids, logits_dimension):
        if dtypes.int64.is_compatible_with(example_ids.dtype):
            empty_key, deleted_key = -1 << 62, -1 << 61
        elif dtypes.string.is_compatible_with(example_ids.dtype):
            empty_key, deleted_key = "", "NEVER_USED_DELETED_KEY"
        else:
            raise ValueError(f"Unsupported example_id_feature dtype {example_ids.dtype}.")
        # Both ids are int32 and kept as the floats of the same bits, beside the logits.
        self._table_ref = gen_lookup_ops.mutable_dense_hash_table_v2(
            empty_key=empty_key, deleted_key=deleted_key, value_dtype=dtypes.float32, value_shape=[3]
        )
        self._example_ids = ops.convert_to_tensor(example_ids)
        if self._example_ids.shape.ndims not in (None, 1):
            raise ValueError(f"example_id should have rank 1, but got {self._example_ids}")
        self._logits_dimension = logits_dimension

    def lookup(self):
        """Ids of trees and nodes, and logits."""
        # The bits of a negative float are a negative node.
        found = gen_lookup_ops.lookup_table_find_v2(
            self._table_ref, self._example_ids, default_value=[0.0, float(_DUMMY_NODE_ID), 0.0]
        )
        trees, nodes, logits = array_ops.split(found, [1, 1, self._logits_dimension], axis=1)
        if self._example_ids.shape.ndims is not None:
            logits.set_shape([self._example_ids.shape[0], self._logits_dimension])
        return (
            array_ops.squeeze(array_ops.bitcast(trees, dtypes.int32), axis=[1]),
            array_ops.squeeze(array_ops.bitcast(nodes, dtypes.int32), axis=[1]),
            logits,
        )

    def insert(self, tree_ids, node_ids, logits):
        """An operation."""
        values = array_ops.concat(
            [
                array_ops.expand_dims(array_ops.bitcast(tree_ids, dtypes.float32), 1),
                array_ops.expand_dims(array_ops.bitcast(node_ids, dtypes.float32), 1),
                logits,
            ],
            axis=1,
            name="value_concat_for_cache_insert",
        )
        return gen_lookup_ops.lookup_table_insert_v2(self._table_ref, self._example_ids, values)


class _CacheTrainingStatesUsingVariables:
    """Where examples are in the trees, and their logits, by their places in the one batch."""

    def __init__(self, batch_size, logits_dimension):
        self._logits_dimension = logits_dimension
        self._tree_ids = _variable(array_ops.zeros([batch_size], dtype=dtypes.int32), name="tree_ids_cache")
        self._node_ids = _variable(
            _DUMMY_NODE_ID * array_ops.ones([batch_size], dtype=dtypes.int32), name="node_ids_cache"
        )
        self._logits = _variable(
            array_ops.zeros([batch_size, logits_dimension], dtype=dtypes.float32), name="logits_cache"
        )

    def lookup(self):
        return (self._tree_ids, self._node_ids, self._logits)

    def insert(self, tree_ids, node_ids, logits):
        return control_flow_ops.group(
            self._tree_ids.assign(tree_ids),
            self._node_ids.assign(node_ids),
            self._logits.assign(logits),
            name="cache_insert",
        )


class _StopAtAttemptsHook(session_run_hook.SessionRunHook):
    """Stops when there are as many trees as are wanted, or when twice as many layers were attempted."""

    def __init__(self, num_finalized_trees_tensor, num_attempted_layers_tensor, max_trees, max_depth):
        self._tensors = [num_finalized_trees_tensor, num_attempted_layers_tensor]
        self._max_trees = max_trees
        self._max_layers = 2 * max_trees * max_depth

    def before_run(self, run_context):
        return session_run_hook.SessionRunArgs(self._tensors)

    def after_run(self, run_context, run_values):
        # The values are those from before the step has grown a layer. Near the end they are read again.
        trees, layers = run_values.results
        if trees >= self._max_trees - 1 or layers > self._max_layers - 1:
            trees, layers = run_context.session.run(self._tensors)
        if trees >= self._max_trees or layers > self._max_layers:
            run_context.request_stop()


class GrowerInitializationHook(session_run_hook.SessionRunHook):
    """Runs an operation when a session has been made."""

    def __init__(self, init_op):
        self._init_op = init_op

    def after_create_session(self, session, coord):
        session.run(self._init_op)


# ---- Growing ----


def _get_max_splits(tree_hparams):
    """The most splits of a tree: inner nodes."""
    return (1 << tree_hparams.max_depth) - 1


class _EnsembleGrower(metaclass=abc.ABCMeta):
    """Makes the operations that grow an ensemble.

    Args:
      tree_ensemble: a TreeEnsemble.
      quantile_accumulator: a QuantileAccumulator; None without float columns.
      tree_hparams: _TreeHParams.
      feature_ids_list: lists of ids of features that have the same number of buckets.
    """

    def __init__(self, tree_ensemble, quantile_accumulator, tree_hparams, feature_ids_list):
        self._tree_ensemble = tree_ensemble
        self._tree_hparams = tree_hparams
        self._quantile_accumulator = quantile_accumulator
        self._feature_ids_list = feature_ids_list
        self._pruning_mode_parsed = boosted_trees_ops.PruningMode.from_str(tree_hparams.pruning_mode)
        prunes = self._pruning_mode_parsed != boosted_trees_ops.PruningMode.NO_PRUNING
        if tree_hparams.tree_complexity > 0 and not prunes:
            raise ValueError("Tree complexity have no effect unless pruning mode is chosen.")
        if tree_hparams.tree_complexity <= 0 and prunes:
            raise ValueError("For pruning, tree_complexity must be positive.")

    @abc.abstractmethod
    def accumulate_quantiles(self, float_features, weights, are_boundaries_ready):
        """An operation that adds values of features, and makes boundaries when there are enough."""

    @abc.abstractmethod
    def center_bias(self, center_bias_var, gradients, hessians):
        """An operation that centers the bias, and clears the variable when that is done."""

    @abc.abstractmethod
    def grow_tree(self, stats_summaries_list, last_layer_nodes_range):
        """An operation that adds a layer when there are enough statistics."""

    def chief_init_op(self):
        """What the chief runs in a new session."""
        return control_flow_ops.no_op()

    def _center_bias_fn(self, center_bias_var, mean_gradients, mean_hessians):
        continue_centering = boosted_trees_ops.center_bias(
            self._tree_ensemble.resource_handle,
            mean_gradients=mean_gradients,
            mean_hessians=mean_hessians,
            l1=self._tree_hparams.l1,
            l2=self._tree_hparams.l2,
        )
        return center_bias_var.assign(continue_centering)

    def _grow_tree_from_stats_summaries(self, stats_summaries_list, last_layer_nodes_range):
        """Finds the best split by each feature, and updates the ensemble by the best of these."""
        hparams = self._tree_hparams
        node_ids, gains, thresholds, left_contribs, right_contribs, all_feature_ids = [], [], [], [], [], []
        for feature_ids, summaries in zip(self._feature_ids_list, stats_summaries_list):
            best = boosted_trees_ops.calculate_best_gains_per_feature(
                node_id_range=last_layer_nodes_range,
                stats_summary_list=summaries,
                l1=hparams.l1,
                l2=hparams.l2,
                tree_complexity=hparams.tree_complexity,
                min_node_weight=hparams.min_node_weight,
                max_splits=_get_max_splits(hparams),
            )
            all_feature_ids += feature_ids
            for every, found in zip((node_ids, gains, thresholds, left_contribs, right_contribs), best):
                every.extend(found)
        return boosted_trees_ops.update_ensemble(
            self._tree_ensemble.resource_handle,
            feature_ids=all_feature_ids,
            node_ids=node_ids,
            gains=gains,
            thresholds=thresholds,
            left_node_contribs=left_contribs,
            right_node_contribs=right_contribs,
            learning_rate=hparams.learning_rate,
            max_depth=hparams.max_depth,
            pruning_mode=self._pruning_mode_parsed,
        )


class _InMemoryEnsembleGrower(_EnsembleGrower):
    """Grows a layer in each step, whose batch is all data."""

    def accumulate_quantiles(self, float_features, weights, are_boundaries_ready):
        summary_op = self._quantile_accumulator.add_summaries(float_features, weights)
        with ops.control_dependencies([summary_op]):
            flush = self._quantile_accumulator.flush()
        with ops.control_dependencies([flush]):
            return are_boundaries_ready.assign(True).op

    def center_bias(self, center_bias_var, gradients, hessians):
        mean_gradients = array_ops.expand_dims(math_ops.reduce_mean(gradients, 0), 0)
        mean_hessians = array_ops.expand_dims(math_ops.reduce_mean(hessians, 0), 0)
        return self._center_bias_fn(center_bias_var, mean_gradients, mean_hessians)

    def grow_tree(self, stats_summaries_list, last_layer_nodes_range):
        return self._grow_tree_from_stats_summaries(stats_summaries_list, last_layer_nodes_range)


class _AccumulatorEnsembleGrower(_EnsembleGrower):
    """Grows a layer from the statistics of several batches, which accumulators add up; workers share these.

    Args beside the base class's:
      stamp_token: the ensemble's. Statistics of an older stamp are dropped.
      n_batches_per_layer: how many batches a layer takes.
      bucket_size_list: the numbers of buckets of the features in feature_ids_list.
      is_chief: this worker grows the layers.
      center_bias: the bias is to be centered before.
    """

    def __init__(
        self,
        tree_ensemble,
        quantile_accumulator,
        tree_hparams,
        stamp_token,
        n_batches_per_layer,
        bucket_size_list,
        is_chief,
        center_bias,
        feature_ids_list,
    ):
        super().__init__(tree_ensemble, quantile_accumulator, tree_hparams, feature_ids_list)
        self._stamp_token = stamp_token
        self._n_batches_per_layer = n_batches_per_layer
        self._is_chief = is_chief
        self._center_bias = center_bias
        self._growing_accumulators = [
            _accumulator(
                dtype=dtypes.float32,
                shape=[len(feature_ids), _get_max_splits(tree_hparams), bucket_size_list[i], 2],
                shared_name=f"numeric_stats_summary_accumulator_{i}",
            )
            for i, feature_ids in enumerate(feature_ids_list)
        ]
        accumulators = list(self._growing_accumulators)
        if center_bias:
            self._bias_accumulator = _accumulator(
                dtype=dtypes.float32, shape=[2, 1], shared_name="bias_accumulator"
            )
            accumulators.append(self._bias_accumulator)
        self._chief_init_ops = [acc.set_global_step(stamp_token) for acc in accumulators]

    def chief_init_op(self):
        return control_flow_ops.group(*self._chief_init_ops)

    def _when_enough(self, num_accumulated, fn, name):
        return _cond(
            math_ops.greater_equal(num_accumulated, self._n_batches_per_layer),
            fn,
            control_flow_ops.no_op,
            name=name,
        )

    def accumulate_quantiles(self, float_features, weights, are_boundaries_ready):
        summary_op = self._quantile_accumulator.add_summaries(float_features, weights)
        # Counts the batches.
        counter = _accumulator(dtype=dtypes.float32, shape={}, shared_name="quantile_summary_accum")
        step_op = counter.set_global_step(self._stamp_token)
        count_op = counter.apply_grad(array_ops.constant(0.0), self._stamp_token)
        update_op = control_flow_ops.group(summary_op, step_op, count_op)
        if not self._is_chief:
            return update_op

        def flush():
            return control_flow_ops.group(
                self._quantile_accumulator.flush(),
                counter.take_grad(1),
                are_boundaries_ready.assign(True).op,
            )

        with ops.control_dependencies([update_op]):
            return self._when_enough(counter.num_accumulated(), flush, "wait_until_quaniles_accumulated")

    def center_bias(self, center_bias_var, gradients, hessians):
        if not self._center_bias:
            raise RuntimeError("center_bias called but bias centering is disabled.")
        means = math_ops.reduce_mean(array_ops.stack([gradients, hessians], axis=0), axis=1)
        apply_op = self._bias_accumulator.apply_grad(means, self._stamp_token)

        def advance_accumulators():
            return control_flow_ops.group(
                *[acc.set_global_step(self._stamp_token + 1) for acc in self._growing_accumulators]
            )

        def center():
            accumulated = array_ops.unstack(self._bias_accumulator.take_grad(1), axis=0)
            centered = self._center_bias_fn(
                center_bias_var,
                array_ops.expand_dims(accumulated[0], 0),
                array_ops.expand_dims(accumulated[1], 0),
            )
            with ops.control_dependencies([centered]):
                return _cond(center_bias_var.read_value(), control_flow_ops.no_op, advance_accumulators)

        with ops.control_dependencies([apply_op]):
            if not self._is_chief:
                return control_flow_ops.no_op()
            return self._when_enough(
                self._bias_accumulator.num_accumulated(), center, "wait_until_n_batches_for_bias_accumulated"
            )

    def grow_tree(self, stats_summaries_list, last_layer_nodes_range):
        apply_ops = [
            acc.apply_grad(array_ops.stack(summaries, axis=0), self._stamp_token)
            for acc, summaries in zip(self._growing_accumulators, stats_summaries_list)
        ]

        def grow():
            accumulated = [array_ops.unstack(acc.take_grad(1), axis=0) for acc in self._growing_accumulators]
            return self._grow_tree_from_stats_summaries(accumulated, last_layer_nodes_range)

        with ops.control_dependencies(apply_ops):
            if not self._is_chief:
                return control_flow_ops.no_op()
            counts = [acc.num_accumulated() for acc in self._growing_accumulators]
            return self._when_enough(
                math_ops.reduce_min(array_ops.stack(counts)), grow, "wait_until_n_batches_accumulated"
            )


# ---- The model ----


class _Inputs:
    """The ensemble of a model, and the accumulator of its float columns' quantiles."""

    def __init__(self, sorted_feature_columns, quantile_sketch_epsilon, name):
        self.columns = sorted_feature_columns
        self.float_columns = _get_float_feature_columns(sorted_feature_columns)
        self.tree_ensemble = boosted_trees_ops.TreeEnsemble(name=name)
        self.num_quantiles = int(1.0 / quantile_sketch_epsilon)
        self.quantile_accumulator = None
        self.bucket_boundaries_dict = {}
        if self.float_columns:
            self.quantile_accumulator = boosted_trees_ops.QuantileAccumulator(
                epsilon=quantile_sketch_epsilon,
                num_streams=_calculate_num_features(self.float_columns),
                num_quantiles=self.num_quantiles,
                name=_QUANTILE_ACCUMULATOR_RESOURCE_NAME,
            )
            self.bucket_boundaries_dict = _get_float_boundaries_dict(
                self.float_columns, self.quantile_accumulator.get_bucket_boundaries()
            )

    def transformed(self, features):
        return _get_transformed_features(features, self.columns, self.bucket_boundaries_dict)

    def predict(self, input_feature_list, head):
        return boosted_trees_ops.predict(
            tree_ensemble_handle=self.tree_ensemble.resource_handle,
            bucketized_features=input_feature_list,
            logits_dimension=head.logits_dimension,
        )


def _training_inputs(
    inputs, features, batch_size, head, are_boundaries_ready, example_id_column_name, train_in_memory
):
    """The features, an operation that keeps them (None: they are not kept), and the cache of where examples
    are in the trees (None: they begin at the roots in each step).
    """
    if train_in_memory:
        input_feature_list, input_cache_op = _cache_transformed_features(
            features,
            inputs.columns,
            [column for column in inputs.columns if isinstance(column, _INDICATOR)],
            [column for column in inputs.columns if not isinstance(column, _INDICATOR)],
            batch_size,
            inputs.bucket_boundaries_dict,
            are_boundaries_ready,
        )
        cache = _CacheTrainingStatesUsingVariables(batch_size, head.logits_dimension)
        return input_feature_list, input_cache_op, cache
    input_feature_list = inputs.transformed(features)
    if not example_id_column_name:
        return input_feature_list, None, None
    example_ids = features[example_id_column_name]
    return input_feature_list, None, _CacheTrainingStatesUsingHashTable(example_ids, head.logits_dimension)


def _local_ensemble(tree_ensemble, config, worker_device, name):
    """The ensemble that a worker predicts by, and an operation that brings it up to date: where there are
    several workers, each has a copy.
    """
    if config.num_worker_replicas <= 1:
        return tree_ensemble, control_flow_ops.no_op()
    with ops.device(worker_device):
        local = boosted_trees_ops.TreeEnsemble(name=name + "_local", is_local=True)
    return local, local.deserialize(*tree_ensemble.serialize())


def _check_in_memory(n_batches_per_layer, config):
    assert n_batches_per_layer == 1, (
        "When train_in_memory is enabled, input_fn should return the entire dataset as a single batch, and "
        "n_batches_per_layer should be set as 1."
    )
    if not config.is_chief or config.num_worker_replicas > 1 or config.num_ps_replicas > 0:
        raise ValueError("train_in_memory is supported only for non-distributed training.")


def _gradients_and_hessians(loss, logits, labels, closed_form):
    if closed_form:
        return closed_form(logits, labels)
    gradients = gradients_impl.gradients(loss, logits, name="Gradients")[0]
    return gradients, gradients_impl.gradients(gradients, logits, name="Hessians")[0]


def _stats_summaries(input_feature_list, groups, node_ids, gradients, hessians, max_splits):
    """For each group of (number of buckets, features) the statistics of its features.

    Quantiles may make more buckets than were asked for. What is above the last split counts as one.
    """
    return [
        [
            array_ops.squeeze(
                boosted_trees_ops.make_stats_summary(
                    node_ids=node_ids,
                    gradients=gradients,
                    hessians=hessians,
                    bucketized_features_list=[math_ops.minimum(input_feature_list[f], num_buckets - 1)],
                    max_splits=max_splits,
                    num_buckets=num_buckets,
                ),
                axis=0,
            )
            for f in feature_ids
        ]
        for num_buckets, feature_ids in groups
    ]


def _bt_model_fn(
    features,
    labels,
    mode,
    head,
    feature_columns,
    tree_hparams,
    n_batches_per_layer,
    config,
    closed_form_grad_and_hess_fn=None,
    example_id_column_name=None,
    weight_column=None,
    train_in_memory=False,
    name="boosted_trees",
):
    """The EstimatorSpec of gradient boosted trees.

    Args:
      features: a dict of tensors.
      labels: tensor [batch_size, 1] or [batch_size].
      head: a _Head of one logit.
      n_batches_per_layer: a layer is grown from as many batches.
      closed_form_grad_and_hess_fn: a function (logits, labels) -> (gradients, hessians); None: they are
        made of the loss.
      example_id_column_name: a feature with an id for each example, by which logits are kept between steps.
      weight_column: for the quantiles.
      train_in_memory: the batch is all data.
    """
    sorted_feature_columns = sorted(feature_columns, key=lambda column: column.name)
    with ops.name_scope(name) as name:
        global_step = training_util.get_or_create_global_step()
        inputs = _Inputs(sorted_feature_columns, tree_hparams.quantile_sketch_epsilon, name)
        if mode != ModeKeys.TRAIN:
            logits = inputs.predict(inputs.transformed(features), head)
            return head.create_estimator_spec(
                features=features,
                mode=mode,
                labels=labels,
                train_op_fn=control_flow_ops.no_op,
                logits=logits,
            )

        if train_in_memory:
            _check_in_memory(n_batches_per_layer, config)
        worker_device = control_flow_ops.no_op().device
        are_boundaries_ready = _variable(
            initial_value=not inputs.float_columns, name="are_boundaries_ready", trainable=False
        )
        batch_size = array_ops.shape(labels)[0]
        input_feature_list, input_cache_op, training_state_cache = _training_inputs(
            inputs,
            features,
            batch_size,
            head,
            are_boundaries_ready,
            example_id_column_name,
            train_in_memory,
        )
        if training_state_cache:
            cached_tree_ids, cached_node_ids, cached_logits = training_state_cache.lookup()
        else:
            cached_tree_ids = array_ops.zeros([batch_size], dtype=dtypes.int32)
            cached_node_ids = _DUMMY_NODE_ID * array_ops.ones([batch_size], dtype=dtypes.int32)
            cached_logits = array_ops.zeros([batch_size, head.logits_dimension], dtype=dtypes.float32)

        local_tree_ensemble, ensemble_reload = _local_ensemble(
            inputs.tree_ensemble, config, worker_device, name
        )
        with ops.control_dependencies([ensemble_reload]):
            (
                stamp_token,
                num_trees,
                num_finalized_trees,
                num_attempted_layers,
                last_layer_nodes_range,
            ) = local_tree_ensemble.get_states()
            partial_logits, tree_ids, node_ids = boosted_trees_ops.training_predict(
                tree_ensemble_handle=local_tree_ensemble.resource_handle,
                cached_tree_ids=cached_tree_ids,
                cached_node_ids=cached_node_ids,
                bucketized_features=input_feature_list,
                logits_dimension=head.logits_dimension,
            )
        logits = cached_logits + partial_logits

        # A bucket more than quantiles: values above the last boundary that can be a split.
        bucket_size_list, feature_ids_list = _group_features_by_num_buckets(
            sorted_feature_columns, inputs.num_quantiles + 1
        )
        if train_in_memory:
            grower = _InMemoryEnsembleGrower(
                inputs.tree_ensemble, inputs.quantile_accumulator, tree_hparams, feature_ids_list
            )
        else:
            grower = _AccumulatorEnsembleGrower(
                inputs.tree_ensemble,
                inputs.quantile_accumulator,
                tree_hparams,
                stamp_token,
                n_batches_per_layer,
                bucket_size_list,
                config.is_chief,
                tree_hparams.center_bias,
                feature_ids_list,
            )

        summary.scalar("ensemble/num_trees", num_trees)
        summary.scalar("ensemble/num_finalized_trees", num_finalized_trees)
        summary.scalar("ensemble/num_attempted_layers", num_attempted_layers)

        center_bias_var = _variable(
            initial_value=tree_hparams.center_bias, name="center_bias_needed", trainable=False
        )
        if weight_column is None:
            weights = array_ops.constant(1.0, shape=[1])
        else:
            if isinstance(weight_column, str):
                weight_column = feature_column_lib.numeric_column(key=weight_column, shape=(1,))
            weights = _get_transformed_features(features, [weight_column])[0]

        def update_quantiles():
            with ops.name_scope("UpdateQuantile"):
                float_features = _get_transformed_features(features, inputs.float_columns)
                return grower.accumulate_quantiles(float_features, weights, are_boundaries_ready)

        def grow(gradients, hessians):
            grow_ops = [input_cache_op] if train_in_memory else []
            if training_state_cache:
                # Logits are kept only when the bias has been centered.
                grow_ops.append(
                    _cond(
                        center_bias_var,
                        control_flow_ops.no_op,
                        lambda: training_state_cache.insert(tree_ids, node_ids, logits),
                    )
                )
            summaries = _stats_summaries(
                input_feature_list,
                list(zip(bucket_size_list, feature_ids_list)),
                node_ids,
                gradients,
                hessians,
                _get_max_splits(tree_hparams),
            )
            grow_tree = functools.partial(grower.grow_tree, summaries, last_layer_nodes_range)
            if tree_hparams.center_bias:
                update_model = _cond(
                    center_bias_var,
                    functools.partial(grower.center_bias, center_bias_var, gradients, hessians),
                    grow_tree,
                )
            else:
                update_model = grow_tree()
            grow_ops.append(update_model)
            with ops.control_dependencies([update_model]):
                grow_ops.append(state_ops.assign_add(global_step, 1).op)
            return control_flow_ops.group(*grow_ops, name="grow_op")

        def _train_op_fn(loss):
            gradients, hessians = _gradients_and_hessians(loss, logits, labels, closed_form_grad_and_hess_fn)
            if not inputs.float_columns:
                return grow(gradients, hessians)
            return _cond(are_boundaries_ready, lambda: grow(gradients, hessians), update_quantiles)

    estimator_spec = head.create_estimator_spec(
        features=features, mode=mode, labels=labels, train_op_fn=_train_op_fn, logits=logits
    )
    stop_hook = _StopAtAttemptsHook(
        num_finalized_trees, num_attempted_layers, tree_hparams.n_trees, tree_hparams.max_depth
    )
    return estimator_spec._replace(
        training_hooks=estimator_spec.training_hooks + (stop_hook,),
        training_chief_hooks=[GrowerInitializationHook(grower.chief_init_op())]
        + list(estimator_spec.training_chief_hooks),
    )


def _bt_explanations_fn(
    features, head, sorted_feature_columns, quantile_sketch_epsilon, name="boosted_trees"
):
    """The EstimatorSpec of predictions with what explains them."""
    with ops.name_scope(name) as name:
        inputs = _Inputs(sorted_feature_columns, quantile_sketch_epsilon, name)
        input_feature_list = inputs.transformed(features)
        estimator_spec = head.create_estimator_spec(
            features=features,
            mode=ModeKeys.PREDICT,
            labels=None,
            train_op_fn=control_flow_ops.no_op,
            logits=inputs.predict(input_feature_list, head),
        )
        estimator_spec.predictions[
            boosted_trees_utils._DEBUG_PROTO_KEY
        ] = boosted_trees_ops.example_debug_outputs(
            inputs.tree_ensemble.resource_handle,
            bucketized_features=input_feature_list,
            logits_dimension=head.logits_dimension,
        )
        return estimator_spec


# ---- Heads ----


def _create_classification_head(n_classes, weight_column=None, label_vocabulary=None):
    if n_classes != 2:
        raise ValueError(f"For now only binary classification is supported.n_classes given as {n_classes}")
    return head_lib._binary_logistic_head_with_sigmoid_cross_entropy_loss(
        weight_column=weight_column,
        label_vocabulary=label_vocabulary,
        loss_reduction=losses.Reduction.SUM_OVER_BATCH_SIZE,
    )


def _create_classification_head_and_closed_form(n_classes, weight_column, label_vocabulary):
    """A head, and the gradients and hessians of its loss; None where weights or a vocabulary come in."""
    head = _create_classification_head(n_classes, weight_column, label_vocabulary)
    if weight_column is not None or label_vocabulary is not None:
        return head, None

    def _grad_and_hess_for_logloss(logits, labels):
        predictions = math_ops.reciprocal(math_ops.exp(-logits) + 1.0)
        normalizer = math_ops.reciprocal(math_ops.cast(array_ops.size(predictions), dtypes.float32))
        labels = math_ops.cast(labels, dtypes.float32)
        labels = head_lib._check_dense_labels_match_logits_and_reshape(labels, logits, head.logits_dimension)
        gradients = (predictions - labels) * normalizer
        return gradients, predictions * (1.0 - predictions) * normalizer

    return head, _grad_and_hess_for_logloss


def _create_regression_head(label_dimension, weight_column=None):
    if label_dimension != 1:
        raise ValueError(
            f"For now only 1 dimension regression is supported.label_dimension given as {label_dimension}"
        )
    return head_lib._regression_head(
        label_dimension=label_dimension,
        weight_column=weight_column,
        loss_reduction=losses.Reduction.SUM_OVER_BATCH_SIZE,
    )


# ---- Importances ----


def _compute_feature_importances_per_tree(tree, num_features):
    """The gain of the splits by each feature."""
    importances = np.zeros(num_features)
    for node in tree.nodes:
        kind = node.WhichOneof("node")
        if kind == "bucketized_split":
            importances[node.bucketized_split.feature_id] += node.metadata.gain
        elif kind == "leaf":
            assert node.metadata.gain == 0
        else:
            raise ValueError(f"Unexpected split type {kind}")
    return importances


def _compute_feature_importances(tree_ensemble, num_features, normalize):
    """The gain of the splits by each feature, over all trees; with `normalize` parts of 1.

    AssertionError: they cannot be normalized, because some are negative or all are 0.
    """
    trees = [_compute_feature_importances_per_tree(tree, num_features) for tree in tree_ensemble.trees]
    weights = np.array(tree_ensemble.tree_weights).reshape(-1, 1)
    importances = np.sum(np.array(trees) * weights, axis=0)
    if normalize:
        assert np.all(importances >= 0), "feature_importances must be non-negative."
        total = np.sum(importances)
        assert total > 0, "Trees are all empty or contain only a root node."
        importances /= total
    return importances


# ---- Estimators ----


class _BoostedTreesBase(estimator.Estimator):
    """What the estimators have in common: the model function, importances and explanations.

    `model`: more arguments of _bt_model_fn.
    """

    def __init__(
        self,
        feature_columns,
        head,
        is_classification,
        tree_hparams,
        n_batches_per_layer,
        model_dir=None,
        config=None,
        **model,
    ):
        def _model_fn(features, labels, mode, config):
            return _bt_model_fn(
                features,
                labels,
                mode,
                head,
                feature_columns,
                tree_hparams,
                n_batches_per_layer,
                config,
                **model,
            )

        variable_scope.enable_resource_variables()  # the global step's, too
        super().__init__(model_fn=_model_fn, model_dir=model_dir, config=config)
        self._sorted_feature_columns = sorted(feature_columns, key=lambda column: column.name)
        self._head = head
        self._n_features = _calculate_num_features(self._sorted_feature_columns)
        self._feature_col_names = _generate_feature_col_name_mapping(self._sorted_feature_columns)
        self._center_bias = tree_hparams.center_bias
        self._is_classification = is_classification
        self._quantile_sketch_epsilon = tree_hparams.quantile_sketch_epsilon

    def experimental_feature_importances(self, normalize=False):
        """An OrderedDict from column names to the gain of their splits, the largest first.

        With `normalize` parts of 1; AssertionError where that is not possible. ValueError before training.
        """
        reader = checkpoint_utils.load_checkpoint(self._model_dir)
        serialized = reader.get_tensor("boosted_trees:0_serialized")
        if not serialized:
            raise ValueError(
                "Found empty serialized string for TreeEnsemble."
                "You should only call this method after training."
            )
        ensemble = boosted_trees_pb2.TreeEnsemble()
        ensemble.ParseFromString(serialized)
        importances = _compute_feature_importances(ensemble, self._n_features, normalize)
        return boosted_trees_utils._sum_by_feature_col_name_and_sort(self._feature_col_names, importances)

    def experimental_predict_with_explanations(
        self, input_fn, predict_keys=None, hooks=None, checkpoint_path=None
    ):
        """Yields predictions with "bias" and "dfc": what the prediction is without features, and an
        OrderedDict of what each column adds to that.

        ValueError: the estimator was made without center_bias, or the head's regression has a link function.
        """
        if not self._center_bias:
            raise ValueError(
                "center_bias must be enabled during estimator instantiation when using "
                "experimental_predict_with_explanations."
            )
        if not self._is_classification and self._head._inverse_link_fn not in (None, array_ops.identity):
            raise ValueError(
                "For now only identity inverse_link_fn in regression_head is supported for "
                "experimental_predict_with_explanations."
            )

        def new_model_fn(features, labels, mode):
            del labels, mode
            return _bt_explanations_fn(
                features, self._head, self._sorted_feature_columns, self._quantile_sketch_epsilon
            )

        est = estimator.Estimator(
            model_fn=new_model_fn,
            model_dir=self.model_dir,
            config=self.config,
            warm_start_from=self._warm_start_settings,
        )
        if predict_keys is not None:
            predict_keys = set(predict_keys) | {boosted_trees_utils._DEBUG_PROTO_KEY}
        for prediction in est.predict(
            input_fn,
            predict_keys=predict_keys,
            hooks=hooks,
            checkpoint_path=checkpoint_path,
            yield_single_examples=True,
        ):
            prediction["bias"], prediction["dfc"] = boosted_trees_utils._parse_explanations_from_prediction(
                prediction.pop(boosted_trees_utils._DEBUG_PROTO_KEY),
                self._feature_col_names,
                self._is_classification,
            )
            yield prediction


@estimator_export("estimator.BoostedTreesClassifier")
class BoostedTreesClassifier(_BoostedTreesBase):
    """Boosted trees for two classes.

    Args:
      feature_columns: bucketized, indicator and numeric columns.
      n_batches_per_layer: how many batches a layer is grown from.
      n_classes: 2.
      weight_column: the name of a feature, or a numeric column, with the examples' weights.
      label_vocabulary: the classes' names, for labels that are strings.
      n_trees: training stops at as many.
      max_depth: the layers of a tree.
      learning_rate: what the weights of leaves are multiplied by.
      l1_regularization, l2_regularization: of the weights of leaves.
      tree_complexity: what each split costs; positive if and only if pruning_mode is not "none".
      min_node_weight: the least sum of hessians of a node that is split.
      center_bias: the first tree's root begins as the logit of all examples.
      pruning_mode: "none", "pre": splits that lose are not made, "post": complete trees lose them.
      quantile_sketch_epsilon: the error of numeric columns' quantiles; the number of buckets is 1 over it.
      train_in_memory: the input function gives all data as one batch; n_batches_per_layer is 1.
    """

    def __init__(
        self,
        feature_columns,
        n_batches_per_layer,
        model_dir=None,
        n_classes=_HOLD_FOR_MULTI_CLASS_SUPPORT,
        weight_column=None,
        label_vocabulary=None,
        n_trees=100,
        max_depth=6,
        learning_rate=0.1,
        l1_regularization=0.0,
        l2_regularization=0.0,
        tree_complexity=0.0,
        min_node_weight=0.0,
        config=None,
        center_bias=False,
        pruning_mode="none",
        quantile_sketch_epsilon=0.01,
        train_in_memory=False,
    ):
        if n_classes is _HOLD_FOR_MULTI_CLASS_SUPPORT:
            n_classes = 2
        elif n_classes > 2 and pruning_mode is not None:
            raise ValueError("For now pruning is not supported with multi class.")
        head, closed_form = _create_classification_head_and_closed_form(
            n_classes, weight_column, label_vocabulary=label_vocabulary
        )
        tree_hparams = _TreeHParams(
            n_trees,
            max_depth,
            learning_rate,
            l1_regularization,
            l2_regularization,
            tree_complexity,
            min_node_weight,
            center_bias,
            pruning_mode,
            quantile_sketch_epsilon,
        )

        super().__init__(
            feature_columns,
            head,
            is_classification=True,
            tree_hparams=tree_hparams,
            n_batches_per_layer=n_batches_per_layer,
            model_dir=model_dir,
            config=config,
            closed_form_grad_and_hess_fn=closed_form,
            weight_column=weight_column,
            train_in_memory=train_in_memory,
        )


@estimator_export("estimator.BoostedTreesRegressor")
class BoostedTreesRegressor(_BoostedTreesBase):
    """Boosted trees for a number. Arguments are BoostedTreesClassifier's; label_dimension is 1."""

    def __init__(
        self,
        feature_columns,
        n_batches_per_layer,
        model_dir=None,
        label_dimension=_HOLD_FOR_MULTI_DIM_SUPPORT,
        weight_column=None,
        n_trees=100,
        max_depth=6,
        learning_rate=0.1,
        l1_regularization=0.0,
        l2_regularization=0.0,
        tree_complexity=0.0,
        min_node_weight=0.0,
        config=None,
        center_bias=False,
        pruning_mode="none",
        quantile_sketch_epsilon=0.01,
        train_in_memory=False,
    ):
        if label_dimension is _HOLD_FOR_MULTI_DIM_SUPPORT:
            label_dimension = 1
        elif label_dimension > 1 and pruning_mode is not None:
            raise ValueError("For now pruning is not supported with multi-dimensionregression.")
        head = _create_regression_head(label_dimension, weight_column)
        tree_hparams = _TreeHParams(
            n_trees,
            max_depth,
            learning_rate,
            l1_regularization,
            l2_regularization,
            tree_complexity,
            min_node_weight,
            center_bias,
            pruning_mode,
            quantile_sketch_epsilon,
        )

        super().__init__(
            feature_columns,
            head,
            is_classification=False,
            tree_hparams=tree_hparams,
            n_batches_per_layer=n_batches_per_layer,
            model_dir=model_dir,
            config=config,
            weight_column=weight_column,
            train_in_memory=train_in_memory,
        )


@estimator_export("estimator.BoostedTreesEstimator")
class BoostedTreesEstimator(_BoostedTreesBase):
    """Boosted trees for a loss of the program's own: that of `head`.

    Other arguments are BoostedTreesClassifier's. weight_column is ignored, as in TensorFlow 1.15: examples
    have the weights that the head gives them.
    """

    def __init__(
        self,
        feature_columns,
        n_batches_per_layer,
        head,
        model_dir=None,
        weight_column=None,
        n_trees=100,
        max_depth=6,
        learning_rate=0.1,
        l1_regularization=0.0,
        l2_regularization=0.0,
        tree_complexity=0.0,
        min_node_weight=0.0,
        config=None,
        center_bias=False,
        pruning_mode="none",
        quantile_sketch_epsilon=0.01,
    ):
        tree_hparams = _TreeHParams(
            n_trees,
            max_depth,
            learning_rate,
            l1_regularization,
            l2_regularization,
            tree_complexity,
            min_node_weight,
            center_bias,
            pruning_mode,
            quantile_sketch_epsilon,
        )

        super().__init__(
            feature_columns,
            head,
            is_classification=isinstance(
                head,
                (
                    head_lib._BinaryLogisticHeadWithSigmoidCrossEntropyLoss,
                    head_lib._MultiClassHeadWithSoftmaxCrossEntropyLoss,
                ),
            ),
            tree_hparams=tree_hparams,
            n_batches_per_layer=n_batches_per_layer,
            model_dir=model_dir,
            config=config,
        )
