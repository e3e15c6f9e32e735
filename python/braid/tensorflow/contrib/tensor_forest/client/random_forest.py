"""Estimators that train and evaluate random forests."""

from braid.tensorflow.contrib import layers
from braid.tensorflow.contrib.estimator.python.estimator import head as core_head_lib
from braid.tensorflow.contrib.learn.python.learn.estimators import constants, estimators
from braid.tensorflow.contrib.learn.python.learn.estimators import head as head_lib
from braid.tensorflow.contrib.learn.python.learn.estimators import model_fn as model_fn_lib
from braid.tensorflow.contrib.tensor_forest.client import eval_metrics
from braid.tensorflow.contrib.tensor_forest.python import tensor_forest
from braid.tensorflow.python.estimator import estimator as core_estimator
from braid.tensorflow.python.estimator.export.export_output import PredictOutput
from braid.tensorflow.python.feature_column import feature_column as fc_core
from braid.tensorflow.python.framework import ops, sparse_tensor
from braid.tensorflow.python.ops import (
    array_ops,
    control_flow_ops,
    gen_resource_variable_ops,
    math_ops,
    state_ops,
    variable_scope,
)
from braid.tensorflow.python.ops.losses import losses
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import session_run_hook, training_util

KEYS_NAME = "keys"
LOSS_NAME = "rf_training_loss"
TREE_PATHS_PREDICTION_KEY = "tree_paths"
VARIANCE_PREDICTION_KEY = "prediction_variance"
ALL_SERVING_KEY = "tensorforest_all"
EPSILON = 0.000001


class ModelBuilderOutputType:
    """What a model function returns: ModelFnOps of tf.contrib.learn, or an EstimatorSpec."""

    MODEL_FN_OPS = 0
    ESTIMATOR_SPEC = 1


class TensorForestRunOpAtEndHook(session_run_hook.SessionRunHook):
    """Runs operations, a dict, at the end of the session, in the order of their names, and logs their values."""

    def __init__(self, op_dict):
        self._ops = op_dict

    def end(self, session):
        for name in sorted(self._ops):
            logging.info("%s: %s", name, session.run(self._ops[name]))


class TensorForestLossHook(session_run_hook.SessionRunHook):
    """Ends the training when the loss has not improved for some steps.

    Args:
      early_stopping_rounds: the steps.
      early_stopping_loss_threshold: the part of the loss by which it is to improve.
      loss_op: the loss; None: the operation named LOSS_NAME.
    """

    def __init__(self, early_stopping_rounds, early_stopping_loss_threshold=None, loss_op=None):
        self.early_stopping_rounds = early_stopping_rounds
        self.early_stopping_loss_threshold = early_stopping_loss_threshold
        self.loss_op = loss_op
        self.min_loss = None
        self.last_step = -1
        self.steps = 0  # without an improvement

    def before_run(self, run_context):
        loss = self.loss_op
        if loss is None:
            loss = run_context.session.graph.get_operation_by_name(LOSS_NAME).outputs[0]
        return session_run_hook.SessionRunArgs(
            {"global_step": training_util.get_global_step(), "current_loss": loss}
        )

    def after_run(self, run_context, run_values):
        loss, step = run_values.results["current_loss"], run_values.results["global_step"]
        self.steps += 1
        if self.last_step == -1 or self.last_step > step:  # it has begun, or recovered
            logging.info("TensorForestLossHook resetting last_step.")
            self.last_step, self.steps, self.min_loss = step, 0, None
            return
        self.last_step = step
        if self.min_loss is None or loss < self.min_loss - self.min_loss * self.early_stopping_loss_threshold:
            self.min_loss, self.steps = loss, 0
        if self.steps > self.early_stopping_rounds:
            logging.info("TensorForestLossHook requesting stop.")
            run_context.request_stop()


