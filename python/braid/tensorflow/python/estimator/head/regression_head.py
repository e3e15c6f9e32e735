"""RegressionHead, PoissonRegressionHead, LogisticRegressionHead: numbers."""

from braid.tensorflow.python.estimator.canned import metric_keys
from braid.tensorflow.python.estimator.canned import prediction_keys
from braid.tensorflow.python.estimator.export import export_output
from braid.tensorflow.python.estimator.head import base_head
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras import metrics as keras_metrics
from braid.tensorflow.python.keras.utils import losses_utils
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops.losses import losses
from braid.tensorflow.python.util.tf_export import estimator_export

_Keys = metric_keys.MetricKeys
_Pred = prediction_keys.PredictionKeys
_MEAN = losses_utils.ReductionV2.SUM_OVER_BATCH_SIZE


@estimator_export("estimator.RegressionHead")
class RegressionHead(base_head.SimpleHead):
    """Numbers [batch, label_dimension].

    weight_column: the feature with the weights of examples, or of each number. loss_fn: (labels, logits) to
    losses [batch, label_dimension]; without one, squares of differences. inverse_link_fn: logits to
    predictions.
    """

    _allow_per_logit_weights = True

    def __init__(
        self,
        label_dimension=1,
        weight_column=None,
        loss_reduction=_MEAN,
        loss_fn=None,
        inverse_link_fn=None,
        name=None,
    ):
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        super().__init__(weight_column, loss_reduction, loss_fn, name)
        self._logits_dimension = self._loss_dimension = label_dimension
        self._inverse_link_fn = inverse_link_fn

    @property
    def logits_dimension(self):
        return self._logits_dimension

    def _processed_labels(self, logits, labels):
        labels = base_head.check_dense_labels_match_logits_and_reshape(labels, logits, self._logits_dimension)
        return math_ops.cast(labels, dtypes.float32)

    def _unweighted_loss(self, logits, labels):
        return losses.mean_squared_error(labels=labels, predictions=logits, reduction=losses.Reduction.NONE)

    def predictions(self, logits, keys=None):
        logits = base_head.check_logits_final_dim(logits, self._logits_dimension)
        with ops.name_scope("predictions", values=(logits,)):
            if self._inverse_link_fn:
                return {_Pred.PREDICTIONS: self._inverse_link_fn(logits), _Pred.LOGITS: logits}
            return {_Pred.PREDICTIONS: logits}

    def _export_outputs(self, predictions):
        output = export_output.RegressionOutput(value=predictions[_Pred.PREDICTIONS])
        return {
            base_head.DEFAULT_SERVING_KEY: output,
            base_head.REGRESS_SERVING_KEY: output,
            base_head.PREDICT_SERVING_KEY: export_output.PredictOutput(predictions),
        }

    def metrics(self, regularization_losses=None):
        with ops.name_scope("metrics"):
            metrics = self._loss_metrics(regularization_losses)
            for key in (_Keys.PREDICTION_MEAN, _Keys.LABEL_MEAN):
                metrics[self._summary_key(key)] = keras_metrics.Mean(name=key)
        return metrics

    def _update(self, eval_metrics, predictions, labels, weights):
        eval_metrics[self._summary_key(_Keys.LABEL_MEAN)].update_state(values=labels, sample_weight=weights)
        base_head.update_metric_with_broadcast_weights(
            eval_metrics[self._summary_key(_Keys.PREDICTION_MEAN)], predictions[_Pred.PREDICTIONS], weights
        )


@estimator_export("estimator.PoissonRegressionHead")
class PoissonRegressionHead(RegressionHead):
    """Counts, by Poisson's loss of the logarithm. compute_full_loss: with the term of the labels alone."""

    def __init__(
        self, label_dimension=1, weight_column=None, loss_reduction=_MEAN, compute_full_loss=True, name=None
    ):
        def loss_fn(labels, logits):
            return nn.log_poisson_loss(targets=labels, log_input=logits, compute_full_loss=compute_full_loss)

        super().__init__(label_dimension, weight_column, loss_reduction, loss_fn, math_ops.exp, name)


@estimator_export("estimator.LogisticRegressionHead")
class LogisticRegressionHead(RegressionHead):
    """Probabilities, by the cross entropy of a logit."""

    def __init__(self, weight_column=None, loss_reduction=_MEAN, name=None):
        def loss_fn(labels, logits):
            labels = base_head.check_label_range(
                labels, n_classes=2, message="Labels must be in range [0, 1]"
            )
            return nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

        super().__init__(1, weight_column, loss_reduction, loss_fn, math_ops.sigmoid, name)
