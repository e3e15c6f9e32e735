"""The accuracy of a batch, and the F1 score at the best of several thresholds."""

from braid.tensorflow.contrib.metrics.python.ops.metric_ops import accuracy  # noqa: F401
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import metrics_impl
from braid.tensorflow.python.ops import variable_scope

__all__ = ["accuracy", "f1_score"]

_EPSILON = 1e-7  # as in TensorFlow, so that values are the same


def _best_f1(counts, name):
    """The greatest of the F1 scores of counts ("tp", "fp", "fn") at thresholds."""
    right = counts["tp"]
    precision = math_ops.div(right, _EPSILON + right + counts["fp"], name="precision_" + name)
    recall = math_ops.div(right, _EPSILON + right + counts["fn"], name="recall_" + name)
    return math_ops.reduce_max(2.0 * precision * recall / (precision + recall + _EPSILON))


def f1_score(
    labels,
    predictions,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """The best F1 score (2 precision recall / (precision + recall)) of predictions in [0, 1]."""
    with variable_scope.variable_scope(name, "f1", (labels, predictions, weights)):
        predictions, labels, weights = metrics_impl._remove_squeezable_dimensions(
            predictions=predictions, labels=labels, weights=weights
        )
        last = num_thresholds - 1
        thresholds = [-_EPSILON, *(i / last for i in range(1, last)), 1.0 + _EPSILON]
        values, updates = metrics_impl._confusion_matrix_at_thresholds(
            labels, predictions, thresholds, weights, includes=("tp", "fp", "fn")
        )
        return metrics_impl._collect(
            _best_f1(values, "value"), _best_f1(updates, "update"), metrics_collections, updates_collections
        )
