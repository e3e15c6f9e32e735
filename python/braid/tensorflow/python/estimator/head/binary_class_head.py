"""BinaryClassHead: one of two classes, by one logit."""

from braid.tensorflow.python.estimator.canned import metric_keys
from braid.tensorflow.python.estimator.canned import prediction_keys
from braid.tensorflow.python.estimator.export import export_output
from braid.tensorflow.python.estimator.head import base_head
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras import metrics as keras_metrics
from braid.tensorflow.python.keras.utils import losses_utils
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops import weights_broadcast_ops
from braid.tensorflow.python.util.tf_export import estimator_export

_Keys = metric_keys.MetricKeys
_Pred = prediction_keys.PredictionKeys


@estimator_export("estimator.BinaryClassHead")
class BinaryClassHead(base_head.Thresholds, base_head.Vocabulary, base_head.SimpleHead):
    """One of two classes; labels are in [0, 1], or values of label_vocabulary.

    weight_column: the feature with the weights of examples. thresholds: numbers in (0, 1) for which
    accuracy, precision and recall are computed. loss_fn: (labels, logits) to losses [batch, 1].
    """

    def __init__(
        self,
        weight_column=None,
        thresholds=None,
        label_vocabulary=None,
        loss_reduction=losses_utils.ReductionV2.SUM_OVER_BATCH_SIZE,
        loss_fn=None,
        name=None,
    ):
        base_head.check_vocabulary(label_vocabulary)
        self._thresholds = base_head.checked_thresholds(thresholds)
        self._label_vocabulary = label_vocabulary
        super().__init__(weight_column, loss_reduction, loss_fn, name)

    @property
    def logits_dimension(self):
        return 1

    def _processed_labels(self, logits, labels):
        labels = base_head.check_dense_labels_match_logits_and_reshape(labels, logits, 1)
        if self._label_vocabulary is not None:
            labels = self._class_id_table().lookup(labels)
        return base_head.check_label_range(math_ops.cast(labels, dtypes.float32), n_classes=2)

    def _unweighted_loss(self, logits, labels):
        return nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def predictions(self, logits, keys=None):
        valid = [
            _Pred.LOGITS,
            _Pred.LOGISTIC,
            _Pred.PROBABILITIES,
            _Pred.CLASS_IDS,
            _Pred.CLASSES,
            _Pred.ALL_CLASS_IDS,
            _Pred.ALL_CLASSES,
        ]
        base_head.check_prediction_keys(keys or [], valid)
        logits = base_head.check_logits_final_dim(logits, self.logits_dimension)
        with ops.name_scope("predictions", values=(logits,)):
            two = array_ops.concat((array_ops.zeros_like(logits), logits), axis=-1, name="two_class_logits")
            ids = lambda: array_ops.expand_dims(  # noqa: E731
                math_ops.argmax(two, axis=-1, name=_Pred.CLASS_IDS), axis=-1
            )
            result = {}
            for key in keys or valid:
                if key == _Pred.LOGITS:
                    result[key] = logits
                elif key == _Pred.LOGISTIC:
                    result[key] = math_ops.sigmoid(logits, name=key)
                elif key == _Pred.PROBABILITIES:
                    result[key] = nn.softmax(two, name=key)
                elif key == _Pred.CLASS_IDS:
                    result[key] = ids()
                elif key == _Pred.CLASSES:
                    known = result.get(_Pred.CLASS_IDS)
                    result[key] = self._class_names(ids() if known is None else known)
                elif key == _Pred.ALL_CLASS_IDS:
                    result[key] = base_head.all_class_ids(logits, 2)
                else:
                    result[key] = base_head.all_classes(logits, 2, self._label_vocabulary)
            return result

    def _export_outputs(self, predictions):
        outputs = base_head.classification_outputs(predictions, 2, self._label_vocabulary)
        outputs[base_head.REGRESS_SERVING_KEY] = export_output.RegressionOutput(
            value=predictions[_Pred.LOGISTIC]
        )
        return outputs

    def metrics(self, regularization_losses=None):
        with ops.name_scope("metrics"):
            metrics = self._loss_metrics(regularization_losses)
            for key, make in (
                (_Keys.ACCURACY, keras_metrics.Accuracy),
                (_Keys.PRECISION, keras_metrics.Precision),
                (_Keys.RECALL, keras_metrics.Recall),
                (_Keys.PREDICTION_MEAN, keras_metrics.Mean),
                (_Keys.LABEL_MEAN, keras_metrics.Mean),
                (_Keys.ACCURACY_BASELINE, keras_metrics.Mean),
                (_Keys.AUC, keras_metrics.AUC),
            ):
                metrics[self._summary_key(key)] = make(name=key)
            metrics[self._summary_key(_Keys.AUC_PR)] = keras_metrics.AUC(curve="PR", name=_Keys.AUC_PR)
            metrics.update(self._threshold_metrics())
        return metrics

    def _update(self, eval_metrics, predictions, labels, weights):
        metric = lambda key: eval_metrics[self._summary_key(key)]  # noqa: E731
        logistic = predictions[_Pred.LOGISTIC]
        for key in (_Keys.ACCURACY, _Keys.PRECISION, _Keys.RECALL):
            metric(key).update_state(
                y_true=labels, y_pred=predictions[_Pred.CLASS_IDS], sample_weight=weights
            )
        base_head.update_metric_with_broadcast_weights(metric(_Keys.PREDICTION_MEAN), logistic, weights)
        base_head.update_metric_with_broadcast_weights(metric(_Keys.LABEL_MEAN), labels, weights)
        self._update_accuracy_baseline(eval_metrics)
        each = None if weights is None else weights_broadcast_ops.broadcast_weights(weights, logistic)
        for key in (_Keys.AUC, _Keys.AUC_PR):
            metric(key).update_state(y_true=labels, y_pred=logistic, sample_weight=each)
        self._update_thresholds(eval_metrics, labels, logistic, weights)

    def _update_accuracy_baseline(self, eval_metrics):
        """The accuracy of always saying the more frequent class follows from the labels' mean."""
        mean = eval_metrics[self._summary_key(_Keys.LABEL_MEAN)]
        baseline = eval_metrics[self._summary_key(_Keys.ACCURACY_BASELINE)]
        baseline._updates = [control_flow_ops.no_op()]
        baseline.total = math_ops.maximum(mean.total, mean.count - mean.total)
        baseline.count = mean.count
