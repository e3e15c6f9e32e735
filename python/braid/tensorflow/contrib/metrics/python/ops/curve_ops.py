"""Points of the curves of precision and recall, and areas below the curves, also without thresholds."""

import collections

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import metrics_impl
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variable_scope

__all__ = [
    "auc_with_confidence_intervals",
    "precision_at_recall",
    "precision_recall_at_equal_thresholds",
    "recall_at_precision",
    "streaming_concat",
    "streaming_curve_points",
    "streaming_dynamic_auc",
]

_EPSILON = 1e-7  # as in TensorFlow, so that values are the same


def _next_array_size(required_size, growth_factor=1.5):
    """The smallest power of the factor that is not below the size, int32."""
    size = math_ops.cast(required_size, dtypes.float32)
    exponent = math_ops.ceil(math_ops.log(size) / math_ops.log(math_ops.cast(growth_factor, dtypes.float32)))
    return math_ops.cast(math_ops.ceil(growth_factor**exponent), dtypes.int32)


def streaming_concat(
    values, axis=0, max_size=None, metrics_collections=None, updates_collections=None, name=None
):
    """All values so far along an axis, at most `max_size`.

    They are in an array that grows by half where it is full.
    """
    with variable_scope.variable_scope(name, "streaming_concat", (values,)):
        shape = values.get_shape()
        rank = shape.ndims
        if rank is None:
            raise ValueError("`values` must have known statically known rank")
        if not -rank <= axis < rank:
            raise ValueError(f"axis = {axis} not in [0, {rank})")
        axis += rank if axis < 0 else 0
        sizes = shape.as_list()
        del sizes[axis]
        if None in sizes:
            raise ValueError(
                "all dimensions of `values` other than the dimension to concatenate along must have statically "
                "known size"
            )
        array = variable_scope.variable(  # of reference type: its shape changes
            lambda: array_ops.zeros([max_size or 0, *sizes], values.dtype),
            trainable=False,
            collections=[ops.GraphKeys.LOCAL_VARIABLES, ops.GraphKeys.METRIC_VARIABLES],
            validate_shape=False,
            use_resource=False,
            name="array",
        )
        size = metrics_impl.metric_variable([], dtypes.int32, name="size")
        valid = array_ops.identity(array)[:size]
        valid.set_shape([None, *sizes])
        to_front = [axis, *(n for n in range(rank) if n != axis)]
        from_front = [to_front.index(n) for n in range(rank)]
        value = array_ops.transpose(valid, from_front, name="concat")
        batch = array_ops.transpose(values, to_front)
        old_size = array_ops.identity(size) + 0  # a copy, for the variable changes below
        if max_size is not None:
            batch = batch[: max_size - old_size]
        new_size = old_size + array_ops.shape(batch)[0]

        def grow():
            more = _next_array_size(new_size) - old_size
            room = array_ops.zeros(array_ops.stack([more, *sizes]), values.dtype)
            kept = array_ops.identity(array)[:old_size]
            return state_ops.assign(array, array_ops.concat([kept, room], 0), validate_shape=False).op

        is_full = new_size > array_ops.shape_internal(array, optimize=False)[0]
        with ops.control_dependencies([control_flow_ops.cond(is_full, grow, control_flow_ops.no_op)]):
            written = state_ops.scatter_update(array, math_ops.range(old_size, new_size), batch)
        with ops.control_dependencies([written]):
            update_op = state_ops.assign(size, new_size)
        return metrics_impl._collect(value, update_op, metrics_collections, updates_collections)


def _counts(labels, predictions, weights, num_thresholds):
    predictions, labels, weights = metrics_impl._remove_squeezable_dimensions(
        predictions=predictions, labels=math_ops.cast(labels, dtypes.bool), weights=weights
    )
    thresholds = metrics_impl._thresholds(num_thresholds)
    return metrics_impl._confusion_matrix_at_thresholds(labels, predictions, thresholds, weights)


def streaming_curve_points(
    labels=None,
    predictions=None,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    curve="ROC",
    name=None,
):
    """Points [num_thresholds, 2]: (false positive rate, recall) for "ROC", (recall, precision) for "PR"."""
    with variable_scope.variable_scope(name, "curve_points", (labels, predictions, weights)):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
        values, updates = _counts(labels, predictions, weights, num_thresholds)
        tp, fn, tn, fp = (values[key] for key in ("tp", "fn", "tn", "fp"))
        epsilon = 1.0e-6
        recall = math_ops.div(tp + epsilon, tp + fn + epsilon)
        if curve == "ROC":
            points = math_ops.div(fp, fp + tn + epsilon), recall
        else:
            points = recall, math_ops.div(tp + epsilon, tp + fp + epsilon)
        points = array_ops.stack(points, axis=1)
        update_op = control_flow_ops.group(*updates.values())
        return metrics_impl._collect(points, update_op, metrics_collections, updates_collections)


