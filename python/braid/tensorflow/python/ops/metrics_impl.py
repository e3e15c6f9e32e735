"""Metrics over many batches (tf.metrics): each has local variables, a value of them, and an op that updates.

Each function returns (value, update_op), both also added to the collections that are named. `weights` is
None (1), or of the shape of what it weighs with sizes of 1 where it is broadcast.
"""

import functools

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import confusion_matrix
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops import sets
from braid.tensorflow.python.ops import sparse_ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.ops import weights_broadcast_ops
from braid.tensorflow.python.util.tf_export import tf_export


def metric_variable(shape, dtype, validate_shape=True, name=None):
    """A local variable of zeros, in METRIC_VARIABLES too."""
    return variable_scope.variable(
        lambda: array_ops.zeros(shape, dtype),
        trainable=False,
        collections=[ops.GraphKeys.LOCAL_VARIABLES, ops.GraphKeys.METRIC_VARIABLES],
        validate_shape=validate_shape,
        synchronization=variable_scope.VariableSynchronization.ON_READ,
        aggregation=variable_scope.VariableAggregation.SUM,
        name=name,
    )


# Arguments.


def _remove_squeezable_dimensions(predictions, labels, weights):
    """The three with a last axis of size 1 taken away, or added to weights, where the ranks differ by one."""
    predictions = ops.convert_to_tensor(predictions)
    if labels is not None:
        labels, predictions = confusion_matrix.remove_squeezable_dimensions(labels, predictions)
        predictions.get_shape().assert_is_compatible_with(labels.get_shape())
    if weights is None:
        return predictions, labels, None
    weights = ops.convert_to_tensor(weights)
    weights_rank = weights.get_shape().ndims
    if weights_rank == 0:
        return predictions, labels, weights
    predictions_rank = predictions.get_shape().ndims
    if predictions_rank is not None and weights_rank is not None:
        if weights_rank - predictions_rank == 1:
            weights = array_ops.squeeze(weights, [-1])
        elif predictions_rank - weights_rank == 1:
            weights = array_ops.expand_dims(weights, [-1])
        return predictions, labels, weights
    difference = array_ops.rank(weights) - array_ops.rank(predictions)
    unchanged = weights

    def expanded():
        return control_flow_ops.cond(
            math_ops.equal(difference, -1),
            lambda: array_ops.expand_dims(unchanged, [-1]),
            lambda: unchanged,
        )

    if weights_rank is not None and not weights.get_shape().dims[-1].is_compatible_with(1):
        adjusted = expanded
    else:

        def adjusted():
            return control_flow_ops.cond(
                math_ops.equal(difference, 1), lambda: array_ops.squeeze(unchanged, [-1]), expanded
            )

    weights = control_flow_ops.cond(math_ops.equal(array_ops.rank(weights), 0), lambda: unchanged, adjusted)
    return predictions, labels, weights


def _maybe_expand_labels(labels, predictions):
    """Labels with a last axis of size 1 if they have a rank less than predictions."""
    with ops.name_scope(None, "expand_labels", (labels, predictions)) as scope:
        labels = sparse_tensor.convert_to_tensor_or_sparse_tensor(labels)
        if isinstance(labels, sparse_tensor.SparseTensor):
            return control_flow_ops.cond(
                math_ops.equal(array_ops.rank(predictions), array_ops.size(labels.dense_shape) + 1),
                lambda: sparse_ops.sparse_reshape(
                    labels, shape=array_ops.concat((labels.dense_shape, (1,)), 0), name=scope
                ),
                lambda: labels,
            )
        labels_rank = labels.get_shape().ndims
        if labels_rank is not None:
            predictions_rank = predictions.get_shape().ndims
            if predictions_rank is not None:
                if predictions_rank == labels_rank:
                    return labels
                if predictions_rank == labels_rank + 1:
                    return array_ops.expand_dims(labels, -1, name=scope)
                raise ValueError(
                    f"Unexpected labels shape {labels.get_shape()} for predictions shape {predictions.get_shape()}."
                )
        return control_flow_ops.cond(
            math_ops.equal(array_ops.rank(predictions), array_ops.rank(labels) + 1),
            lambda: array_ops.expand_dims(labels, -1, name=scope),
            lambda: labels,
        )


def _safe_scalar_div(numerator, denominator, name):
    numerator.get_shape().with_rank_at_most(1)
    denominator.get_shape().with_rank_at_most(1)
    return math_ops.div_no_nan(numerator, denominator, name=name)


def _collect(value, update_op, metrics_collections, updates_collections):
    """The pair, after it is added to the collections."""
    if metrics_collections:
        ops.add_to_collections(metrics_collections, value)
    if updates_collections:
        ops.add_to_collections(updates_collections, update_op)
    return value, update_op


def _broadcast(weights, values, dtype=dtypes.float32):
    return weights_broadcast_ops.broadcast_weights(math_ops.cast(weights, dtype), values)


# Means.


def _ratio(total, count, name):
    return math_ops.div_no_nan(total, math_ops.maximum(count, 0), name=name)


