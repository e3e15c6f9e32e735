"""Training of gradient boosted trees: a layer is grown of the statistics of many batches."""

import collections
import copy

from braid.tensorflow.contrib.boosted_trees.lib.learner.batch import (
    categorical_split_handler,
    ordinal_split_handler,
)
from braid.tensorflow.contrib.boosted_trees.proto import learner_pb2
from braid.tensorflow.contrib.boosted_trees.python.ops import (
    batch_ops_utils,
    gen_model_ops,
    model_ops,
    prediction_ops,
    stats_accumulator_ops,
    training_ops,
)
from braid.tensorflow.contrib.layers.python.layers import feature_column as feature_column_lib
from braid.tensorflow.contrib.layers.python.layers import feature_column_ops
from braid.tensorflow.contrib.learn.python.learn.estimators.model_fn import ModeKeys
from braid.tensorflow.python.feature_column import feature_column as fc_core
from braid.tensorflow.python.feature_column import feature_column_v2 as fc_v2
from braid.tensorflow.python.framework import constant_op, dtypes, ops, sparse_tensor, tensor_shape
from braid.tensorflow.python.ops import (
    array_ops,
    control_flow_ops,
    gradients_impl,
    math_ops,
    variable_scope,
    variables,
)
from braid.tensorflow.python.ops import stateless_random_ops as stateless
from braid.tensorflow.python.ops.losses import losses
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import device_setter

ENSEMBLE_STAMP = "ensemble_stamp"
PREDICTIONS = "predictions"
PARTITION_IDS = "partition_ids"
NUM_LAYERS_ATTEMPTED = "num_layers"
NUM_TREES_ATTEMPTED = "num_trees"
NUM_USED_HANDLERS = "num_used_handlers"
USED_HANDLERS_MASK = "used_handlers_mask"
LEAF_INDEX = "leaf_index"

_Config = learner_pb2.LearnerConfig

GBDTTrainingState = collections.namedtuple(
    "GBDTTrainingState",
    [
        "num_layer_examples",
        "num_layer_steps",
        "num_layers",
        "active_tree",
        "active_layer",
        "continue_centering",
        "bias_stats_accumulator",
        "steps_accumulator",
        "handlers",
    ],
)


def _get_column_by_index(tensor, indices):
    """The column of a matrix."""
    shape = array_ops.shape(tensor)
    places = array_ops.reshape(math_ops.range(0, shape[0]) * shape[1], [-1, 1]) + indices
    flat = array_ops.gather(array_ops.reshape(tensor, [-1]), array_ops.reshape(places, [-1]))
    return array_ops.reshape(flat, [shape[0], -1])


class _OpRoundRobinStrategy:
    """Places the ops of each type on the parameter servers in turn."""

    def __init__(self, ps_ops, num_tasks):
        self._num_tasks = num_tasks
        self._next = {op: i % num_tasks if num_tasks else 0 for i, op in enumerate(ps_ops)}

    def __call__(self, op):
        if op.type not in self._next:
            raise ValueError(f"Unknown op type '{op.type}' for placement:")
        task = self._next[op.type]
        self._next[op.type] = (task + 1) % self._num_tasks if self._num_tasks else 0
        return task


def _transform(features, feature_columns, use_core_columns):
    """Tensors of the columns, by name."""
    state_manager = fc_v2._StateManagerImpl(layer=None, trainable=False)
    transformed = collections.OrderedDict()
    with variable_scope.variable_scope("gbdt"):
        for column in list(feature_columns):
            if use_core_columns and isinstance(column, fc_v2.FeatureColumn):
                tensor = fc_v2._transform_features_v2(features, [column], state_manager)[column]
            elif use_core_columns:
                tensor = fc_core._transform_features(features, [column])[column]
            elif isinstance(column, feature_column_lib._EmbeddingColumn):
                tensor = fc_core.input_layer(features, [column], weight_collections=["gbdt"])
            else:
                found = list(feature_column_ops.transform_features(features, [column]).values())
                if len(found) > 1:
                    raise ValueError("Unexpected number of output features")
                tensor = found[0]
            transformed[column.name] = tensor
    return transformed


