"""KMeansClustering (tf.estimator.experimental.KMeans): an Estimator of k-means."""

import numpy as np

from braid.tensorflow.python.estimator import estimator
from braid.tensorflow.python.estimator import model_fn as model_fn_lib
from braid.tensorflow.python.estimator.export import export_output
from braid.tensorflow.python.feature_column import feature_column as fc
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import clustering_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import metrics
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.saved_model import signature_constants
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import monitored_session
from braid.tensorflow.python.training import session_run_hook
from braid.tensorflow.python.training import training_util
from braid.tensorflow.python.util.tf_export import estimator_export


class _LossRelativeChangeHook(session_run_hook.SessionRunHook):
    """Stops when the loss changes by less than `tolerance` of itself from a step to the next."""

    def __init__(self, loss_tensor, tolerance):
        self._loss_tensor = loss_tensor
        self._tolerance = tolerance
        self._prev_loss = None

    def before_run(self, run_context):
        return session_run_hook.SessionRunArgs(self._loss_tensor)

    def after_run(self, run_context, run_values):
        loss, before = run_values.results, self._prev_loss
        if before and abs(loss - before) / (1 + abs(before)) < self._tolerance:
            run_context.request_stop()
        self._prev_loss = loss


class _InitializeClustersHook(session_run_hook.SessionRunHook):
    """Has the chief choose first centers until there are enough. Workers' sessions begin when there are."""

    def __init__(self, init_op, is_initialized_var, is_chief):
        self._init_op = init_op
        self._is_initialized_var = is_initialized_var
        self._is_chief = is_chief

    def after_create_session(self, session, coord):
        while self._is_chief and not session.run(self._is_initialized_var):
            try:
                session.run(self._init_op)
            except RuntimeError as e:
                logging.info(e)


def _ready_when_initialized(is_initialized):
    """The names of variables without values, and of the centers while they are not all there."""
    missing = variables.report_uninitialized_variables()
    centers = control_flow_ops.cond(
        state_ops.is_variable_initialized(is_initialized),
        lambda: math_ops.logical_not(is_initialized.read_value()),
        lambda: math_ops.less(0, 0),
    )
    centers = array_ops.boolean_mask([clustering_ops.CLUSTERS_VAR_NAME], [centers])
    return array_ops.concat([missing, centers], 0)


def _parse_features_if_necessary(features, feature_columns):
    """The points [n, k]: of columns, of a dictionary by its keys' order, or as they are."""
    if not isinstance(features, dict):
        return features
    if feature_columns:
        return fc.input_layer(features, feature_columns)
    keys = sorted(features)
    with ops.colocate_with(features[keys[0]]):
        return array_ops.concat([features[key] for key in keys], axis=1)


class _ModelFn:
    """The model function; it takes no labels."""

    def __init__(
        self,
        num_clusters,
        initial_clusters,
        distance_metric,
        seed,
        use_mini_batch,
        mini_batch_steps_per_iteration,
        kmeans_plus_plus_num_retries,
        relative_tolerance,
        feature_columns,
    ):
        self._options = {
            "num_clusters": num_clusters,
            "initial_clusters": initial_clusters,
            "distance_metric": distance_metric,
            "random_seed": seed,
            "use_mini_batch": use_mini_batch,
            "mini_batch_steps_per_iteration": mini_batch_steps_per_iteration,
            "kmeans_plus_plus_num_retries": kmeans_plus_plus_num_retries,
        }
        self._relative_tolerance = relative_tolerance
        self._feature_columns = feature_columns

    def model_fn(self, features, mode, config):
        points = _parse_features_if_necessary(features, self._feature_columns)
        distances, indices, losses, is_initialized, init_op, training_op = clustering_ops.KMeans(
            inputs=points, **self._options
        ).training_graph()
        loss = math_ops.reduce_sum(losses)
        summary.scalar("loss/raw", loss)
        more = state_ops.assign_add(training_util.get_global_step(), 1)
        training_op = control_flow_ops.with_dependencies([training_op, more], loss)
        hooks = [_InitializeClustersHook(init_op, is_initialized, config.is_chief)]
        if self._relative_tolerance is not None:
            hooks.append(_LossRelativeChangeHook(loss, self._relative_tolerance))
        scaffold = None
        if mode == model_fn_lib.ModeKeys.TRAIN and not config.is_chief:
            scaffold = monitored_session.Scaffold(ready_op=_ready_when_initialized(is_initialized))
        predictions = {
            KMeansClustering.ALL_DISTANCES: distances[0],
            KMeansClustering.CLUSTER_INDEX: indices[0],
        }
        outputs = {key: export_output.PredictOutput(value) for key, value in predictions.items()}
        outputs[signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY] = export_output.PredictOutput(
            indices[0]
        )
        return model_fn_lib.EstimatorSpec(
            mode=mode,
            predictions=predictions,
            loss=loss,
            train_op=training_op,
            eval_metric_ops={KMeansClustering.SCORE: metrics.mean(loss)},
            training_hooks=hooks,
            scaffold=scaffold,
            export_outputs=outputs,
        )