@tf_export(v1=["metrics.mean"])
def mean(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """The weighted mean of all values."""
    with variable_scope.variable_scope(name, "mean", (values, weights)):
        values = math_ops.cast(values, dtypes.float32)
        total = metric_variable([], dtypes.float32, name="total")
        count = metric_variable([], dtypes.float32, name="count")
        if weights is None:
            number = math_ops.cast(array_ops.size(values), dtypes.float32)
        else:
            values, _, weights = _remove_squeezable_dimensions(values, None, weights)
            weights = _broadcast(weights, values)
            values = math_ops.multiply(values, weights)
            number = math_ops.reduce_sum(weights)
        update_total = state_ops.assign_add(total, math_ops.reduce_sum(values))
        with ops.control_dependencies([values]):
            update_count = state_ops.assign_add(count, number)
        return _collect(
            _ratio(total, count, "value"),
            _ratio(update_total, update_count, "update_op"),
            metrics_collections,
            updates_collections,
        )


@tf_export(v1=["metrics.mean_tensor"])
def mean_tensor(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """The weighted mean of each element of tensors of one shape."""
    with variable_scope.variable_scope(name, "mean", (values, weights)):
        values = math_ops.cast(values, dtypes.float32)
        total = metric_variable(values.get_shape(), dtypes.float32, name="total_tensor")
        count = metric_variable(values.get_shape(), dtypes.float32, name="count_tensor")
        number = array_ops.ones_like(values)
        if weights is not None:
            values, _, weights = _remove_squeezable_dimensions(values, None, weights)
            weights = _broadcast(weights, values)
            values = math_ops.multiply(values, weights)
            number = math_ops.multiply(number, weights)
        update_total = state_ops.assign_add(total, values)
        with ops.control_dependencies([values]):
            update_count = state_ops.assign_add(count, number)
        return _collect(
            _ratio(total, count, "value"),
            _ratio(update_total, update_count, "update_op"),
            metrics_collections,
            updates_collections,
        )


@tf_export(v1=["metrics.accuracy"])
def accuracy(
    labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    """How often predictions equal labels."""
    predictions, labels, weights = _remove_squeezable_dimensions(predictions, labels, weights)
    predictions.get_shape().assert_is_compatible_with(labels.get_shape())
    if labels.dtype != predictions.dtype:
        predictions = math_ops.cast(predictions, labels.dtype)
    is_correct = math_ops.cast(math_ops.equal(predictions, labels), dtypes.float32)
    return mean(is_correct, weights, metrics_collections, updates_collections, name or "accuracy")


@tf_export(v1=["metrics.mean_absolute_error"])
def mean_absolute_error(
    labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    predictions, labels, weights = _remove_squeezable_dimensions(predictions, labels, weights)
    errors = math_ops.abs(predictions - labels)
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_absolute_error")


@tf_export(v1=["metrics.mean_squared_error"])
def mean_squared_error(
    labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    predictions, labels, weights = _remove_squeezable_dimensions(predictions, labels, weights)
    errors = math_ops.squared_difference(labels, predictions)
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_squared_error")


@tf_export(v1=["metrics.root_mean_squared_error"])
def root_mean_squared_error(
    labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    predictions, labels, weights = _remove_squeezable_dimensions(predictions, labels, weights)
    mse, update_mse = mean_squared_error(
        labels, predictions, weights, None, None, name or "root_mean_squared_error"
    )
    return _collect(math_ops.sqrt(mse), math_ops.sqrt(update_mse), metrics_collections, updates_collections)


@tf_export(v1=["metrics.mean_relative_error"])
def mean_relative_error(
    labels,
    predictions,
    normalizer,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """The mean of |labels - predictions| / normalizer, 0 where that is 0."""
    predictions, labels, weights = _remove_squeezable_dimensions(predictions, labels, weights)
    predictions, normalizer = confusion_matrix.remove_squeezable_dimensions(predictions, normalizer)
    predictions.get_shape().assert_is_compatible_with(normalizer.get_shape())
    errors = array_ops.where(
        math_ops.equal(normalizer, 0.0),
        array_ops.zeros_like(labels),
        math_ops.div(math_ops.abs(labels - predictions), normalizer),
    )
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_relative_error")


@tf_export(v1=["metrics.mean_cosine_distance"])
def mean_cosine_distance(
    labels,
    predictions,
    dim,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """1 less the mean of the products along the axis `dim` of what must be unit vectors."""
    predictions, labels, weights = _remove_squeezable_dimensions(predictions, labels, weights)
    product = math_ops.reduce_sum(math_ops.multiply(predictions, labels), axis=[dim], keepdims=True)
    mean_product, update_op = mean(product, weights, None, None, name or "mean_cosine_distance")
    return _collect(
        math_ops.subtract(1.0, mean_product),
        math_ops.subtract(1.0, update_op),
        metrics_collections,
        updates_collections,
    )


@tf_export(v1=["metrics.percentage_below"])
def percentage_below(
    values, threshold, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    """How many of the values are less than the threshold, as a part of 1."""
    is_below = math_ops.cast(math_ops.less(values, threshold), dtypes.float32)
    return mean(
        is_below, weights, metrics_collections, updates_collections, name or "percentage_below_threshold"
    )


# Matrices of labels and predictions.


def _streaming_confusion_matrix(labels, predictions, num_classes, weights=None):
    """The variable [classes, classes] in which pairs are counted, and the op that counts."""
    total = metric_variable([num_classes, num_classes], dtypes.float64, name="total_confusion_matrix")
    predictions = math_ops.cast(predictions, dtypes.int64)
    labels = math_ops.cast(labels, dtypes.int64)
    num_classes = math_ops.cast(num_classes, dtypes.int64)
    if predictions.get_shape().ndims > 1:
        predictions = array_ops.reshape(predictions, [-1])
    if labels.get_shape().ndims > 1:
        labels = array_ops.reshape(labels, [-1])
    if weights is not None and weights.get_shape().ndims > 1:
        weights = array_ops.reshape(weights, [-1])
    current = confusion_matrix.confusion_matrix(
        labels, predictions, num_classes, weights=weights, dtype=dtypes.float64
    )
    return total, state_ops.assign_add(total, current)


@tf_export(v1=["metrics.mean_iou"])
def mean_iou(
    labels,
    predictions,
    num_classes,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """The mean over classes of: true positives by true positives, false positives and false negatives."""
    with variable_scope.variable_scope(name, "mean_iou", (predictions, labels, weights)):
        predictions.get_shape().assert_is_compatible_with(labels.get_shape())
        total, update_op = _streaming_confusion_matrix(labels, predictions, num_classes, weights)
        over_rows = math_ops.cast(math_ops.reduce_sum(total, 0), dtypes.float32)
        over_columns = math_ops.cast(math_ops.reduce_sum(total, 1), dtypes.float32)
        diagonal = math_ops.cast(array_ops.diag_part(total), dtypes.float32)
        denominator = over_rows + over_columns - diagonal
        valid = math_ops.reduce_sum(math_ops.cast(math_ops.not_equal(denominator, 0), dtype=dtypes.float32))
        denominator = array_ops.where(
            math_ops.greater(denominator, 0), denominator, array_ops.ones_like(denominator)
        )
        iou = math_ops.div(diagonal, denominator)
        value = array_ops.where(
            math_ops.greater(valid, 0), math_ops.reduce_sum(iou, name="mean_iou") / valid, 0
        )
        return _collect(value, update_op, metrics_collections, updates_collections)


@tf_export(v1=["metrics.mean_per_class_accuracy"])
def mean_per_class_accuracy(
    labels,
    predictions,
    num_classes,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """The mean over classes of the accuracy of the labels of a class."""
    with variable_scope.variable_scope(name, "mean_accuracy", (predictions, labels, weights)):
        labels = math_ops.cast(labels, dtypes.int64)
        if labels.get_shape().ndims > 1:
            labels = array_ops.reshape(labels, [-1])
        if predictions.get_shape().ndims > 1:
            predictions = array_ops.reshape(predictions, [-1])
        predictions.get_shape().assert_is_compatible_with(labels.get_shape())
        total = metric_variable([num_classes], dtypes.float32, name="total")
        count = metric_variable([num_classes], dtypes.float32, name="count")
        ones = array_ops.ones([array_ops.size(labels)], dtypes.float32)
        if labels.dtype != predictions.dtype:
            predictions = math_ops.cast(predictions, labels.dtype)
        is_correct = math_ops.cast(math_ops.equal(predictions, labels), dtypes.float32)
        if weights is not None:
            if weights.get_shape().ndims > 1:
                weights = array_ops.reshape(weights, [-1])
            weights = math_ops.cast(weights, dtypes.float32)
            is_correct *= weights
            ones *= weights
        update_total = state_ops.scatter_add(total, labels, ones)
        update_count = state_ops.scatter_add(count, labels, is_correct)
        value = math_ops.reduce_mean(
            math_ops.div_no_nan(count, math_ops.maximum(total, 0), name=None), name="mean_accuracy"
        )
        update_op = math_ops.div_no_nan(update_count, math_ops.maximum(update_total, 0), name="update_op")
        return _collect(value, update_op, metrics_collections, updates_collections)


# True and false, positives and negatives.


def _count_condition(values, weights=None, metrics_collections=None, updates_collections=None):
    """The sum of the weights of what is true."""
    check_ops.assert_type(values, dtypes.bool)
    count = metric_variable([], dtypes.float32, name="count")
    values = math_ops.cast(values, dtypes.float32)
    if weights is not None:
        with ops.control_dependencies((check_ops.assert_rank_in(weights, (0, array_ops.rank(values))),)):
            values = math_ops.multiply(values, math_ops.cast(weights, dtypes.float32))
    value = array_ops.identity(count)
    update_op = state_ops.assign_add(count, math_ops.reduce_sum(values))
    return _collect(value, update_op, metrics_collections, updates_collections)


def _counted(
    label, prediction, scope, labels, predictions, weights, metrics_collections, updates_collections, name
):
    """How often a label of the value `label` was predicted as `prediction`."""
    with variable_scope.variable_scope(name, scope, (predictions, labels, weights)):
        predictions, labels, weights = _remove_squeezable_dimensions(
            math_ops.cast(predictions, dtype=dtypes.bool), math_ops.cast(labels, dtype=dtypes.bool), weights
        )
        is_counted = math_ops.logical_and(
            math_ops.equal(labels, label), math_ops.equal(predictions, prediction)
        )
        return _count_condition(is_counted, weights, metrics_collections, updates_collections)


@tf_export(v1=["metrics.true_positives"])
def true_positives(
    labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    return _counted(
        True,
        True,
        "true_positives",
        labels,
        predictions,
        weights,
        metrics_collections,
        updates_collections,
        name,
    )


@tf_export(v1=["metrics.true_negatives"])
def true_negatives(
    labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    return _counted(
        False,
        False,
        "true_negatives",
        labels,
        predictions,
        weights,
        metrics_collections,
        updates_collections,
        name,
    )


@tf_export(v1=["metrics.false_positives"])
def false_positives(
    labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    return _counted(
        False,
        True,
        "false_positives",
        labels,
        predictions,
        weights,
        metrics_collections,
        updates_collections,
        name,
    )


@tf_export(v1=["metrics.false_negatives"])
def false_negatives(
    labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    return _counted(
        True,
        False,
        "false_negatives",
        labels,
        predictions,
        weights,
        metrics_collections,
        updates_collections,
        name,
    )


def _quotient(numerator, other, name):
    """numerator / (numerator + other), 0 where that is 0."""
    return array_ops.where(
        math_ops.greater(numerator + other, 0), math_ops.div(numerator, numerator + other), 0, name
    )


@tf_export(v1=["metrics.precision"])
def precision(
    labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    """True positives by all that was predicted as positive."""
    with variable_scope.variable_scope(name, "precision", (predictions, labels, weights)):
        predictions, labels, weights = _remove_squeezable_dimensions(
            math_ops.cast(predictions, dtype=dtypes.bool), math_ops.cast(labels, dtype=dtypes.bool), weights
        )
        tp, update_tp = true_positives(labels, predictions, weights)
        fp, update_fp = false_positives(labels, predictions, weights)
        return _collect(
            _quotient(tp, fp, "value"),
            _quotient(update_tp, update_fp, "update_op"),
            metrics_collections,
            updates_collections,
        )


@tf_export(v1=["metrics.recall"])
def recall(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """True positives by all that is positive."""
    with variable_scope.variable_scope(name, "recall", (predictions, labels, weights)):
        predictions, labels, weights = _remove_squeezable_dimensions(
            math_ops.cast(predictions, dtype=dtypes.bool), math_ops.cast(labels, dtype=dtypes.bool), weights
        )
        tp, update_tp = true_positives(labels, predictions, weights)
        fn, update_fn = false_negatives(labels, predictions, weights)
        return _collect(
            _quotient(tp, fn, "value"),
            _quotient(update_tp, update_fn, "update_op"),
            metrics_collections,
            updates_collections,
        )


def _confusion_matrix_at_thresholds(labels, predictions, thresholds, weights=None, includes=None):
    """Two dicts by "tp", "fn", "tn", "fp" ([thresholds] each): values, and ops that update them."""
    all_includes = ("tp", "fn", "tn", "fp")
    includes = all_includes if includes is None else includes
    for include in includes:
        if include not in all_includes:
            raise ValueError(f"Invalid key: {include}.")
    predictions = ops.convert_to_tensor(predictions)
    with ops.control_dependencies(
        [
            check_ops.assert_greater_equal(
                predictions,
                math_ops.cast(0.0, dtype=predictions.dtype),
                message="predictions must be in [0, 1]",
            ),
            check_ops.assert_less_equal(
                predictions,
                math_ops.cast(1.0, dtype=predictions.dtype),
                message="predictions must be in [0, 1]",
            ),
        ]
    ):
        predictions, labels, weights = _remove_squeezable_dimensions(
            math_ops.cast(predictions, dtypes.float32), math_ops.cast(labels, dtypes.bool), weights
        )
    number = len(thresholds)
    predictions_2d = array_ops.reshape(predictions, [-1, 1])
    labels_2d = array_ops.reshape(math_ops.cast(labels, dtype=dtypes.bool), [1, -1])
    count = predictions_2d.get_shape().as_list()[0]
    if count is None:
        count = array_ops.shape(predictions_2d)[0]
    tiled_thresholds = array_ops.tile(
        array_ops.expand_dims(array_ops.constant(thresholds), [1]), array_ops.stack([1, count])
    )
    is_positive = math_ops.greater(
        array_ops.tile(array_ops.transpose(predictions_2d), [number, 1]), tiled_thresholds
    )
    is_negative = math_ops.logical_not(is_positive) if {"fn", "tn"} & set(includes) else None
    is_label = array_ops.tile(labels_2d, [number, 1])
    is_no_label = math_ops.logical_not(is_label) if {"fp", "tn"} & set(includes) else None
    tiled_weights = None
    if weights is not None:
        weights = weights_broadcast_ops.broadcast_weights(math_ops.cast(weights, dtypes.float32), predictions)
        tiled_weights = array_ops.tile(array_ops.reshape(weights, [1, -1]), [number, 1])
        thresholds_shape = is_positive.get_shape()
        thresholds_shape.assert_is_compatible_with(tiled_weights.get_shape())
    chosen = {
        "tp": ("true_positives", is_label, is_positive),
        "fn": ("false_negatives", is_label, is_negative),
        "tn": ("true_negatives", is_no_label, is_negative),
        "fp": ("false_positives", is_no_label, is_positive),
    }
    values, update_ops = {}, {}
    for key in all_includes:
        if key in includes:
            name, label, prediction = chosen[key]
            variable = metric_variable([number], dtypes.float32, name=name)
            matched = math_ops.cast(math_ops.logical_and(label, prediction), dtypes.float32)
            if tiled_weights is not None:
                matched *= tiled_weights
            update_ops[key] = state_ops.assign_add(variable, math_ops.reduce_sum(matched, 1))
            values[key] = ops.convert_to_tensor(variable)
    return values, update_ops


def _counts_at_thresholds(key, scope, labels, predictions, thresholds, weights, collections, name):
    with variable_scope.variable_scope(name, scope, (predictions, labels, weights)):
        values, update_ops = _confusion_matrix_at_thresholds(
            labels, predictions, thresholds, weights=weights, includes=(key,)
        )
        return _collect(values[key], update_ops[key], *collections)


@tf_export(v1=["metrics.true_positives_at_thresholds"])
def true_positives_at_thresholds(
    labels,
    predictions,
    thresholds,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    collections = metrics_collections, updates_collections
    return _counts_at_thresholds(
        "tp", "true_positives", labels, predictions, thresholds, weights, collections, name
    )


@tf_export(v1=["metrics.true_negatives_at_thresholds"])
def true_negatives_at_thresholds(
    labels,
    predictions,
    thresholds,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    collections = metrics_collections, updates_collections
    return _counts_at_thresholds(
        "tn", "true_negatives", labels, predictions, thresholds, weights, collections, name
    )


@tf_export(v1=["metrics.false_positives_at_thresholds"])
def false_positives_at_thresholds(
    labels,
    predictions,
    thresholds,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    collections = metrics_collections, updates_collections
    return _counts_at_thresholds(
        "fp", "false_positives", labels, predictions, thresholds, weights, collections, name
    )


@tf_export(v1=["metrics.false_negatives_at_thresholds"])
def false_negatives_at_thresholds(
    labels,
    predictions,
    thresholds,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    collections = metrics_collections, updates_collections
    return _counts_at_thresholds(
        "fn", "false_negatives", labels, predictions, thresholds, weights, collections, name
    )


_EPSILON = 1e-7  # against division by 0


@tf_export(v1=["metrics.precision_at_thresholds"])
def precision_at_thresholds(
    labels,
    predictions,
    thresholds,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """precision() of what is above each threshold."""
    with variable_scope.variable_scope(name, "precision_at_thresholds", (predictions, labels, weights)):
        values, updates = _confusion_matrix_at_thresholds(
            labels, predictions, thresholds, weights, includes=("tp", "fp")
        )

        def compute(tp, fp, name):
            return math_ops.div(tp, _EPSILON + tp + fp, name="precision_" + name)

        return _collect(
            compute(values["tp"], values["fp"], "value"),
            compute(updates["tp"], updates["fp"], "update_op"),
            metrics_collections,
            updates_collections,
        )


@tf_export(v1=["metrics.recall_at_thresholds"])
def recall_at_thresholds(
    labels,
    predictions,
    thresholds,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """recall() of what is above each threshold."""
    with variable_scope.variable_scope(name, "recall_at_thresholds", (predictions, labels, weights)):
        values, updates = _confusion_matrix_at_thresholds(
            labels, predictions, thresholds, weights, includes=("tp", "fn")
        )

        def compute(tp, fn, name):
            return math_ops.div(tp, _EPSILON + tp + fn, name="recall_" + name)

        return _collect(
            compute(values["tp"], values["fn"], "value"),
            compute(updates["tp"], updates["fn"], "update_op"),
            metrics_collections,
            updates_collections,
        )


def _thresholds(number):
    """Thresholds between 0 and 1 at equal distances, with one below 0 and one above 1."""
    inner = [(i + 1) * 1.0 / (number - 1) for i in range(number - 2)]
    return [0.0 - _EPSILON] + inner + [1.0 + _EPSILON]


@tf_export(v1=["metrics.auc"])
def auc(
    labels,
    predictions,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    curve="ROC",
    name=None,
    summation_method="trapezoidal",
    thresholds=None,
):
    """The area under the curve of receivers (ROC) or of precision and recall (PR), from sums at thresholds.

    `summation_method` is "trapezoidal", "careful_interpolation" (PR: Davis and Goadrich 2006), "minoring" or
    "majoring".
    """
    with variable_scope.variable_scope(name, "auc", (labels, predictions, weights)):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
        if thresholds is not None:
            thresholds = sorted(thresholds)
            thresholds = [0.0 - _EPSILON] + list(thresholds) + [1.0 + _EPSILON]
            num_thresholds = len(thresholds)
        else:
            thresholds = _thresholds(num_thresholds)
        values, updates = _confusion_matrix_at_thresholds(labels, predictions, thresholds, weights)

        def interpolated(tp, fp, fn):
            """The area under the curve of precision and recall, which is not straight between thresholds."""
            dtp = tp[: num_thresholds - 1] - tp[1:]
            p = tp + fp
            slope = math_ops.div_no_nan(
                dtp, math_ops.maximum(p[: num_thresholds - 1] - p[1:], 0), name="prec_slope"
            )
            intercept = tp[1:] - math_ops.multiply(slope, p[1:])
            ratio = array_ops.where(
                math_ops.logical_and(p[: num_thresholds - 1] > 0, p[1:] > 0),
                math_ops.div_no_nan(
                    p[: num_thresholds - 1], math_ops.maximum(p[1:], 0), name="recall_relative_ratio"
                ),
                array_ops.ones_like(p[1:]),
            )
            return math_ops.reduce_sum(
                math_ops.div_no_nan(
                    slope * (dtp + intercept * math_ops.log(ratio)),
                    math_ops.maximum(tp[1:] + fn[1:], 0),
                    name="pr_auc_increment",
                ),
                name="interpolate_pr_auc",
            )

        def compute(tp, fn, tn, fp, name):
            if curve == "PR" and summation_method == "careful_interpolation":
                return interpolated(tp, fp, fn)
            epsilon = 1.0e-6
            recalls = math_ops.div(tp + epsilon, tp + fn + epsilon)
            if curve == "ROC":
                x, y = math_ops.div(fp, fp + tn + epsilon), recalls
            else:
                x, y = recalls, math_ops.div(tp + epsilon, tp + fp + epsilon)
            widths = x[: num_thresholds - 1] - x[1:]
            left, right = y[: num_thresholds - 1], y[1:]
            if summation_method in ("trapezoidal", "careful_interpolation"):
                heights = (left + right) / 2.0
            elif summation_method == "minoring":
                heights = math_ops.minimum(left, right)
            elif summation_method == "majoring":
                heights = math_ops.maximum(left, right)
            else:
                raise ValueError(f"Invalid summation_method: {summation_method}")
            return math_ops.reduce_sum(math_ops.multiply(widths, heights), name=name)

        keys = ("tp", "fn", "tn", "fp")
        return _collect(
            compute(*(values[key] for key in keys), "value"),
            compute(*(updates[key] for key in keys), "update_op"),
            metrics_collections,
            updates_collections,
        )


def _at_nearest(labels, predictions, weights, num_thresholds, collections, name, scope, given, wanted):
    """What `wanted` is at the first threshold at which `given` is least."""
    with variable_scope.variable_scope(name, scope, (predictions, labels, weights)):
        values, updates = _confusion_matrix_at_thresholds(
            labels, predictions, _thresholds(num_thresholds), weights
        )

        def compute(parts, name):
            return wanted(parts, math_ops.cast(given(parts), dtypes.int32), name)

        return _collect(compute(values, "value"), compute(updates, "update_op"), *collections)


@tf_export(v1=["metrics.specificity_at_sensitivity"])
def specificity_at_sensitivity(
    labels,
    predictions,
    sensitivity,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """True negatives by negatives, at the threshold at which recall is `sensitivity`."""
    if sensitivity < 0 or sensitivity > 1:
        raise ValueError(
            f"`sensitivity` must be in the range [0, 1]. Currently, `sensitivity` is {sensitivity}."
        )

    def given(parts):
        sensitivities = math_ops.div(parts["tp"], parts["tp"] + parts["fn"] + _EPSILON)
        # Of several thresholds that are as near, the last, which has the highest specificity.
        minimum = math_ops.reduce_min(math_ops.abs(sensitivities - sensitivity))
        is_nearest = math_ops.equal(math_ops.abs(sensitivities - sensitivity), minimum)
        return math_ops.argmax(math_ops.cumsum(math_ops.cast(is_nearest, dtypes.int64)), 0)

    def wanted(parts, index, name):
        tn, fp = parts["tn"], parts["fp"]
        return math_ops.div(tn[index], tn[index] + fp[index] + _EPSILON, name)

    collections = metrics_collections, updates_collections
    return _at_nearest(
        labels,
        predictions,
        weights,
        num_thresholds,
        collections,
        name,
        "specificity_at_sensitivity",
        given,
        wanted,
    )


@tf_export(v1=["metrics.sensitivity_at_specificity"])
def sensitivity_at_specificity(
    labels,
    predictions,
    specificity,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """Recall at the threshold at which true negatives by negatives are `specificity`."""
    if specificity < 0 or specificity > 1:
        raise ValueError(
            f"`specificity` must be in the range [0, 1]. Currently, `specificity` is {specificity}."
        )

    def given(parts):
        specificities = math_ops.div(parts["tn"], parts["tn"] + parts["fp"] + _EPSILON)
        return math_ops.argmin(math_ops.abs(specificities - specificity), 0)

    def wanted(parts, index, name):
        tp, fn = parts["tp"], parts["fn"]
        return math_ops.div(tp[index], tp[index] + fn[index] + _EPSILON, name)

    collections = metrics_collections, updates_collections
    return _at_nearest(
        labels,
        predictions,
        weights,
        num_thresholds,
        collections,
        name,
        "sensitivity_at_specificity",
        given,
        wanted,
    )


# The best k of the classes.


def _at_k_name(name, k=None, class_id=None):
    name = "%s_at_%d" % (name, k) if k is not None else f"{name}_at_k"
    return f"{name}_class{class_id}" if class_id is not None else name


def _select_class_id(ids, selected_id):
    """The ids that are `selected_id`, as a SparseTensor of the shape of `ids` with a last size that holds
    them."""
    ids = sparse_tensor.convert_to_tensor_or_sparse_tensor(ids)
    if isinstance(ids, sparse_tensor.SparseTensor):
        return sparse_ops.sparse_retain(ids, math_ops.equal(ids.values, selected_id))
    shape = array_ops.shape(ids, out_type=dtypes.int64)
    last = array_ops.reshape(array_ops.size(shape) - 1, [1])
    full_shape = array_ops.concat([array_ops.slice(shape, [0], last), [1]], 0)
    filled_selected_id = array_ops.fill(full_shape, math_ops.cast(selected_id, dtypes.int64))
    result = sets.set_intersection(filled_selected_id, ids)
    return sparse_tensor.SparseTensor(indices=result.indices, values=result.values, dense_shape=shape)


def _maybe_select_class_id(labels, predictions_idx, selected_id=None):
    if selected_id is None:
        return labels, predictions_idx
    return _select_class_id(labels, selected_id), _select_class_id(predictions_idx, selected_id)


def _weighted(counts, weights):
    counts = math_ops.cast(counts, dtypes.float64)
    if weights is None:
        return counts
    with ops.control_dependencies((weights_broadcast_ops.assert_broadcastable(weights, counts),)):
        return math_ops.multiply(counts, math_ops.cast(weights, dtypes.float64))


def _sparse_true_positive_at_k(labels, predictions_idx, class_id=None, weights=None, name=None):
    with ops.name_scope(name, "true_positives", (predictions_idx, labels, weights)):
        labels, predictions_idx = _maybe_select_class_id(labels, predictions_idx, class_id)
        return _weighted(sets.set_size(sets.set_intersection(predictions_idx, labels)), weights)


def _sparse_false_positive_at_k(labels, predictions_idx, class_id=None, weights=None):
    with ops.name_scope(None, "false_positives", (predictions_idx, labels, weights)):
        labels, predictions_idx = _maybe_select_class_id(labels, predictions_idx, class_id)
        return _weighted(sets.set_size(sets.set_difference(predictions_idx, labels, aminusb=True)), weights)


def _sparse_false_negative_at_k(labels, predictions_idx, class_id=None, weights=None):
    with ops.name_scope(None, "false_negatives", (predictions_idx, labels, weights)):
        labels, predictions_idx = _maybe_select_class_id(labels, predictions_idx, class_id)
        return _weighted(sets.set_size(sets.set_difference(predictions_idx, labels, aminusb=False)), weights)


def _streaming_at_k(compute, scope, k, class_id, name, batch_values):
    with ops.name_scope(name, _at_k_name(scope, k, class_id=class_id), batch_values) as scope:
        batch_total = math_ops.cast(math_ops.reduce_sum(compute()), dtypes.float64)
        variable = metric_variable([], dtypes.float64, name=scope)
        return variable, state_ops.assign_add(variable, batch_total, name="update")


def _streaming_sparse_true_positive_at_k(
    labels, predictions_idx, k=None, class_id=None, weights=None, name=None
):
    return _streaming_at_k(
        functools.partial(
            _sparse_true_positive_at_k, labels, predictions_idx, class_id=class_id, weights=weights
        ),
        "true_positive",
        k,
        class_id,
        name,
        (predictions_idx, labels, weights),
    )


def _streaming_sparse_false_positive_at_k(
    labels, predictions_idx, k=None, class_id=None, weights=None, name=None
):
    return _streaming_at_k(
        functools.partial(
            _sparse_false_positive_at_k, labels, predictions_idx, class_id=class_id, weights=weights
        ),
        "false_positive",
        k,
        class_id,
        name,
        (predictions_idx, labels, weights),
    )


def _streaming_sparse_false_negative_at_k(labels, predictions_idx, k, class_id=None, weights=None, name=None):
    return _streaming_at_k(
        functools.partial(
            _sparse_false_negative_at_k, labels, predictions_idx, class_id=class_id, weights=weights
        ),
        "false_negative",
        k,
        class_id,
        name,
        (predictions_idx, labels, weights),
    )


def _top_k(predictions, k):
    return nn.top_k(predictions, k)[1]


@tf_export(v1=["metrics.recall_at_top_k"])
def recall_at_top_k(
    labels,
    predictions_idx,
    k=None,
    class_id=None,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """recall_at_k() for classes [..., k] that are chosen already."""
    with ops.name_scope(
        name, _at_k_name("recall", k, class_id=class_id), (predictions_idx, labels, weights)
    ) as scope:
        labels = _maybe_expand_labels(labels, predictions_idx)
        top = math_ops.cast(predictions_idx, dtypes.int64)
        tp, update_tp = _streaming_sparse_true_positive_at_k(labels, top, k, class_id, weights)
        fn, update_fn = _streaming_sparse_false_negative_at_k(labels, top, k, class_id, weights)
        value = math_ops.div(tp, math_ops.add(tp, fn), name=scope)
        update_op = math_ops.div(update_tp, math_ops.add(update_tp, update_fn), name="update")
        return _collect(value, update_op, metrics_collections, updates_collections)


@tf_export(v1=["metrics.recall_at_k"])
def recall_at_k(
    labels,
    predictions,
    k,
    class_id=None,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """How many of the labels (int64 [..., labels]) are among the k best of predictions [..., classes]."""
    with ops.name_scope(
        name, _at_k_name("recall", k, class_id=class_id), (predictions, labels, weights)
    ) as scope:
        return recall_at_top_k(
            labels=labels,
            predictions_idx=_top_k(predictions, k),
            k=k,
            class_id=class_id,
            weights=weights,
            metrics_collections=metrics_collections,
            updates_collections=updates_collections,
            name=scope,
        )


@tf_export(v1=["metrics.precision_at_top_k"])
def precision_at_top_k(
    labels,
    predictions_idx,
    k=None,
    class_id=None,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """precision_at_k() for classes [..., k] that are chosen already."""
    with ops.name_scope(
        name, _at_k_name("precision", k, class_id=class_id), (predictions_idx, labels, weights)
    ) as scope:
        labels = _maybe_expand_labels(labels, predictions_idx)
        top = math_ops.cast(predictions_idx, dtypes.int64)
        tp, update_tp = _streaming_sparse_true_positive_at_k(labels, top, k, class_id, weights)
        fp, update_fp = _streaming_sparse_false_positive_at_k(labels, top, k, class_id, weights)
        value = math_ops.div(tp, math_ops.add(tp, fp), name=scope)
        update_op = math_ops.div(update_tp, math_ops.add(update_tp, update_fp), name="update")
        return _collect(value, update_op, metrics_collections, updates_collections)


@tf_export(v1=["metrics.precision_at_k"])
def precision_at_k(
    labels,
    predictions,
    k,
    class_id=None,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """How many of the k best of predictions [..., classes] are among the labels (int64 [..., labels])."""
    with ops.name_scope(
        name, _at_k_name("precision", k, class_id=class_id), (predictions, labels, weights)
    ) as scope:
        return precision_at_top_k(
            labels=labels,
            predictions_idx=_top_k(predictions, k),
            k=k,
            class_id=class_id,
            weights=weights,
            metrics_collections=metrics_collections,
            updates_collections=updates_collections,
            name=scope,
        )


def sparse_precision_at_k(
    labels,
    predictions,
    k,
    class_id=None,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """precision_at_k(), as it was called before."""
    return precision_at_k(
        labels, predictions, k, class_id, weights, metrics_collections, updates_collections, name
    )


tf_export(v1=["metrics.sparse_precision_at_k"]).export_constant(__name__, "sparse_precision_at_k")


def _num_relevant(labels, k):
    """How many labels there are, at most k."""
    if k < 1:
        raise ValueError(f"Invalid k={k}.")
    with ops.name_scope(None, "num_relevant", (labels,)) as scope:
        labels = sparse_tensor.convert_to_tensor_or_sparse_tensor(labels)
        if isinstance(labels, sparse_tensor.SparseTensor):
            return math_ops.minimum(sets.set_size(labels), k, name=scope)
        # A row of a dense tensor may be filled up with negative numbers.
        is_there = math_ops.greater_equal(labels, 0)
        ones, zeros = array_ops.ones_like(labels), array_ops.zeros_like(labels)
        number = math_ops.reduce_sum(array_ops.where_v2(is_there, ones, zeros), axis=-1)
        return math_ops.minimum(number, k, name=scope)


def _sparse_average_precision_at_top_k(labels, predictions_idx):
    """The mean of the precisions at 1, 2, ... k where the k-th is relevant (Manning et al. 2008)."""
    with ops.name_scope(None, "average_precision", (predictions_idx, labels)) as scope:
        predictions_idx = math_ops.cast(predictions_idx, dtypes.int64, name="predictions_idx")
        if predictions_idx.get_shape().ndims == 0:
            raise ValueError("The rank of predictions_idx must be at least 1.")
        k = predictions_idx.get_shape().as_list()[-1]
        if k is None:
            raise ValueError("The last dimension of predictions_idx must be set.")
        labels = _maybe_expand_labels(labels, predictions_idx)
        # Each of the k predictions as a set of its own, beside the labels once for each of them.
        each = array_ops.expand_dims(predictions_idx, -1, name="predictions_idx_per_k")
        repeated = _expand_and_tile(labels, multiple=k, dim=-1, name="labels_per_k")
        relevant = _sparse_true_positive_at_k(repeated, each, name="relevant_per_k")
        true_positives_per_k = math_ops.cumsum(relevant, axis=-1, name="tp_per_k")
        retrieved = math_ops.cumsum(array_ops.ones_like(relevant), axis=-1, name="retrieved_per_k")
        precisions = math_ops.div(
            math_ops.cast(true_positives_per_k, dtypes.float64),
            math_ops.cast(retrieved, dtypes.float64),
            name="precision_per_k",
        )
        relevant_precisions = math_ops.multiply(
            precisions, math_ops.cast(relevant, dtypes.float64), name="relevant_precision_per_k"
        )
        total = math_ops.reduce_sum(relevant_precisions, axis=(-1,), name="precision_sum")
        number = math_ops.cast(_num_relevant(labels, k), dtypes.float64)
        return math_ops.div(total, number, name=scope)


def _expand_and_tile(tensor, multiple, dim=0, name=None):
    """The tensor with a new axis `dim` along which it is repeated."""
    if multiple < 1:
        raise ValueError(f"Invalid multiple {multiple}, must be > 0.")
    with ops.name_scope(name, "expand_and_tile", (tensor, multiple, dim)) as scope:
        tensor = sparse_tensor.convert_to_tensor_or_sparse_tensor(tensor)
        if isinstance(tensor, sparse_tensor.SparseTensor):
            if dim < 0:
                expand_dims = array_ops.reshape(array_ops.size(tensor.dense_shape) + dim, [1])
            else:
                expand_dims = [dim]
            shape = array_ops.concat(
                (
                    array_ops.slice(tensor.dense_shape, [0], expand_dims),
                    [1],
                    array_ops.slice(tensor.dense_shape, expand_dims, [-1]),
                ),
                0,
                name="expanded_shape",
            )
            expanded = sparse_ops.sparse_reshape(tensor, shape=shape, name="expand")
            if multiple == 1:
                return expanded
            return sparse_ops.sparse_concat(dim - 1 if dim < 0 else dim, [expanded] * multiple, name=scope)
        expanded = array_ops.expand_dims(tensor, dim if dim >= 0 else (dim - 1), name="expand")
        if multiple == 1:
            return expanded
        ones = array_ops.ones_like(array_ops.shape(tensor))
        tile_multiples = array_ops.concat((ones[:dim], (multiple,), ones[dim:]), 0, name="multiples")
        return array_ops.tile(expanded, tile_multiples, name=scope)


def _streaming_sparse_average_precision_at_top_k(
    labels,
    predictions_idx,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    with ops.name_scope(name, "average_precision_at_top_k", (predictions_idx, labels, weights)) as scope:
        average_precision = _sparse_average_precision_at_top_k(labels, predictions_idx)
        if weights is not None:
            weights = weights_broadcast_ops.broadcast_weights(
                math_ops.cast(weights, dtypes.float64), average_precision
            )
            average_precision = math_ops.multiply(average_precision, weights)
        with ops.name_scope(None, "max", (average_precision,)) as max_scope:
            maximum = metric_variable([], dtypes.float64, name=max_scope)
            if weights is None:
                batch_max = math_ops.cast(array_ops.size(average_precision, name="batch_max"), dtypes.float64)
            else:
                batch_max = math_ops.reduce_sum(weights, name="batch_max")
            max_update = state_ops.assign_add(maximum, batch_max, name="update")
        with ops.name_scope(None, "total", (average_precision,)) as total_scope:
            total = metric_variable([], dtypes.float64, name=total_scope)
            batch_total = math_ops.reduce_sum(average_precision, name="batch_total")
            total_update = state_ops.assign_add(total, batch_total, name="update")
        value = _safe_scalar_div(total, maximum, name="mean")
        update = _safe_scalar_div(total_update, max_update, name=scope)
        return _collect(value, update, metrics_collections, updates_collections)


def _without_labels_from(labels, count):
    """The labels with -1 for those of `count` or more, which no prediction has."""
    is_sparse = isinstance(labels, (sparse_tensor.SparseTensor, sparse_tensor.SparseTensorValue))
    values = labels.values if is_sparse else labels

    def cleaned():
        is_outside = math_ops.greater_equal(values, count)
        made = array_ops.where_v2(is_outside, -1 * array_ops.ones_like(values), values)
        return type(labels)(labels.indices, made, labels.dense_shape) if is_sparse else made

    is_any_outside = math_ops.greater_equal(math_ops.reduce_max(values), count)
    return control_flow_ops.cond(is_any_outside, cleaned, lambda: labels)


@tf_export(v1=["metrics.average_precision_at_k"])
def average_precision_at_k(
    labels,
    predictions,
    k,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """The mean of the average precisions of the k best of predictions [..., classes]."""
    if k < 1:
        raise ValueError(f"Invalid k={k}.")
    with ops.name_scope(name, _at_k_name("average_precision", k), (predictions, labels, weights)) as scope:
        places = _top_k(predictions, k)
        count = math_ops.cast(array_ops.shape(predictions)[-1], dtypes.int64)
        return _streaming_sparse_average_precision_at_top_k(
            predictions_idx=places,
            labels=_without_labels_from(labels, count),
            weights=weights,
            metrics_collections=metrics_collections,
            updates_collections=updates_collections,
            name=scope,
        )


@tf_export(v1=["metrics.sparse_average_precision_at_k"])
def sparse_average_precision_at_k(
    labels,
    predictions,
    k,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """average_precision_at_k(), as it was called before."""
    return average_precision_at_k(
        labels=labels,
        predictions=predictions,
        k=k,
        weights=weights,
        metrics_collections=metrics_collections,
        updates_collections=updates_collections,
        name=name,
    )
