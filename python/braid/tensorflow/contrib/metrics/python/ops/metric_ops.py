"""streaming_accuracy and its kind, whose first argument is the predictions."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.ops import confusion_matrix as _confusion_matrix
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import metrics_impl

__all__ = [
    "accuracy",
    "aggregate_metric_map",
    "aggregate_metrics",
    "confusion_matrix",
    "streaming_accuracy",
    "streaming_auc",
    "streaming_false_negatives",
    "streaming_false_positives",
    "streaming_mean",
    "streaming_mean_absolute_error",
    "streaming_mean_iou",
    "streaming_mean_relative_error",
    "streaming_mean_squared_error",
    "streaming_mean_tensor",
    "streaming_percentage_less",
    "streaming_precision",
    "streaming_recall",
    "streaming_recall_at_k",
    "streaming_root_mean_squared_error",
    "streaming_sparse_precision_at_k",
    "streaming_sparse_recall_at_k",
    "streaming_true_negatives",
    "streaming_true_positives",
]

confusion_matrix = _confusion_matrix.confusion_matrix_v1


def accuracy(predictions, labels, weights=None, name=None):
    """How often predictions equal labels in this batch."""
    from braid.tensorflow.python.framework import ops

    with ops.name_scope(name, "accuracy", [predictions, labels, weights]):
        is_correct = math_ops.cast(math_ops.equal(predictions, labels), dtypes.float32)
        if weights is None:
            return math_ops.reduce_mean(is_correct)
        weights = math_ops.cast(weights, dtypes.float32)
        number = math_ops.reduce_sum(weights * math_ops.cast(math_ops.equal(labels, labels), dtypes.float32))
        return math_ops.div(math_ops.reduce_sum(math_ops.multiply(is_correct, weights)), number)


def _reordered(function, name, doc=None):
    def streaming(
        predictions,
        labels,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
        **kwargs,
    ):
        return function(
            labels=labels,
            predictions=predictions,
            weights=weights,
            metrics_collections=metrics_collections,
            updates_collections=updates_collections,
            name=name,
            **kwargs,
        )

    streaming.__name__ = streaming.__qualname__ = name
    streaming.__doc__ = doc or f"tf.metrics.{function.__name__}, the predictions first."
    return streaming


streaming_accuracy = _reordered(metrics_impl.accuracy, "streaming_accuracy")
streaming_auc = _reordered(metrics_impl.auc, "streaming_auc")
streaming_false_negatives = _reordered(metrics_impl.false_negatives, "streaming_false_negatives")
streaming_false_positives = _reordered(metrics_impl.false_positives, "streaming_false_positives")
streaming_true_negatives = _reordered(metrics_impl.true_negatives, "streaming_true_negatives")
streaming_true_positives = _reordered(metrics_impl.true_positives, "streaming_true_positives")
streaming_precision = _reordered(metrics_impl.precision, "streaming_precision")
streaming_recall = _reordered(metrics_impl.recall, "streaming_recall")
streaming_mean_absolute_error = _reordered(metrics_impl.mean_absolute_error, "streaming_mean_absolute_error")
streaming_mean_squared_error = _reordered(metrics_impl.mean_squared_error, "streaming_mean_squared_error")
streaming_root_mean_squared_error = _reordered(
    metrics_impl.root_mean_squared_error, "streaming_root_mean_squared_error"
)
streaming_mean = metrics_impl.mean
streaming_mean_tensor = metrics_impl.mean_tensor
streaming_percentage_less = metrics_impl.percentage_below


def streaming_mean_relative_error(
    predictions,
    labels,
    normalizer,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    return metrics_impl.mean_relative_error(
        labels, predictions, normalizer, weights, metrics_collections, updates_collections, name
    )


def streaming_mean_iou(
    predictions,
    labels,
    num_classes,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    return metrics_impl.mean_iou(
        labels, predictions, num_classes, weights, metrics_collections, updates_collections, name
    )


def streaming_recall_at_k(
    predictions, labels, k, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    """How often the label (int64 [batch]) is among the k best of predictions [batch, classes]."""
    from braid.tensorflow.python.ops import nn

    in_top_k = math_ops.cast(nn.in_top_k(predictions, labels, k), dtypes.float32)
    return metrics_impl.mean(
        in_top_k, weights, metrics_collections, updates_collections, name or f"recall_at_{k}"
    )


def streaming_sparse_recall_at_k(
    predictions,
    labels,
    k,
    class_id=None,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    return metrics_impl.recall_at_k(
        labels, predictions, k, class_id, weights, metrics_collections, updates_collections, name
    )


def streaming_sparse_precision_at_k(
    predictions,
    labels,
    k,
    class_id=None,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    return metrics_impl.precision_at_k(
        labels, predictions, k, class_id, weights, metrics_collections, updates_collections, name
    )


def aggregate_metrics(*value_update_tuples):
    """The values and the update ops of metrics, as two lists."""
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples)
    return list(values), list(updates)


def aggregate_metric_map(names_to_tuples):
    """{name: value} and {name: update op} of {name: (value, update op)}."""
    names = list(names_to_tuples)
    values, updates = zip(*names_to_tuples.values())
    return dict(zip(names, values)), dict(zip(names, updates))