def _get_default_head(params, weights_name, output_type, name=None):
    if output_type == ModelBuilderOutputType.MODEL_FN_OPS:
        if params.regression:
            return head_lib.regression_head(
                weight_column_name=weights_name, label_dimension=params.num_outputs, head_name=name
            )
        return head_lib.multi_class_head(params.num_classes, weight_column_name=weights_name, head_name=name)
    kwargs = dict(weight_column=weights_name, name=name, loss_reduction=losses.Reduction.SUM_OVER_BATCH_SIZE)
    if params.regression:
        return core_head_lib.regression_head(label_dimension=params.num_outputs, **kwargs)
    if params.num_classes == 2:
        return core_head_lib.binary_classification_head(**kwargs)
    return core_head_lib.multi_class_head(n_classes=params.num_classes, **kwargs)


def _add_columns(features, feature_columns, is_learn):
    """A dict of the features with what the feature columns make of them."""
    features = dict(features)
    if is_learn:
        features.update(layers.transform_features(features, feature_columns))
    else:
        for column in feature_columns:
            features[column.name] = fc_core._transform_features(features, [column])[column]
    return features


def _logits_of_class_1(probabilities):
    """Of two classes, whose probabilities may be 0 and 1."""
    p = array_ops.slice(probabilities, [0, 1], [-1, 1])
    return math_ops.log(math_ops.maximum(p / math_ops.maximum(1.0 - p, EPSILON), EPSILON))


def get_model_fn(
    params,
    graph_builder_class,
    device_assigner,
    feature_columns=None,
    weights_name=None,
    model_head=None,
    keys_name=None,
    early_stopping_rounds=100,
    early_stopping_loss_threshold=0.001,
    num_trainers=1,
    trainer_id=0,
    report_feature_importances=False,
    local_eval=False,
    head_scope=None,
    include_all_in_serving=False,
    output_type=ModelBuilderOutputType.MODEL_FN_OPS,
):
    """A model function of a forest. The arguments are those of the estimators."""
    is_learn = output_type == ModelBuilderOutputType.MODEL_FN_OPS
    if model_head is None:
        model_head = _get_default_head(params, weights_name, output_type)

    def _model_fn(features, labels, mode):
        if isinstance(features, (ops.Tensor, sparse_tensor.SparseTensor)):
            features = {"features": features}
        if feature_columns:
            features = _add_columns(features, feature_columns, is_learn)
        weights = features.pop(weights_name) if weights_name and weights_name in features else None
        keys = features.pop(keys_name) if keys_name and keys_name in features else None
        is_local = mode == model_fn_lib.ModeKeys.INFER or (local_eval and mode == model_fn_lib.ModeKeys.EVAL)
        graph_builder = graph_builder_class(params, device_assigner=None if is_local else device_assigner)
        logits, tree_paths, variance = graph_builder.inference_graph(features)
        summary.scalar("average_tree_size", graph_builder.average_size())
        if not params.regression and params.num_classes == 2:
            logits = _logits_of_class_1(logits)
        training_graph = None
        if labels is not None and mode == model_fn_lib.ModeKeys.TRAIN:
            with ops.control_dependencies([logits.op]):
                training_graph = control_flow_ops.group(
                    graph_builder.training_graph(
                        features,
                        labels,
                        input_weights=weights,
                        num_trainers=num_trainers,
                        trainer_id=trainer_id,
                    ),
                    state_ops.assign_add(training_util.get_global_step(), 1),
                )
        if weights is not None:
            features[weights_name] = weights
        ops_at_end = {
            "9: clean up resources": control_flow_ops.group(
                *[
                    gen_resource_variable_ops.destroy_resource_op(handle)
                    for handle in graph_builder.get_all_resource_handles()
                ]
            )
        }
        if report_feature_importances:
            ops_at_end["1: feature_importances"] = graph_builder.feature_importances()
        hooks = [TensorForestRunOpAtEndHook(ops_at_end)]

        def train_fn(unused_loss):
            return training_graph

        kwargs = {"scope": head_scope} if is_learn else {}
        create = model_head.create_model_fn_ops if is_learn else model_head.create_estimator_spec
        spec = create(
            features=features, mode=mode, labels=labels, train_op_fn=train_fn, logits=logits, **kwargs
        )
        if early_stopping_rounds:
            hooks.append(
                TensorForestLossHook(
                    early_stopping_rounds,
                    early_stopping_loss_threshold=early_stopping_loss_threshold,
                    loss_op=spec.loss,
                )
            )
        old_hooks = list(spec.training_hooks or ())
        spec = spec._replace(training_hooks=old_hooks + hooks if is_learn else hooks + old_hooks)
        if keys is not None:
            spec.predictions[keys_name] = keys
        if params.inference_tree_paths:
            spec.predictions[TREE_PATHS_PREDICTION_KEY] = tree_paths
        spec.predictions[VARIANCE_PREDICTION_KEY] = variance
        if not include_all_in_serving:
            return spec
        if is_learn:
            alternatives = dict(spec.output_alternatives or {})
            alternatives[ALL_SERVING_KEY] = (constants.ProblemType.UNSPECIFIED, spec.predictions)
            return spec._replace(output_alternatives=alternatives)
        return spec._replace(export_outputs={ALL_SERVING_KEY: PredictOutput(spec.predictions)})

    return _model_fn


