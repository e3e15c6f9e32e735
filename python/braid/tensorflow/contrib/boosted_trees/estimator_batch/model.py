"""Model functions of boosted trees."""

import copy

from braid.tensorflow.contrib.boosted_trees.estimator_batch import estimator_utils, trainer_hooks
from braid.tensorflow.contrib.boosted_trees.proto import tree_config_pb2
from braid.tensorflow.contrib.boosted_trees.python.ops import model_ops
from braid.tensorflow.contrib.boosted_trees.python.training.functions import gbdt_batch
from braid.tensorflow.contrib.learn.python.learn.estimators.model_fn import ModeKeys
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.training import training_util


class ModelBuilderOutputType:
    """What a model function returns: ModelFnOps of tf.contrib.learn, or an EstimatorSpec."""

    MODEL_FN_OPS = 0
    ESTIMATOR_SPEC = 1


def _initial_ensemble(learner_config):
    """The serialized ensemble of each_tree_start; "": there is none."""
    if not learner_config.each_tree_start.nodes:
        return ""
    if learner_config.each_tree_start_num_layers <= 0:
        raise ValueError("You must provide each_tree_start_num_layers.")
    config = tree_config_pb2.DecisionTreeEnsembleConfig(tree_weights=[0.1])
    config.trees.add().CopyFrom(learner_config.each_tree_start)
    config.tree_metadata.add(
        num_tree_weight_updates=1, num_layers_grown=learner_config.each_tree_start_num_layers
    )
    return config.SerializeToString()


class _Builder:
    """What the model functions have in common."""

    def __init__(self, features, mode, params, config, initial_ensemble):
        if features is None:
            raise ValueError("At least one feature must be specified.")
        if config is None:
            raise ValueError("Missing estimator RunConfig.")
        if isinstance(features, ops.Tensor):
            features = {features.name: features}
        self.features = features
        self.training_features = copy.copy(features)
        self.training_features.pop(params["weight_column_name"], None)
        self.mode, self.params, self.config = mode, params, config
        self.head = params["head"]
        self.global_step = training_util.get_global_step()
        with ops.device(self.global_step.device):
            self.ensemble = model_ops.tree_ensemble_variable(
                stamp_token=0, tree_ensemble_config=initial_ensemble, name="ensemble_model"
            )

    def make_model(self, features):
        return gbdt_batch.GradientBoostedDecisionTreeModel(
            is_chief=self.config.is_chief,
            num_ps_replicas=self.config.num_ps_replicas,
            ensemble_handle=self.ensemble,
            center_bias=self.params["center_bias"],
            examples_per_layer=self.params["examples_per_layer"],
            learner_config=self.params["learner_config"],
            feature_columns=self.params["feature_columns"],
            logits_dimension=self.head.logits_dimension,
            features=features,
            use_core_columns=self.params["use_core_libs"],
            output_leaf_index=self.params["output_leaf_index"],
            num_quantiles=self.params["num_quantiles"],
        )

    def modify(self, logits):
        modifier = self.params["logits_modifier_function"]
        return modifier(logits, self.features, self.mode) if modifier else logits

    def finish(self, model, predictions, logits, labels, output_type):
        def train(loss):
            update = model.train(loss, predictions, labels)
            with ops.control_dependencies([update]), ops.colocate_with(self.global_step):
                return state_ops.assign_add(self.global_step, 1).op

        hooks = []
        trees = self.params["num_trees"]
        if trees:
            finalized, attempted = model.get_number_of_trees_tensor()
            hooks.append(
                trainer_hooks.StopAfterNTrees(
                    trees + 1 if self.params["center_bias"] else trees,
                    attempted,
                    finalized,
                    self.params.get("override_global_step_value"),
                )
            )
        is_spec = output_type == ModelBuilderOutputType.ESTIMATOR_SPEC
        make_spec = getattr(self.head, "create_estimator_spec", None)
        uses_spec = is_spec or (self.params["use_core_libs"] and callable(make_spec))
        result = (make_spec if uses_spec else self.head.create_model_fn_ops)(
            features=self.features, mode=self.mode, labels=labels, train_op_fn=train, logits=logits
        )
        if uses_spec and not is_spec:
            result = estimator_utils.estimator_spec_to_model_fn_ops(result)
        if self.params["output_leaf_index"] and gbdt_batch.LEAF_INDEX in predictions:
            result.predictions[gbdt_batch.LEAF_INDEX] = predictions[gbdt_batch.LEAF_INDEX]
        if is_spec:
            return result._replace(training_hooks=hooks + list(result.training_hooks))
        return result._replace(training_hooks=list(result.training_hooks or []) + hooks)


def model_builder(features, labels, mode, params, config, output_type=ModelBuilderOutputType.MODEL_FN_OPS):
    """The model function of estimators of boosted trees.

    Args:
      features: a tensor, or a dict of them.
      labels: of the examples.
      mode: of ModeKeys.
      params: a dict of the arguments of the estimators: head, learner_config, feature_columns,
        examples_per_layer, weight_column_name, num_trees, center_bias, use_core_libs,
        logits_modifier_function, output_leaf_index, override_global_step_value and num_quantiles.
      config: a RunConfig.
      output_type: of ModelBuilderOutputType.
    """
    if features is None:
        raise ValueError("At least one feature must be specified.")
    builder = _Builder(features, mode, params, config, _initial_ensemble(params["learner_config"]))
    model = builder.make_model(builder.training_features)
    with ops.name_scope("gbdt", "gbdt_optimizer"):
        predictions = model.predict(mode)
        logits = builder.modify(predictions[gbdt_batch.PREDICTIONS])
    return builder.finish(model, predictions, logits, labels, output_type)


def ranking_model_builder(
    features, labels, mode, params, config, output_type=ModelBuilderOutputType.MODEL_FN_OPS
):
    """The model function of estimators that rank: logits are differences of two examples'.

    Args:
      params: as model_builder's, and ranking_model_pair_keys: ("a", "b") for features "a.x" and "b.x".
      The others are model_builder's.
    """
    builder = _Builder(features, mode, params, config, "")
    if mode == ModeKeys.INFER:
        model = builder.make_model(builder.training_features)
        with ops.name_scope("gbdt", "gbdt_optimizer"):
            predictions = model.predict(mode)
            logits = builder.modify(predictions[gbdt_batch.PREDICTIONS])
        return builder.finish(model, predictions, logits, labels, output_type)
    keys = params["ranking_model_pair_keys"]
    if len(keys) != 2:
        raise ValueError("You must provide keys for ranking.")
    if keys[0] is None or keys[1] is None:
        raise ValueError("Both pair keys should be provided for ranking.")
    sides = {}, {}
    for name, feature in builder.training_features.items():
        is_left = name.startswith(keys[0] + ".")
        assert is_left or name.startswith(keys[1] + ".")
        sides[0 if is_left else 1][name[2:]] = feature
    model = builder.make_model(sides[0])
    with ops.name_scope("gbdt", "gbdt_optimizer"):
        if not sides[1]:
            raise ValueError("Features for ranking must be specified.")
        other = builder.make_model(sides[1])
        predictions = model.predict(mode)
        difference = predictions[gbdt_batch.PREDICTIONS] - other.predict(mode)[gbdt_batch.PREDICTIONS]
        logits = builder.modify(difference)
        predictions[gbdt_batch.PREDICTIONS] = logits
    return builder.finish(model, predictions, logits, labels, output_type)