def extract_features(features, feature_columns, use_core_columns):
    """Sorts features by their kinds.

    Args:
      features: a dict of tensors.
      feature_columns: a list of columns of tf.contrib.layers; None: the features as they are.
      use_core_columns: the columns are tf.feature_column's.

    Returns:
      The names, dense floats [examples, 1], indices, values and shapes of sparse floats, and those of ids.
    """
    if not features:
        raise ValueError("Features dictionary must be specified.")
    features = copy.copy(features)
    if feature_columns:
        features = _transform(features, feature_columns, use_core_columns)
    dense, floats, ids = [], [], []  # pairs of name and tensor
    for key in sorted(features):
        tensor = features[key]
        if isinstance(tensor, tuple):  # ids with weights: floats of as many dimensions
            categories, weights = tensor[0], tensor[1]
            dimensions = array_ops.expand_dims(math_ops.cast(categories.values, dtypes.int64), -1)
            indices = array_ops.concat([array_ops.slice(categories.indices, [0, 0], [-1, 1]), dimensions], 1)
            tensor = sparse_tensor.SparseTensor(indices, weights.values, categories.dense_shape)
        if isinstance(tensor, sparse_tensor.SparseTensor):
            if tensor.values.dtype == dtypes.float32:
                floats.append((key, tensor))
            elif tensor.values.dtype == dtypes.int64:
                ids.append((key, tensor))
            else:
                raise ValueError(
                    f"Unsupported sparse feature {tensor.indices.name} with dtype {tensor.dtype}."
                )
        elif tensor.dtype != dtypes.float32:
            raise ValueError(f"Unsupported dense feature {tensor.name} with dtype {tensor.dtype}.")
        elif len(tensor.shape) > 1 and tensor.shape[1] > 1:
            for i, column in enumerate(array_ops.unstack(tensor, axis=1)):
                dense.append((f"{key}_{i}", array_ops.reshape(column, [-1, 1])))
        else:
            dense.append((key, tensor))
    return (
        [name for name, _ in dense + floats + ids],
        [tensor for _, tensor in dense],
        [tensor.indices for _, tensor in floats],
        [tensor.values for _, tensor in floats],
        [tensor.dense_shape for _, tensor in floats],
        [tensor.indices for _, tensor in ids],
        [tensor.values for _, tensor in ids],
        [tensor.dense_shape for _, tensor in ids],
    )


def _complete(config, logits_dimension):
    """Sets what a LearnerConfig leaves open."""
    if config.multi_class_strategy == _Config.MULTI_CLASS_STRATEGY_UNSPECIFIED:
        is_one = logits_dimension == 1
        config.multi_class_strategy = _Config.TREE_PER_CLASS if is_one else _Config.DIAGONAL_HESSIAN
    if config.growing_mode == _Config.GROWING_MODE_UNSPECIFIED:
        config.growing_mode = _Config.LAYER_BY_LAYER
    is_oblivious = config.weak_learner_type == _Config.OBLIVIOUS_DECISION_TREE
    if config.pruning_mode == _Config.PRUNING_MODE_UNSPECIFIED:
        config.pruning_mode = _Config.PRE_PRUNE if is_oblivious else _Config.POST_PRUNE
    if is_oblivious and config.pruning_mode == _Config.POST_PRUNE:
        raise ValueError("Post pruning is not implmented for oblivious decision trees.")
    if config.constraints.max_tree_depth == 0:
        config.constraints.max_tree_depth = 6
    if not config.learning_rate_tuner.WhichOneof("tuner"):
        config.learning_rate_tuner.fixed.learning_rate = 0.1


def _counter(name):
    return variables.VariableV1(initial_value=array_ops.zeros([], dtypes.int64), name=name, trainable=False)