_ARGUMENTS = """

    Args:
      params: a ForestHParams.
      device_assigner: the device of each tree; see RandomForestGraphs.
      model_dir: where checkpoints and summaries are.
      feature_columns: columns that are made of the features, and stand beside them.
      graph_builder_class: in place of RandomForestGraphs.
      config: a RunConfig.
      weight_column: the feature that is the examples' weight.
      keys_column: a feature that predictions are to have.
      early_stopping_rounds, early_stopping_loss_threshold: the training ends when the loss has not improved
        by this part of it for so many steps; 0: never.
      num_trainers, trainer_id: trainers divide the trees among them.
      report_feature_importances: the end of the training logs what part of the tests each feature has.
      local_eval: an evaluation does not use the device assigner.
      version: not used.
      head: in place of the default one.
      include_all_in_serving: what is served has all predictions.
"""


class TensorForestEstimator(estimators.Estimator):
    __doc__ = "An estimator of tf.contrib.learn that trains a forest." + _ARGUMENTS

    def __init__(
        self,
        params,
        device_assigner=None,
        model_dir=None,
        feature_columns=None,
        graph_builder_class=tensor_forest.RandomForestGraphs,
        config=None,
        weight_column=None,
        keys_column=None,
        feature_engineering_fn=None,
        early_stopping_rounds=100,
        early_stopping_loss_threshold=0.001,
        num_trainers=1,
        trainer_id=0,
        report_feature_importances=False,
        local_eval=False,
        version=None,
        head=None,
        include_all_in_serving=False,
    ):
        if num_trainers == 1 and config is not None:
            num_trainers = max(1, config.num_worker_replicas)
        super().__init__(
            model_fn=get_model_fn(
                params.fill(),
                graph_builder_class,
                device_assigner,
                feature_columns=feature_columns,
                model_head=head,
                weights_name=weight_column,
                keys_name=keys_column,
                early_stopping_rounds=early_stopping_rounds,
                early_stopping_loss_threshold=early_stopping_loss_threshold,
                num_trainers=num_trainers,
                trainer_id=trainer_id,
                report_feature_importances=report_feature_importances,
                local_eval=local_eval,
                include_all_in_serving=include_all_in_serving,
            ),
            model_dir=model_dir,
            config=config,
            feature_engineering_fn=feature_engineering_fn,
        )


def get_combined_model_fn(model_fns):
    """A model function of several forests, of which forest i learns column i of the labels.

    The loss is the mean of theirs. Probabilities stand one after the other, classes side by side.
    """

    def _model_fn(features, labels, mode):
        found = []
        for i, model_fn in enumerate(model_fns):
            with variable_scope.variable_scope(f"label_{i}"):
                column = None if labels is None else array_ops.slice(labels, [0, i], [-1, 1])
                # A forest takes weights and keys out of the features.
                own = dict(features) if isinstance(features, dict) else features
                found.append(model_fn(own, column, mode))
        predictions, loss, train_op = {}, None, None
        if mode in (model_fn_lib.ModeKeys.EVAL, model_fn_lib.ModeKeys.INFER):
            probabilities, classes = eval_metrics.INFERENCE_PROB_NAME, eval_metrics.INFERENCE_PRED_NAME
            predictions[probabilities] = array_ops.concat(
                [each.predictions[probabilities] for each in found], axis=1
            )
            predictions[classes] = array_ops.stack([each.predictions[classes] for each in found], axis=1)
        if mode in (model_fn_lib.ModeKeys.EVAL, model_fn_lib.ModeKeys.TRAIN):
            loss = math_ops.reduce_sum(array_ops.stack([each.loss for each in found])) / len(found)
        if mode == model_fn_lib.ModeKeys.TRAIN:
            train_op = control_flow_ops.group(*[each.train_op for each in found])
        return estimators.ModelFnOps(
            mode=mode,
            predictions=predictions,
            loss=loss,
            train_op=train_op,
            training_hooks=[hook for each in found for hook in each.training_hooks],
        )

    return _model_fn