def _share(part, rest, name=None):
    return math_ops.div(part, part + rest + _EPSILON, name)


def _recall_where_precise(counts, precision, name, strict_mode):
    tp, fp, fn = counts["tp"], counts["fp"], counts["fn"]
    distances = _share(tp, fp) - precision
    if not strict_mode:
        place = math_ops.argmin(math_ops.abs(distances), 0, output_type=dtypes.int32)
        return _share(tp[place], fn[place], name)
    # The greatest of 1 / distance is the precision that is nearest from above, if there is one.
    place = math_ops.argmax(math_ops.div(1.0, distances + _EPSILON), 0, output_type=dtypes.int32)
    return control_flow_ops.cond(
        distances[place] >= 0, lambda: _share(tp[place], fn[place], name), lambda: 0.0
    )


def recall_at_precision(
    labels,
    predictions,
    precision,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    name=None,
    strict_mode=False,
):
    """The recall at the threshold whose precision is nearest to the given one.

    strict_mode: only thresholds whose precision is not below count; 0 where there is none.
    """
    if not 0 <= precision <= 1:
        raise ValueError("`precision` must be in the range [0, 1].")
    with variable_scope.variable_scope(name, "recall_at_precision", (predictions, labels, weights)):
        values, updates = _counts(labels, predictions, weights, num_thresholds)
        return metrics_impl._collect(
            _recall_where_precise(values, precision, "value", strict_mode),
            _recall_where_precise(updates, precision, "update_op", strict_mode),
            metrics_collections,
            updates_collections,
        )


