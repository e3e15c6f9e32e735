"""streaming_accuracy and its kind, whose first argument is the predictions."""

from braid.tensorflow.contrib.metrics.python.ops import curve_ops
from braid.tensorflow.contrib.metrics.python.ops.curve_ops import *  # noqa: F401,F403
from braid.tensorflow.contrib.metrics.python.ops.curve_ops import _next_array_size  # noqa: F401
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import confusion_matrix as _confusion_matrix
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import metrics_impl
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variable_scope

__all__ = [
    *curve_ops.__all__,
    "accuracy",
    "aggregate_metric_map",
    "aggregate_metrics",
    "confusion_matrix",
    "streaming_covariance",
    "streaming_pearson_correlation",
    "cohen_kappa",
    "count",
    "sparse_recall_at_top_k",
    "streaming_false_negative_rate",
    "streaming_false_negative_rate_at_thresholds",
    "streaming_false_negatives_at_thresholds",
    "streaming_false_positive_rate",
    "streaming_false_positive_rate_at_thresholds",
    "streaming_false_positives_at_thresholds",
    "streaming_mean_cosine_distance",
    "streaming_precision_at_thresholds",
    "streaming_recall_at_thresholds",
    "streaming_sensitivity_at_specificity",
    "streaming_sparse_average_precision_at_k",
    "streaming_sparse_average_precision_at_top_k",
    "streaming_sparse_precision_at_top_k",
    "streaming_specificity_at_sensitivity",
    "streaming_true_negatives_at_thresholds",
    "streaming_true_positives_at_thresholds",
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
    if not (labels.dtype.is_integer or labels.dtype in (dtypes.bool, dtypes.string)):
        raise ValueError(f"Labels should have bool, integer, or string dtype, not {labels.dtype!r}")
    if not labels.dtype.is_compatible_with(predictions.dtype):
        raise ValueError(
            "Dtypes of predictions and labels should match. "
            f"Given: predictions ({predictions.dtype!r}) and labels ({labels.dtype!r})"
        )
    with ops.name_scope(name, "accuracy", [predictions, labels, weights]):
        is_correct = math_ops.cast(math_ops.equal(predictions, labels), dtypes.float32)
        if weights is None:
            return math_ops.reduce_mean(is_correct)
        weights = _as_floats(weights)
        is_correct = math_ops.multiply(is_correct, weights)
        numbers = math_ops.multiply(weights, array_ops.ones_like(is_correct))
        return math_ops.div(math_ops.reduce_sum(is_correct), math_ops.reduce_sum(numbers))


def _as_floats(weights):
    """Weights of another type as float32."""
    dtype = getattr(weights, "dtype", None)
    return weights if dtype is None or dtype == dtypes.float32 else math_ops.cast(weights, dtypes.float32)


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


def streaming_mean_cosine_distance(
    predictions,
    labels,
    dim,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    return metrics_impl.mean_cosine_distance(
        labels, predictions, dim, weights, metrics_collections, updates_collections, name
    )


def _with_thresholds(function, name):
    def streaming(
        predictions,
        labels,
        thresholds,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        return function(
            labels, predictions, thresholds, weights, metrics_collections, updates_collections, name
        )

    streaming.__name__ = streaming.__qualname__ = name
    streaming.__doc__ = f"tf.metrics.{function.__name__}, the predictions first."
    return streaming


streaming_precision_at_thresholds = _with_thresholds(
    metrics_impl.precision_at_thresholds, "streaming_precision_at_thresholds"
)
streaming_recall_at_thresholds = _with_thresholds(
    metrics_impl.recall_at_thresholds, "streaming_recall_at_thresholds"
)
streaming_true_positives_at_thresholds = _with_thresholds(
    metrics_impl.true_positives_at_thresholds, "streaming_true_positives_at_thresholds"
)
streaming_true_negatives_at_thresholds = _with_thresholds(
    metrics_impl.true_negatives_at_thresholds, "streaming_true_negatives_at_thresholds"
)
streaming_false_positives_at_thresholds = _with_thresholds(
    metrics_impl.false_positives_at_thresholds, "streaming_false_positives_at_thresholds"
)
streaming_false_negatives_at_thresholds = _with_thresholds(
    metrics_impl.false_negatives_at_thresholds, "streaming_false_negatives_at_thresholds"
)


def streaming_specificity_at_sensitivity(
    predictions,
    labels,
    sensitivity,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    return metrics_impl.specificity_at_sensitivity(
        labels,
        predictions,
        sensitivity,
        weights,
        num_thresholds,
        metrics_collections,
        updates_collections,
        name,
    )


def streaming_sensitivity_at_specificity(
    predictions,
    labels,
    specificity,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    return metrics_impl.sensitivity_at_specificity(
        labels,
        predictions,
        specificity,
        weights,
        num_thresholds,
        metrics_collections,
        updates_collections,
        name,
    )


def streaming_sparse_precision_at_top_k(
    top_k_predictions,
    labels,
    class_id=None,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """tf.metrics.precision_at_top_k, the classes [..., k] first."""
    with ops.name_scope(
        name, metrics_impl._at_k_name("precision", class_id=class_id), (top_k_predictions, labels, weights)
    ) as scope:
        return metrics_impl.precision_at_top_k(
            labels,
            top_k_predictions,
            class_id=class_id,
            weights=weights,
            metrics_collections=metrics_collections,
            updates_collections=updates_collections,
            name=scope,
        )


def sparse_recall_at_top_k(
    labels,
    top_k_predictions,
    class_id=None,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """tf.metrics.recall_at_top_k."""
    with ops.name_scope(
        name, metrics_impl._at_k_name("recall", class_id=class_id), (top_k_predictions, labels, weights)
    ) as scope:
        return metrics_impl.recall_at_top_k(
            labels,
            top_k_predictions,
            class_id=class_id,
            weights=weights,
            metrics_collections=metrics_collections,
            updates_collections=updates_collections,
            name=scope,
        )


def streaming_sparse_average_precision_at_k(
    predictions, labels, k, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    return metrics_impl.average_precision_at_k(
        labels, predictions, k, weights, metrics_collections, updates_collections, name
    )


def streaming_sparse_average_precision_at_top_k(
    top_k_predictions, labels, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    return metrics_impl._streaming_sparse_average_precision_at_top_k(
        labels, top_k_predictions, weights, metrics_collections, updates_collections, name
    )


def _false_rate(scope, false, true, predictions, labels, weights, collections, name):
    """What is falsely predicted, by it and what `true` counts."""
    with variable_scope.variable_scope(name, scope, [predictions, labels, weights]):
        predictions, labels, weights = metrics_impl._remove_squeezable_dimensions(
            math_ops.cast(predictions, dtypes.bool), math_ops.cast(labels, dtypes.bool), weights
        )
        wrong, update_wrong = false(labels, predictions, weights)
        right, update_right = true(labels, predictions, weights)
        return metrics_impl._collect(
            metrics_impl._quotient(wrong, right, "value"),
            metrics_impl._quotient(update_wrong, update_right, "update_op"),
            *collections,
        )


def streaming_false_positive_rate(
    predictions, labels, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    """False positives by all that is negative."""
    return _false_rate(
        "false_positive_rate",
        metrics_impl.false_positives,
        metrics_impl.true_negatives,
        predictions,
        labels,
        weights,
        (metrics_collections, updates_collections),
        name,
    )


def streaming_false_negative_rate(
    predictions, labels, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    """False negatives by all that is positive."""
    return _false_rate(
        "false_negative_rate",
        metrics_impl.false_negatives,
        metrics_impl.true_positives,
        predictions,
        labels,
        weights,
        (metrics_collections, updates_collections),
        name,
    )


def _false_rates_at_thresholds(
    scope, false, true, predictions, labels, thresholds, weights, collections, name
):
    with variable_scope.variable_scope(name, scope, [predictions, labels, weights]):
        values, updates = metrics_impl._confusion_matrix_at_thresholds(
            labels, predictions, thresholds, weights, includes=(false, true)
        )

        def rate(counts, name):
            return math_ops.div(counts[false], 1e-7 + counts[false] + counts[true], name=f"{scope}_{name}")

        return metrics_impl._collect(rate(values, "value"), rate(updates, "update_op"), *collections)


def streaming_false_positive_rate_at_thresholds(
    predictions,
    labels,
    thresholds,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """streaming_false_positive_rate() of what is above each threshold."""
    collections = metrics_collections, updates_collections
    return _false_rates_at_thresholds(
        "false_positive_rate_at_thresholds",
        "fp",
        "tn",
        predictions,
        labels,
        thresholds,
        weights,
        collections,
        name,
    )


def streaming_false_negative_rate_at_thresholds(
    predictions,
    labels,
    thresholds,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """streaming_false_negative_rate() of what is above each threshold."""
    collections = metrics_collections, updates_collections
    return _false_rates_at_thresholds(
        "false_negative_rate_at_thresholds",
        "fn",
        "tp",
        predictions,
        labels,
        thresholds,
        weights,
        collections,
        name,
    )


def count(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """The sum of the weights of all values, or their number."""
    with variable_scope.variable_scope(name, "count", (values, weights)):
        count_ = metrics_impl.metric_variable([], dtypes.float32, name="count")
        if weights is None:
            number = math_ops.cast(array_ops.size(values), dtypes.float32)
        else:
            values = math_ops.cast(values, dtypes.float32)
            values, _, weights = metrics_impl._remove_squeezable_dimensions(values, None, weights)
            weights = metrics_impl._broadcast(weights, values)
            number = math_ops.reduce_sum(weights)
        with ops.control_dependencies([values]):
            update_op = state_ops.assign_add(count_, number)
        return metrics_impl._collect(
            array_ops.identity(count_), update_op, metrics_collections, updates_collections
        )


def cohen_kappa(
    labels,
    predictions_idx,
    num_classes,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """How far two raters agree beyond chance (Cohen 1960): 1 in all, 0 as often as by chance.

    labels, predictions_idx: classes [examples] from 0 to num_classes - 1.
    """
    if num_classes < 2:
        raise ValueError(f"`num_classes` must be >= 2.Found: {num_classes}")
    with variable_scope.variable_scope(name, "cohen_kappa", (labels, predictions_idx, weights)):
        labels = ops.convert_to_tensor(labels)
        if labels.shape.with_rank_at_most(2).ndims == 2:
            labels = array_ops.squeeze(labels, axis=[-1])
        predictions_idx, labels, weights = metrics_impl._remove_squeezable_dimensions(
            predictions=predictions_idx, labels=labels, weights=weights
        )
        predictions_idx.shape.assert_is_compatible_with(labels.shape)
        dtype = dtypes.int64 if weights is None or weights.dtype.is_integer else dtypes.float32
        table = _confusion_matrix.confusion_matrix(
            labels, predictions_idx, num_classes, weights=weights, dtype=dtype, name="counts_in_table"
        )
        of_batch = {
            "po": array_ops.diag_part(table),
            "pe_row": math_ops.reduce_sum(table, axis=0),
            "pe_col": math_ops.reduce_sum(table, axis=1),
        }
        sums = {n: metrics_impl.metric_variable((num_classes,), dtype, name=n) for n in of_batch}
        updated = {n: state_ops.assign_add(sums[n], of_batch[n]) for n in of_batch}

        def kappa(sums, name):
            agreed, row, column = (math_ops.cast(sums[n], dtypes.float64) for n in ("po", "pe_row", "pe_col"))
            total = math_ops.reduce_sum(row)
            agreed = math_ops.reduce_sum(agreed)
            by_chance = math_ops.reduce_sum(math_ops.div_no_nan(row * column, total))
            return math_ops.div_no_nan(agreed - by_chance, total - by_chance, name=name)

        return metrics_impl._collect(
            kappa(sums, "value"), kappa(updated, "update_op"), metrics_collections, updates_collections
        )


def streaming_covariance(
    predictions, labels, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    """The covariance of predictions and labels, without bias (Chan, Golub, LeVeque 1979)."""
    with variable_scope.variable_scope(name, "covariance", (predictions, labels, weights)):
        predictions, labels, weights = metrics_impl._remove_squeezable_dimensions(
            math_ops.cast(predictions, dtypes.float32), math_ops.cast(labels, dtypes.float32), weights
        )
        number, mean_prediction, mean_label, comoment = (
            metrics_impl.metric_variable([], dtypes.float32, name=n)
            for n in ("count", "mean_prediction", "mean_label", "comoment")
        )
        if weights is None:
            batch_number = math_ops.cast(array_ops.size(labels), dtypes.float32)
            weighted = predictions, labels
        else:
            weights = metrics_impl._broadcast(weights, labels)
            batch_number = math_ops.reduce_sum(weights)
            weighted = math_ops.multiply(predictions, weights), math_ops.multiply(labels, weights)
        new_number = state_ops.assign_add(number, batch_number)
        old_number = new_number - batch_number

        def moved(mean, weighted):
            """The mean of the batch, and the mean before it."""
            batch_mean = math_ops.div_no_nan(math_ops.reduce_sum(weighted), batch_number)
            delta = math_ops.div_no_nan((batch_mean - mean) * batch_number, new_number)
            new_mean = state_ops.assign_add(mean, delta)
            return batch_mean, new_mean - delta

        batch_prediction, old_prediction = moved(mean_prediction, weighted[0])
        batch_label, old_label = moved(mean_label, weighted[1])
        products = (predictions - batch_prediction) * (labels - batch_label)
        batch_comoment = math_ops.reduce_sum(products if weights is None else products * weights)
        between = (old_prediction - batch_prediction) * (old_label - batch_label)
        share = math_ops.div_no_nan(old_number * batch_number, new_number)
        new_comoment = state_ops.assign_add(comoment, batch_comoment + between * share)

        def covariance(comoment, number, name):
            return array_ops.where(
                math_ops.less_equal(number, 1.0), float("nan"), comoment / (number - 1), name=name
            )

        value = covariance(comoment, number, "covariance")
        update_op = covariance(new_comoment, new_number, "update_op")
        return metrics_impl._collect(value, update_op, metrics_collections, updates_collections)


def streaming_pearson_correlation(
    predictions, labels, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    """The covariance by the standard deviations."""
    with variable_scope.variable_scope(name, "pearson_r", (predictions, labels, weights)):
        predictions, labels, weights = metrics_impl._remove_squeezable_dimensions(
            math_ops.cast(predictions, dtypes.float32), math_ops.cast(labels, dtypes.float32), weights
        )
        if weights is not None:
            weights = metrics_impl._broadcast(weights, labels)
        both = streaming_covariance(predictions, labels, weights, name="covariance")
        of_predictions = streaming_covariance(predictions, predictions, weights, name="variance_predictions")
        of_labels = streaming_covariance(labels, labels, weights, name="variance_labels")

        def correlation(index, name):
            deviations = math_ops.sqrt(of_predictions[index]) * math_ops.sqrt(of_labels[index])
            return math_ops.truediv(both[index], deviations, name=name)

        return metrics_impl._collect(
            correlation(0, "pearson_r"),
            correlation(1, "update_op"),
            metrics_collections,
            updates_collections,
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