class GradientBoostedDecisionTreeModel:
    """The graph of a model of boosted trees.

    Args:
      is_chief: grows the trees.
      num_ps_replicas: the number of parameter servers.
      ensemble_handle: of the ensemble.
      center_bias: fits a bias first.
      examples_per_layer: after how many a layer is grown; or a function from the depth of the layer.
      learner_config: a LearnerConfig, in which what is left open is set.
      features: a dict of tensors.
      logits_dimension: of the logits.
      loss_reduction: SUM_OVER_NONZERO_WEIGHTS (mean), or SUM.
      feature_columns: a list of columns.
      use_core_columns: they are tf.feature_column's.
      output_leaf_index: predictions have the leaf of each tree.
      output_leaf_index_modes: where they have; None: where a model predicts.
      num_quantiles: about how many buckets a feature has.
    """

    def __init__(
        self,
        is_chief,
        num_ps_replicas,
        ensemble_handle,
        center_bias,
        examples_per_layer,
        learner_config,
        features,
        logits_dimension,
        loss_reduction=losses.Reduction.SUM_OVER_NONZERO_WEIGHTS,
        feature_columns=None,
        use_core_columns=False,
        output_leaf_index=False,
        output_leaf_index_modes=None,
        num_quantiles=100,
    ):
        if ensemble_handle is None:
            raise ValueError("ensemble_handle must be specified.")
        if learner_config is None:
            raise ValueError("learner_config must be specified.")
        if learner_config.num_classes < 2:
            raise ValueError("Number of classes must be >=2")
        if loss_reduction not in (losses.Reduction.SUM, losses.Reduction.SUM_OVER_NONZERO_WEIGHTS):
            raise ValueError(f"Invalid loss reduction is provided: {loss_reduction}.")
        self._logits_dimension = logits_dimension
        self._is_chief = is_chief
        self._num_ps_replicas = num_ps_replicas
        self._ensemble_handle = ensemble_handle
        self._center_bias = center_bias
        self._examples_per_layer = examples_per_layer
        self._loss_reduction = loss_reduction
        _complete(learner_config, logits_dimension)
        self._strategy = learner_config.multi_class_strategy
        self._set_shapes()
        self._learner_config = learner_config
        self._learner_config_serialized = learner_config.SerializeToString()
        self._num_quantiles = num_quantiles
        self._max_tree_depth = variables.VariableV1(
            initial_value=int(learner_config.constraints.max_tree_depth)
        )
        self._attempted_trees = _counter("attempted_trees")
        self._finalized_trees = _counter("finalized_trees")
        (
            self._fc_names,
            self._dense_floats,
            self._sparse_float_indices,
            self._sparse_float_values,
            self._sparse_float_shapes,
            self._sparse_int_indices,
            self._sparse_int_values,
            self._sparse_int_shapes,
        ) = extract_features(features, feature_columns, use_core_columns)
        is_oblivious = learner_config.weak_learner_type == _Config.OBLIVIOUS_DECISION_TREE
        if is_oblivious and self._sparse_float_indices:
            raise ValueError("Oblivious trees don't handle sparse float features yet.")
        logging.info("Active Feature Columns: " + str(self._fc_names))
        logging.info("Learner config: " + str(learner_config))
        self._reduce_dim = self._strategy == _Config.TREE_PER_CLASS and learner_config.num_classes == 2
        modes = ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.INFER
        if output_leaf_index_modes is None:
            output_leaf_index_modes = [ModeKeys.INFER]
        elif not all(mode in modes for mode in output_leaf_index_modes):
            raise ValueError("output_leaf_index_modes should only contain ModeKeys.")
        self._output_leaf_index = output_leaf_index
        self._output_leaf_index_modes = output_leaf_index_modes

    def _set_shapes(self):
        """The shapes of an example's gradients and hessians."""
        n = self._logits_dimension
        if n == 1 or self._strategy == _Config.TREE_PER_CLASS:
            gradient, hessian = [], []
        else:
            if self._center_bias:
                raise ValueError("Center bias should be False for multiclass.")
            gradient, hessian = [n], [n, n] if self._strategy == _Config.FULL_HESSIAN else [n]
        self._gradient_shape = tensor_shape.TensorShape(gradient)
        self._hessian_shape = tensor_shape.TensorShape(hessian)

    # ---- Predictions ----

    def _features(self):
        return (
            self._dense_floats,
            self._sparse_float_indices,
            self._sparse_float_values,
            self._sparse_float_shapes,
            self._sparse_int_indices,
            self._sparse_int_values,
            self._sparse_int_shapes,
        )

    def _predict_and_return_dict(self, ensemble_handle, ensemble_stamp, mode):
        stats = training_ops.tree_ensemble_stats(ensemble_handle, ensemble_stamp)
        used = model_ops.tree_ensemble_used_handlers(
            ensemble_handle, ensemble_stamp, num_all_handlers=len(self._fc_names)
        )
        is_training = mode == ModeKeys.TRAIN
        has_leaves = self._output_leaf_index and mode in self._output_leaf_index_modes
        predict = (
            prediction_ops.gradient_trees_prediction_verbose
            if has_leaves
            else prediction_ops.gradient_trees_prediction
        )
        with ops.control_dependencies(stats):
            results = predict(
                ensemble_handle,
                stats.attempted_trees if is_training else -1,
                *self._features(),
                learner_config=self._learner_config_serialized,
                apply_dropout=is_training,
                apply_averaging=not is_training,
                use_locking=True,
                center_bias=self._center_bias,
                reduce_dim=self._reduce_dim,
            )
            partition_ids = prediction_ops.gradient_trees_partition_examples(
                ensemble_handle, *self._features(), use_locking=True
            )
        predictions = {
            ENSEMBLE_STAMP: ensemble_stamp,
            PREDICTIONS: results[0],
            PARTITION_IDS: partition_ids,
            NUM_LAYERS_ATTEMPTED: stats.attempted_layers,
            NUM_TREES_ATTEMPTED: stats.attempted_trees,
            NUM_USED_HANDLERS: used.num_used_handlers,
            USED_HANDLERS_MASK: used.used_handlers_mask,
        }
        if has_leaves:
            predictions[LEAF_INDEX] = results[2]
        return predictions

    def _inputs(self):
        return self._dense_floats + self._sparse_float_indices + self._sparse_int_indices

    def predict(self, mode):
        """A dict of predictions, and of what training needs to know of the ensemble."""
        inputs = self._inputs()
        if not inputs:
            raise ValueError("No input tensors for prediction.")
        stamp = model_ops.tree_ensemble_stamp_token(self._ensemble_handle)
        if self._ensemble_handle.device == inputs[0].device:
            with ops.device(self._ensemble_handle.device):
                return self._predict_and_return_dict(self._ensemble_handle, stamp, mode)
        # A copy on the worker, which is renewed where the stamp has changed.
        with ops.name_scope("local_ensemble", "TreeEnsembleVariable"):
            local = gen_model_ops.decision_tree_ensemble_resource_handle_op(
                self._ensemble_handle.op.name + "/local_ensemble"
            )
            create_op = gen_model_ops.create_tree_ensemble_variable(
                local, stamp_token=-1, tree_ensemble_config=""
            )
            with ops.control_dependencies([create_op]):
                local_stamp = model_ops.tree_ensemble_stamp_token(local)

        def refresh():
            with ops.control_dependencies([inputs[0]]):
                new_stamp, config = model_ops.tree_ensemble_serialize(self._ensemble_handle)
            with ops.control_dependencies([create_op]):
                deserialize = model_ops.tree_ensemble_deserialize(
                    local, stamp_token=new_stamp, tree_ensemble_config=config
                )
            return deserialize, new_stamp

        with ops.device(local.device):
            known_stamp = array_ops.identity(stamp)
            refreshed, stamp = control_flow_ops.cond(
                math_ops.not_equal(known_stamp, local_stamp),
                refresh,
                lambda: (control_flow_ops.no_op(), known_stamp),
            )
        with ops.control_dependencies([refreshed]):
            return self._predict_and_return_dict(local, stamp, mode)

    # ---- Statistics ----

    def _get_class_id(self, predictions_dict):
        """The class whose tree is grown; -1: of all classes."""
        if self._strategy == _Config.TREE_PER_CLASS and self._logits_dimension != 1:
            tree = predictions_dict[NUM_TREES_ATTEMPTED] % self._logits_dimension
            return math_ops.cast(tree, dtypes.int32)
        return constant_op.constant(-1, dtype=dtypes.int32)

    def _statistics(self, gradients, hessians, predictions, class_id):
        """Hessians, and the gradients and hessians that splits are made of."""
        is_per_class = self._strategy == _Config.TREE_PER_CLASS
        if is_per_class and self._logits_dimension == 1:
            if hessians is None:
                hessians = _gradients(gradients, predictions, "Hessian")
            return hessians, array_ops.squeeze(gradients, axis=[1]), array_ops.squeeze(hessians, axis=[1])
        if hessians is not None:
            raise ValueError("Providing hessians is not yet supported here.")
        is_full = self._strategy == _Config.FULL_HESSIAN
        hessians = array_ops.stack(
            (self._full_hessian if is_full else self._diagonal_hessian)(gradients, predictions), axis=1
        )
        if not is_per_class:
            return hessians, gradients, hessians
        return (
            hessians,
            array_ops.squeeze(_get_column_by_index(gradients, class_id), axis=[1]),
            array_ops.squeeze(_get_column_by_index(hessians, class_id), axis=[1]),
        )

    def _make_handlers(self):
        config = self._learner_config
        weak_learner_type = constant_op.constant(config.weak_learner_type)
        common = dict(
            l1_regularization=constant_op.constant(config.regularization.l1, dtypes.float32),
            l2_regularization=constant_op.constant(config.regularization.l2, dtypes.float32),
            tree_complexity_regularization=constant_op.constant(
                config.regularization.tree_complexity, dtypes.float32
            ),
            min_node_weight=constant_op.constant(config.constraints.min_node_weight, dtypes.float32),
            gradient_shape=self._gradient_shape,
            hessian_shape=self._hessian_shape,
            multiclass_strategy=constant_op.constant(self._strategy),
            init_stamp_token=constant_op.constant(0, dtype=dtypes.int64),
            loss_uses_sum_reduction=constant_op.constant(self._loss_reduction == losses.Reduction.SUM),
        )
        ordinal = dict(common, epsilon=1.0 / self._num_quantiles, num_quantiles=self._num_quantiles)
        names = iter(self._fc_names)
        handlers = []
        for i, column in enumerate(self._dense_floats):
            handlers.append(
                ordinal_split_handler.DenseSplitHandler(
                    dense_float_column=column,
                    feature_column_group_id=constant_op.constant(i),
                    weak_learner_type=weak_learner_type,
                    name=next(names),
                    **ordinal,
                )
            )
        floats = zip(self._sparse_float_indices, self._sparse_float_values, self._sparse_float_shapes)
        for i, parts in enumerate(floats):
            handlers.append(
                ordinal_split_handler.SparseSplitHandler(
                    sparse_float_column=sparse_tensor.SparseTensor(*parts),
                    feature_column_group_id=constant_op.constant(i),
                    name=next(names),
                    **ordinal,
                )
            )
        ids = zip(self._sparse_int_indices, self._sparse_int_values, self._sparse_int_shapes)
        for i, parts in enumerate(ids):
            handlers.append(
                categorical_split_handler.EqualitySplitHandler(
                    sparse_int_column=sparse_tensor.SparseTensor(*parts),
                    feature_column_group_id=constant_op.constant(i),
                    weak_learner_type=weak_learner_type,
                    name=next(names),
                    **common,
                )
            )
        return handlers

    def _make_training_state(self, worker_device):
        with ops.device(self._get_replica_device_setter(worker_device)):
            handlers = self._make_handlers()
            names = "num_layer_examples", "num_layer_steps", "num_layers", "active_tree", "active_layer"
            counters = [_counter(name) for name in names]
            continue_centering = variables.VariableV1(
                initial_value=self._center_bias, name="continue_centering", trainable=False
            )
            bias = stats_accumulator_ops.StatsAccumulator(
                0, self._gradient_shape, self._hessian_shape, name="BiasAccumulator"
            )
            scalar = tensor_shape.TensorShape([])
            steps = stats_accumulator_ops.StatsAccumulator(0, scalar, scalar, name="StepsAccumulator")
        return GBDTTrainingState(*counters, continue_centering, bias, steps, handlers)

    def _active_handlers(self, predictions_dict, count):
        """[handlers, 2]: whether a feature takes part in this layer, and in the next one."""
        config = self._learner_config
        sampling = config.WhichOneof("feature_fraction")

        def draw(*seed):
            return stateless.stateless_random_uniform(shape=[count], seed=list(seed))

        if sampling == "feature_fraction_per_level":
            seed = predictions_dict[NUM_LAYERS_ATTEMPTED]
            drawn = array_ops.stack([draw(seed, 1), draw(seed + 1, 1)], axis=1)
            active = drawn < config.feature_fraction_per_level
        elif sampling == "feature_fraction_per_tree":
            current = draw(predictions_dict[NUM_TREES_ATTEMPTED], 2) < config.feature_fraction_per_tree
            active = array_ops.stack([current, array_ops.ones([count], dtype=dtypes.bool)], axis=1)
        else:
            active = array_ops.ones([count, 2], dtype=dtypes.bool)
        limit = config.constraints.max_number_of_unique_feature_columns
        if not limit:
            return active

        def only_used():
            used = array_ops.reshape(predictions_dict[USED_HANDLERS_MASK], [-1, 1])
            return math_ops.logical_and(array_ops.concat([used, used], axis=1), active)

        return control_flow_ops.cond(predictions_dict[NUM_USED_HANDLERS] >= limit, only_used, lambda: active)

    def update_stats(self, loss, predictions_dict, gradients=None, hessians=None):
        """Adds the statistics of a batch.

        Args:
          loss: the mean loss of examples, a scalar.
          predictions_dict: what predict() has returned.
          gradients, hessians: of the loss by the logits; None: they are made.

        Returns:
          A list of operations, an operation that removes all trees, and the training state.
        """
        worker_device = self._inputs()[0].device
        predictions = predictions_dict[PREDICTIONS]
        stamp = predictions_dict[ENSEMBLE_STAMP]
        if gradients is None:
            gradients = _gradients(loss, predictions, "Gradients")
        class_id = self._get_class_id(predictions_dict)
        hessians, own_gradients, own_hessians = self._statistics(gradients, hessians, predictions, class_id)
        weights = self._get_weights(self._hessian_shape, own_hessians)
        state = self._make_training_state(worker_device)
        summary.scalar("layer_stats/num_examples", state.num_layer_examples)
        summary.scalar("layer_stats/num_steps", state.num_layer_steps)
        summary.scalar("ensemble_stats/active_tree", state.active_tree)
        summary.scalar("ensemble_stats/active_layer", state.active_layer)
        updates = [
            control_flow_ops.cond(
                state.continue_centering,
                self._make_update_bias_stats_fn(
                    stamp, predictions, gradients, state.bias_stats_accumulator, hessians
                ),
                control_flow_ops.no_op,
            )
        ]
        reads = batch_ops_utils.run_handler_scheduled_ops(
            {handler: handler.scheduled_reads() for handler in state.handlers}, stamp, worker_device
        )
        active = array_ops.unstack(
            self._active_handlers(predictions_dict, len(state.handlers)), num=len(state.handlers), axis=0
        )
        empty_gradients, empty_hessians = (
            constant_op.constant_v1([], dtype=dtypes.float32, shape=[1] + shape.as_list())
            for shape in (self._gradient_shape, self._hessian_shape)
        )
        scheduled = {}
        for handler, is_active in zip(state.handlers, active):
            update, scheduled[handler] = handler.update_stats(
                stamp,
                predictions_dict[PARTITION_IDS],
                own_gradients,
                own_hessians,
                empty_gradients,
                empty_hessians,
                weights,
                is_active,
                reads[handler],
            )
            updates.append(update)
        results = batch_ops_utils.run_handler_scheduled_ops(scheduled, stamp, worker_device)
        for result in results.values():
            updates += result
        return updates, self._make_reset_op(state), state

    def _make_reset_op(self, state):
        if not self._is_chief:
            return control_flow_ops.no_op()
        stamp, _ = model_ops.tree_ensemble_serialize(self._ensemble_handle)
        resets = [handler.reset(stamp, stamp + 1) for handler in state.handlers]
        if self._center_bias:
            resets.append(state.bias_stats_accumulator.flush(stamp, stamp + 1))
        resets.append(state.steps_accumulator.flush(stamp, stamp + 1))
        resets.append(self._finalized_trees.assign(0).op)
        resets.append(self._attempted_trees.assign(0).op)
        resets.append(
            model_ops.tree_ensemble_deserialize(
                self._ensemble_handle, stamp_token=stamp + 1, tree_ensemble_config="", name="reset_gbdt"
            )
        )
        return control_flow_ops.group([resets])

    # ---- Growing ----

    def increment_step_counter_and_maybe_update_ensemble(self, predictions_dict, training_state):
        """An operation that counts a batch's examples, and grows a layer where there are enough."""
        examples = math_ops.cast(array_ops.shape(predictions_dict[PREDICTIONS])[0], dtypes.float32)
        stamp = predictions_dict[ENSEMBLE_STAMP]
        steps = training_state.steps_accumulator
        add_step = steps.add(stamp, [0], [[0, 0]], [examples], [1.0])
        updates = [add_step]
        class_id = self._get_class_id(predictions_dict)
        with ops.control_dependencies([add_step]):
            if self._is_chief:
                *_, all_examples, all_steps = steps.saveable.serialize()
                all_examples = math_ops.cast(all_examples[0], dtypes.int64)
                updates.append(training_state.num_layer_examples.assign(all_examples))
                updates.append(
                    training_state.num_layer_steps.assign(math_ops.cast(all_steps[0], dtypes.int64))
                )
                wanted = self._examples_per_layer
                if callable(wanted):
                    wanted = wanted(training_state.active_layer)
                updates.append(
                    control_flow_ops.cond(
                        all_examples >= wanted,
                        self.make_update_ensemble_fn(
                            stamp, training_state, predictions_dict[NUM_TREES_ATTEMPTED], class_id
                        ),
                        control_flow_ops.no_op,
                    )
                )
        return control_flow_ops.group(*updates)

    def make_update_ensemble_fn(self, ensemble_stamp, training_state, dropout_seed, class_id):
        """A function that builds the growth of a layer, or the centering of the bias."""
        tuner = self._learner_config.learning_rate_tuner.WhichOneof("tuner")
        if tuner not in ("fixed", "dropout"):
            raise ValueError("Line search learning rate is not yet supported.")
        learning_rate = getattr(self._learner_config.learning_rate_tuner, tuner).learning_rate
        is_oblivious = self._learner_config.weak_learner_type == _Config.OBLIVIOUS_DECISION_TREE
        next_stamp = ensemble_stamp + 1

        def grow(rate, partition_ids, gains, splits):
            return training_ops.grow_tree_ensemble(
                tree_ensemble_handle=self._ensemble_handle,
                stamp_token=ensemble_stamp,
                next_stamp_token=next_stamp,
                learning_rate=rate,
                partition_ids=partition_ids,
                gains=gains,
                splits=splits,
                learner_config=self._learner_config_serialized,
                dropout_seed=dropout_seed,
                center_bias=self._center_bias,
                max_tree_depth=self._max_tree_depth,
                weak_learner_type=self._learner_config.weak_learner_type,
            )

        def update_ensemble():
            *_, bias_gradients, bias_hessians = training_state.bias_stats_accumulator.flush(
                ensemble_stamp, next_stamp
            )
            made = [
                handler.make_splits(ensemble_stamp, next_stamp, class_id)
                for handler in training_state.handlers
            ]
            ready, partition_ids, gains, splits = zip(*made)
            sizes = array_ops.reshape(array_ops.shape_n(list(partition_ids)), [len(made)])
            partition_ids = array_ops.concat(list(partition_ids), axis=0)
            gains = array_ops.concat(list(gains), axis=0)
            splits = array_ops.concat(list(splits), axis=0)
            is_ready = math_ops.reduce_all(
                array_ops.stack(list(ready), axis=0, name="stack_handler_readiness")
            )

            def center_bias():
                deltas = array_ops.where(
                    bias_hessians > 0,
                    -bias_gradients / bias_hessians,
                    array_ops.zeros_like(bias_gradients),
                )
                goes_on = training_ops.center_tree_ensemble_bias(
                    tree_ensemble_handle=self._ensemble_handle,
                    stamp_token=ensemble_stamp,
                    next_stamp_token=next_stamp,
                    delta_updates=deltas,
                    learner_config=self._learner_config_serialized,
                )
                return training_state.continue_centering.assign(goes_on)

            def grow_ready():
                own_sizes = array_ops.unstack(sizes, num=len(made))
                split_sizes = len(made) if is_oblivious else own_sizes
                return grow(
                    learning_rate,
                    list(array_ops.split(partition_ids, own_sizes, axis=0)),
                    list(array_ops.split(gains, split_sizes, axis=0)),
                    list(array_ops.split(splits, split_sizes, axis=0)),
                )

            def grow_layer():
                return control_flow_ops.cond(is_ready, grow_ready, lambda: grow(0, [], [], []))

            if self._center_bias:
                update = control_flow_ops.cond(training_state.continue_centering, center_bias, grow_layer)
            else:
                update = grow_layer()
            updates = [is_ready, update]
            with ops.control_dependencies([update]):
                stats = training_ops.tree_ensemble_stats(self._ensemble_handle, stamp_token=next_stamp)
                for variable, value in (
                    (self._finalized_trees, stats.num_trees),
                    (self._attempted_trees, stats.attempted_trees),
                    (training_state.num_layers, stats.num_layers),
                    (training_state.active_tree, stats.active_tree),
                    (training_state.active_layer, stats.active_layer),
                ):
                    updates.append(variable.assign(value))
            updates.extend(training_state.steps_accumulator.flush(ensemble_stamp, next_stamp))
            return control_flow_ops.group(*updates, name="update_ensemble")

        return update_ensemble

    def get_number_of_trees_tensor(self):
        return self._finalized_trees, self._attempted_trees

    def get_max_tree_depth(self):
        return self._max_tree_depth

    def train(self, loss, predictions_dict, labels, gradients=None, hessians=None):
        """An operation that adds a batch, and grows a layer where there are enough examples."""
        updates, _, state = self.update_stats(loss, predictions_dict, gradients, hessians)
        with ops.control_dependencies([control_flow_ops.group(*updates)]):
            return self.increment_step_counter_and_maybe_update_ensemble(predictions_dict, state)

    # ---- Hessians ----

    def _get_weights(self, hessian_shape, hessians):
        """The weights of examples in quantiles."""
        if hessian_shape.rank == 0:
            return hessians
        if hessian_shape.rank == 1:
            return math_ops.reduce_sum(hessians, axis=1)
        return math_ops.trace(hessians)

    def _hessian_rows(self, grads, predictions):
        rows = array_ops.unstack(grads, num=self._logits_dimension, axis=1)
        return [_gradients(row, predictions, f"Hessian_{i}") for i, row in enumerate(rows)]

    def _full_hessian(self, grads, predictions):
        return self._hessian_rows(grads, predictions)

    def _diagonal_hessian(self, grads, predictions):
        rows = self._hessian_rows(grads, predictions)
        return [array_ops.transpose(row)[i] for i, row in enumerate(rows)]

    def _get_replica_device_setter(self, worker_device):
        ps_ops = list(device_setter.STANDARD_PS_OPS) + [
            "DecisionTreeEnsembleResourceHandleOp",
            "StatsAccumulatorScalarResourceHandleOp",
            "StatsAccumulatorTensorResourceHandleOp",
        ]
        return device_setter.replica_device_setter(
            worker_device=worker_device,
            ps_tasks=self._num_ps_replicas,
            merge_devices=True,
            ps_ops=ps_ops,
            ps_strategy=_OpRoundRobinStrategy(ps_ops, self._num_ps_replicas),
        )

    def _make_update_bias_stats_fn(
        self, ensemble_stamp, predictions, gradients, bias_stats_accumulator, hessians=None
    ):
        def update_bias_stats():
            gradient_sums = math_ops.reduce_sum(gradients, 0)
            own = hessians if hessians is not None else _gradients(gradient_sums, predictions, "Hessians")
            add = bias_stats_accumulator.add(
                ensemble_stamp,
                math_ops.range(self._logits_dimension),
                array_ops.zeros([self._logits_dimension, 2], dtype=dtypes.int64),
                gradient_sums,
                math_ops.reduce_sum(own, 0),
            )
            return control_flow_ops.group(add, name="update_bias_stats")

        return update_bias_stats


def _gradients(ys, xs, name):
    return gradients_impl.gradients(ys, xs, name=name, colocate_gradients_with_ops=False)[0]