def precision_at_recall(
    labels,
    predictions,
    target_recall,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """The precision at the highest threshold whose recall is not below the given one."""
    if not 0 <= target_recall <= 1:
        raise ValueError("`target_recall` must be in the range [0, 1].")
    with variable_scope.variable_scope(name, "precision_at_recall", (predictions, labels, weights)):
        values, updates = _counts(labels, predictions, weights, num_thresholds)

        def at_recall(counts, name):
            tp, fp, fn = counts["tp"], counts["fp"], counts["fn"]
            has_recall = math_ops.greater_equal(_share(tp, fn), target_recall)
            place = math_ops.reduce_sum(math_ops.cast(has_recall, dtypes.int64)) - 1
            return math_ops.div(tp[place] + _EPSILON, tp[place] + fp[place] + _EPSILON, name)

        return metrics_impl._collect(
            at_recall(values, "value"),
            at_recall(updates, "update_op"),
            metrics_collections,
            updates_collections,
        )


PrecisionRecallData = collections.namedtuple(
    "PrecisionRecallData", ["tp", "fp", "tn", "fn", "precision", "recall", "thresholds"]
)


def precision_recall_at_equal_thresholds(
    labels, predictions, weights=None, num_thresholds=None, use_locking=None, name=None
):
    """A PrecisionRecallData of values at num_thresholds (201) thresholds from 0 to 1, which a batch costs
    once, not for each threshold. labels: bool."""
    num_thresholds = 201 if num_thresholds is None else num_thresholds
    weights = 1.0 if weights is None else weights
    check_ops.assert_type(labels, dtypes.bool)
    given = (labels, predictions, weights)
    with variable_scope.variable_scope(name, "precision_recall_at_equal_thresholds", given):
        zero, one = (math_ops.cast(x, predictions.dtype) for x in (0.0, 1.0))
        message = "predictions must be in [0, 1]"
        checks = [
            check_ops.assert_greater_equal(predictions, zero, message=message),
            check_ops.assert_less_equal(predictions, one, message=message),
        ]
        with ops.control_dependencies(checks):
            predictions, labels, weights = metrics_impl._remove_squeezable_dimensions(
                predictions=predictions, labels=labels, weights=weights
            )
            predictions = array_ops.identity(predictions)
        predictions.get_shape().assert_is_compatible_with(labels.get_shape())
        truth = math_ops.cast(labels, dtypes.float64)
        weights = math_ops.cast(weights, dtypes.float64)
        buckets = math_ops.cast(math_ops.floor(predictions * (num_thresholds - 1)), dtypes.int32)
        buckets = array_ops.reshape(buckets, [-1])

        def bucketed(examples, name):
            in_buckets = metrics_impl.metric_variable([num_thresholds], dtypes.float64, name=name)
            update = state_ops.scatter_add(
                in_buckets, buckets, array_ops.reshape(examples, [-1]), use_locking=use_locking is not False
            )
            return math_ops.cumsum(in_buckets, reverse=True), update

        with ops.name_scope("variables"):
            tp, update_tp = bucketed(truth * weights, "tp_buckets")
            fp, update_fp = bucketed((1.0 - truth) * weights, "fp_buckets")
        tn, fn = fp[0] - fp, tp[0] - tp
        precision = tp / math_ops.maximum(math_ops.cast(_EPSILON, dtypes.float64), tp + fp)
        recall = tp / math_ops.maximum(math_ops.cast(_EPSILON, dtypes.float64), tp + fn)
        thresholds = math_ops.lin_space(0.0, 1.0, num_thresholds)
        values = (tp, fp, tn, fn, precision, recall, thresholds)
        result = PrecisionRecallData(*(math_ops.cast(v, predictions.dtype) for v in values))
        return result, control_flow_ops.group(update_tp, update_fp)


def _checked(labels):
    """labels as int64 [n], checked to be 0 or 1 when they are used."""
    labels = array_ops.reshape(math_ops.cast(labels, dtypes.int64), [-1])
    checks = [
        check_ops.assert_greater_equal(
            labels, array_ops.zeros_like(labels), message="labels must be 0 or 1, at least one is <0"
        ),
        check_ops.assert_less_equal(
            labels, array_ops.ones_like(labels), message="labels must be 0 or 1, at least one is >1"
        ),
    ]
    with ops.control_dependencies(checks):
        return array_ops.identity(labels)


def _area(labels, predictions, curve, weights):
    """The area below the curve through the points of all thresholds."""
    if weights is None:
        weights = array_ops.ones_like(labels, dtype=dtypes.float64)
    is_true = math_ops.cast(labels, dtypes.float64)
    total, total_true = math_ops.reduce_sum(weights), math_ops.reduce_sum(is_true * weights)

    def compute():
        ordered, indices = nn.top_k(predictions, k=array_ops.size(predictions))
        ordered_weights = array_ops.gather(weights, indices)
        true_weights = ordered_weights * array_ops.gather(is_true, indices)
        # A threshold is at the end of a group of equal predictions.
        counts = array_ops.unique_with_counts(ordered).count
        ends = math_ops.cast(array_ops.pad(math_ops.cumsum(counts), [[1, 0]]), dtypes.int32)

        def above(values):
            return array_ops.gather(array_ops.pad(math_ops.cumsum(values), [[1, 0]]), ends)

        right, positives = above(true_weights), above(ordered_weights)
        if curve == "ROC":
            x, y = (positives - right) / (total - total_true), right / total_true
        else:
            ones = array_ops.ones_like(right)
            x, y = right / total_true, array_ops.where(ends > 0, right / positives, ones)
        return math_ops.reduce_sum((y[1:] + y[:-1]) / 2.0 * math_ops.abs(x[1:] - x[:-1]))

    has_one_class = math_ops.logical_or(math_ops.equal(total_true, 0), math_ops.equal(total_true, total))
    zero = array_ops.constant(0, dtypes.float64)
    return control_flow_ops.cond(has_one_class, lambda: zero, compute)


def streaming_dynamic_auc(
    labels,
    predictions,
    curve="ROC",
    metrics_collections=(),
    updates_collections=(),
    name=None,
    weights=None,
):
    """The area below the curve, exact: all labels and predictions are kept. float64; 0 where there is one
    class."""
    if curve not in ("PR", "ROC"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    with variable_scope.variable_scope(name, default_name="dynamic_auc"):
        labels.get_shape().assert_is_compatible_with(predictions.get_shape())
        predictions = array_ops.reshape(math_ops.cast(predictions, dtypes.float64), [-1])
        kept = [
            streaming_concat(predictions, name="concat_preds"),
            streaming_concat(_checked(labels), name="concat_labels"),
        ]
        if weights is not None:
            weights = array_ops.reshape(math_ops.cast(weights, dtypes.float64), [-1])
            kept.append(streaming_concat(weights, name="concat_weights"))
        (predictions, labels, *rest), updates = zip(*kept)
        auc = _area(labels, predictions, curve, rest[0] if rest else None)
        update_op = control_flow_ops.group(*updates)
        return metrics_impl._collect(auc, update_op, metrics_collections, updates_collections)


AucData = collections.namedtuple("AucData", ["auc", "lower", "upper"])


def _placement_auc(labels, predictions, weights, alpha, logit_transformation, is_valid):
    """The area by placement values: for an example, the share of the other class that is below it."""
    from braid.tensorflow.python.ops.distributions import normal

    of_class = [math_ops.cast(labels, dtypes.float32)]
    of_class.insert(0, 1.0 - of_class[0])
    of_class = [c * weights for c in of_class]  # the weights of the examples of each class
    totals = [math_ops.reduce_sum(w) for w in of_class]
    ordered, indices = nn.top_k(-predictions, k=array_ops.size(predictions), sorted=True)
    of_class = [array_ops.gather(w, indices) for w in of_class]
    groups = array_ops.unique(ordered).idx

    def placements(others):
        in_group = math_ops.segment_sum(others, groups)
        below = math_ops.cumsum(in_group, exclusive=True) + in_group / 2.0
        return array_ops.gather(below / (math_ops.reduce_sum(in_group) + _EPSILON), groups)

    values = [1.0 - placements(of_class[1]), placements(of_class[0])]
    means, variances = [], []
    for value, weight, total in zip(values, of_class, totals):
        means.append(math_ops.reduce_sum(weight * value) / (total + _EPSILON))
        spread = math_ops.reduce_sum(weight * math_ops.squared_difference(value, means[-1]))
        variances.append(spread / (total - 1.0 + _EPSILON) / (total + _EPSILON))
    auc = array_ops.where(math_ops.less(*totals), means[1], means[0])
    deviation = math_ops.sqrt(variances[0] + variances[1])
    z = normal.Normal(loc=0.0, scale=1.0).quantile((1.0 - alpha) / 2.0)
    if logit_transformation:
        logit = math_ops.log(auc / (1.0 - auc + _EPSILON))
        half = z * deviation / (auc * (1.0 - auc + _EPSILON))
        bounds = [1.0 / (1.0 + math_ops.exp(-x) + _EPSILON) for x in (logit + half, logit - half)]
    else:
        bounds = [auc + z * deviation, auc - z * deviation]
    is_trivial = math_ops.logical_or(math_ops.equal(auc, 1.0), math_ops.equal(auc, 0.0))
    bounds = [array_ops.where(is_trivial, auc, b) for b in bounds]
    zero = array_ops.constant(0.0)
    return AucData(*control_flow_ops.cond(is_valid, lambda: [auc, *bounds], lambda: [zero] * 3))


def auc_with_confidence_intervals(
    labels,
    predictions,
    weights=None,
    alpha=0.95,
    logit_transformation=True,
    metrics_collections=(),
    updates_collections=(),
    name=None,
):
    """The area below the ROC curve, and the bounds of its confidence interval (Qin and Hotilovac, 2008):
    AucData.

    Zeros in a step whose batch has one class, or weights whose sum is below 1. logit_transformation: the
    interval is that of log(auc / (1 - auc)).
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1; currently {alpha:.02f}")
    if weights is None:
        weights = array_ops.ones_like(predictions)
    with variable_scope.variable_scope(
        name, default_name="auc_with_confidence_intervals", values=[labels, predictions, weights]
    ):
        predictions, labels, weights = metrics_impl._remove_squeezable_dimensions(
            predictions=predictions, labels=labels, weights=weights
        )
        total = math_ops.reduce_sum(weights)
        weights = array_ops.reshape(weights, [-1])
        predictions = array_ops.reshape(math_ops.cast(predictions, dtypes.float64), [-1])
        labels = _checked(labels)
        kept = [
            streaming_concat(predictions, name="concat_preds"),
            streaming_concat(labels, name="concat_labels"),
            streaming_concat(weights, name="concat_weights"),
        ]
        values, updates = zip(*kept)
        has_weight = math_ops.greater_equal(total, 1.0)
        has_both = math_ops.logical_and(
            math_ops.equal(math_ops.reduce_min(labels), 0), math_ops.equal(math_ops.reduce_max(labels), 1)
        )
        auc = _placement_auc(
            values[1],
            values[0],
            values[2],
            alpha,
            logit_transformation,
            math_ops.logical_and(has_both, has_weight),
        )
        update_op = control_flow_ops.group(*updates)
        return metrics_impl._collect(auc, update_op, metrics_collections, updates_collections)