@estimator_export(v1=["estimator.experimental.KMeans"])
class KMeansClustering(estimator.Estimator):
    """An Estimator that groups points around centers; arguments as of clustering_ops.KMeans.

    Args:
      relative_tolerance: training ends when the loss changes by less than this part of itself; None: never.
      feature_columns: of the features, if these are a dictionary; None: all features side by side.
    """

    SQUARED_EUCLIDEAN_DISTANCE = clustering_ops.SQUARED_EUCLIDEAN_DISTANCE
    COSINE_DISTANCE = clustering_ops.COSINE_DISTANCE
    RANDOM_INIT = clustering_ops.RANDOM_INIT
    KMEANS_PLUS_PLUS_INIT = clustering_ops.KMEANS_PLUS_PLUS_INIT

    SCORE = "score"  # what evaluate returns
    CLUSTER_INDEX = "cluster_index"  # what predict returns
    ALL_DISTANCES = "all_distances"

    CLUSTER_CENTERS_VAR_NAME = clustering_ops.CLUSTERS_VAR_NAME

    def __init__(
        self,
        num_clusters,
        model_dir=None,
        initial_clusters=RANDOM_INIT,
        distance_metric=SQUARED_EUCLIDEAN_DISTANCE,
        seed=None,
        use_mini_batch=True,
        mini_batch_steps_per_iteration=1,
        kmeans_plus_plus_num_retries=2,
        relative_tolerance=None,
        config=None,
        feature_columns=None,
    ):
        names = (self.RANDOM_INIT, self.KMEANS_PLUS_PLUS_INIT)
        if isinstance(initial_clusters, str) and initial_clusters not in names:
            raise ValueError(f"Unsupported initialization algorithm '{initial_clusters}'")
        if distance_metric not in (self.SQUARED_EUCLIDEAN_DISTANCE, self.COSINE_DISTANCE):
            raise ValueError(f"Unsupported distance metric '{distance_metric}'")
        self._distance_metric = distance_metric
        function = _ModelFn(
            num_clusters,
            initial_clusters,
            distance_metric,
            seed,
            use_mini_batch,
            mini_batch_steps_per_iteration,
            kmeans_plus_plus_num_retries,
            relative_tolerance,
            feature_columns,
        ).model_fn
        super().__init__(model_fn=function, model_dir=model_dir, config=config)

    def _predict_one_key(self, input_fn, predict_key):
        for result in self.predict(input_fn=input_fn, predict_keys=[predict_key]):
            yield result[predict_key]

    def predict_cluster_index(self, input_fn):
        """Yields the number of the center that is nearest to each point."""
        yield from self._predict_one_key(input_fn, self.CLUSTER_INDEX)

    def score(self, input_fn):
        """The sum of the squared distances of the points of the first batch to their centers."""
        return self.evaluate(input_fn=input_fn, steps=1)[self.SCORE]

    def transform(self, input_fn):
        """Yields the distances of each point to all centers."""
        is_squared = self._distance_metric == self.SQUARED_EUCLIDEAN_DISTANCE
        for distances in self._predict_one_key(input_fn, self.ALL_DISTANCES):
            yield np.sqrt(distances) if is_squared else distances

    def cluster_centers(self):
        """The centers [num_clusters, dimensions] of the latest checkpoint."""
        return self.get_variable_value(self.CLUSTER_CENTERS_VAR_NAME)