class MultiForestMultiHeadEstimator(estimators.Estimator):
    """An estimator that trains a forest for each column of the labels.

    Args:
      params_list: a ForestHParams for each.
      The others are those of TensorForestEstimator.
    """

    def __init__(
        self,
        params_list,
        device_assigner=None,
        model_dir=None,
        feature_columns=None,
        graph_builder_class=tensor_forest.RandomForestGraphs,
        config=None,
        weight_column=None,
        keys_column=None,
        feature_engineering_fn=None,
        early_stopping_rounds=100,
        num_trainers=1,
        trainer_id=0,
        report_feature_importances=False,
        local_eval=False,
    ):
        if num_trainers == 1 and config is not None:
            num_trainers = max(1, config.num_worker_replicas)
        model_fns = []
        for i, params in enumerate(params_list):
            params = params.fill()
            head = _get_default_head(
                params, weight_column, ModelBuilderOutputType.MODEL_FN_OPS, name=f"head{i}"
            )
            model_fns.append(
                get_model_fn(
                    params,
                    graph_builder_class,
                    device_assigner,
                    feature_columns=feature_columns,
                    model_head=head,
                    weights_name=weight_column,
                    keys_name=keys_column,
                    early_stopping_rounds=early_stopping_rounds,
                    num_trainers=num_trainers,
                    trainer_id=trainer_id,
                    report_feature_importances=report_feature_importances,
                    local_eval=local_eval,
                    head_scope=f"output{i}",
                )
            )
        super().__init__(
            model_fn=get_combined_model_fn(model_fns),
            model_dir=model_dir,
            config=config,
            feature_engineering_fn=feature_engineering_fn,
        )


class CoreTensorForestEstimator(core_estimator.Estimator):
    __doc__ = "An estimator of tf.estimator that trains a forest." + _ARGUMENTS

    def __init__(
        self,
        params,
        device_assigner=None,
        model_dir=None,
        feature_columns=None,
        graph_builder_class=tensor_forest.RandomForestGraphs,
        config=None,
        weight_column=None,
        keys_column=None,
        feature_engineering_fn=None,
        early_stopping_rounds=100,
        early_stopping_loss_threshold=0.001,
        num_trainers=1,
        trainer_id=0,
        report_feature_importances=False,
        local_eval=False,
        version=None,
        head=None,
        include_all_in_serving=False,
    ):
        if feature_engineering_fn is not None:
            raise NotImplementedError(
                "CoreTensorForestEstimator(feature_engineering_fn=), which TensorFlow does not look at: do "
                "so in input_fn"
            )
        if num_trainers == 1 and config is not None:
            num_trainers = max(1, config.num_worker_replicas)
        if trainer_id == 0 and config is not None:
            trainer_id = config.global_id_in_cluster
        super().__init__(
            model_fn=get_model_fn(
                params.fill(),
                graph_builder_class,
                device_assigner,
                feature_columns=feature_columns,
                model_head=head,
                weights_name=weight_column,
                keys_name=keys_column,
                early_stopping_rounds=early_stopping_rounds,
                early_stopping_loss_threshold=early_stopping_loss_threshold,
                num_trainers=num_trainers,
                trainer_id=trainer_id,
                report_feature_importances=report_feature_importances,
                local_eval=local_eval,
                include_all_in_serving=include_all_in_serving,
                output_type=ModelBuilderOutputType.ESTIMATOR_SPEC,
            ),
            model_dir=model_dir,
            config=config,
        )
