"""Metrics of forests by their names."""

import numpy as np

from braid.tensorflow.contrib import losses
from braid.tensorflow.contrib.learn.python.learn.estimators import prediction_key
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.ops import array_ops, math_ops, metrics, nn

INFERENCE_PROB_NAME = prediction_key.PredictionKey.PROBABILITIES
INFERENCE_PRED_NAME = prediction_key.PredictionKey.CLASSES
FEATURE_IMPORTANCE_NAME = "global_feature_importance"

_THRESHOLDS = np.arange(0, 1, 0.01, dtype=np.float32)


def _top_k_generator(k):
    def _top_k(probabilities, targets):
        targets = math_ops.cast(targets, dtypes.int32)
        if targets.get_shape().ndims > 1:
            targets = array_ops.squeeze(targets, axis=[1])
        return metrics.mean(nn.in_top_k(probabilities, targets, k))

    return _top_k


def _accuracy(predictions, targets, weights=None):
    return metrics.accuracy(labels=targets, predictions=predictions, weights=weights)


def _r2(probabilities, targets, weights=None):
    targets = math_ops.cast(targets, dtypes.float32)
    mean = math_ops.reduce_mean(targets, 0)
    total = math_ops.reduce_sum(math_ops.squared_difference(targets, mean), 0)
    residuals = math_ops.reduce_sum(math_ops.squared_difference(targets, probabilities), 0)
    return metrics.mean(1 - math_ops.reduce_sum(residuals / total), weights=weights)


def _squeeze_and_onehot(targets, depth):
    targets = array_ops.squeeze(targets, axis=[1])
    return array_ops.one_hot(math_ops.cast(targets, dtypes.int32), depth)


def _onehot_like(targets, probabilities):
    return _squeeze_and_onehot(targets, array_ops.shape(probabilities)[1])


def _sigmoid_entropy(probabilities, targets, weights=None):
    loss = losses.sigmoid_cross_entropy(probabilities, _onehot_like(targets, probabilities))
    return metrics.mean(loss, weights=weights)


def _softmax_entropy(probabilities, targets, weights=None):
    loss = losses.sparse_softmax_cross_entropy(probabilities, math_ops.cast(targets, dtypes.int32))
    return metrics.mean(loss, weights=weights)


def _predictions(predictions, unused_targets, **unused_kwargs):
    return predictions


def _class_log_loss(probabilities, targets, weights=None):
    loss = losses.log_loss(probabilities, _onehot_like(targets, probabilities))
    return metrics.mean(loss, weights=weights)


def _precision(predictions, targets, weights=None):
    return metrics.precision(labels=targets, predictions=predictions, weights=weights)


def _of_class_1(probabilities):
    return array_ops.slice(probabilities, [0, 1], [-1, 1])


def _precision_at_thresholds(predictions, targets, weights=None):
    return metrics.precision_at_thresholds(
        labels=targets, predictions=_of_class_1(predictions), thresholds=_THRESHOLDS, weights=weights
    )


def _recall(predictions, targets, weights=None):
    return metrics.recall(labels=targets, predictions=predictions, weights=weights)


def _recall_at_thresholds(predictions, targets, weights=None):
    return metrics.recall_at_thresholds(
        labels=targets, predictions=_of_class_1(predictions), thresholds=_THRESHOLDS, weights=weights
    )


def _auc(probs, targets, weights=None):
    return metrics.auc(labels=targets, predictions=_of_class_1(probs), weights=weights)


_SCORES = prediction_key.PredictionKey.SCORES

# The function of each metric, and the prediction that it takes.
_METRICS = {
    "auc": (_auc, INFERENCE_PROB_NAME),
    "sigmoid_entropy": (_sigmoid_entropy, INFERENCE_PROB_NAME),
    "softmax_entropy": (_softmax_entropy, INFERENCE_PROB_NAME),
    "accuracy": (_accuracy, INFERENCE_PRED_NAME),
    "r2": (_r2, _SCORES),
    "predictions": (_predictions, INFERENCE_PRED_NAME),
    "classification_log_loss": (_class_log_loss, INFERENCE_PROB_NAME),
    "precision": (_precision, INFERENCE_PRED_NAME),
    "precision_at_thresholds": (_precision_at_thresholds, INFERENCE_PROB_NAME),
    "recall": (_recall, INFERENCE_PRED_NAME),
    "recall_at_thresholds": (_recall_at_thresholds, INFERENCE_PROB_NAME),
    "top_5": (_top_k_generator(5), INFERENCE_PROB_NAME),
}


def get_metric(metric_name):
    """The function of a metric: (predictions, targets, weights=None) -> (value, update)."""
    return _METRICS[metric_name][0]


def get_prediction_key(metric_name):
    """The name of the prediction that a metric takes."""
    return _METRICS[metric_name][1]
