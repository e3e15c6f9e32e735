"""What metrics share."""

import enum

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.ragged import ragged_tensor
from braid.tensorflow.python.ops.ragged import ragged_util

NEG_INF = -1e10


class Reduction(enum.Enum):
    """How values are put together."""

    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"
    WEIGHTED_MEAN = "weighted_mean"


class ConfusionMatrix(enum.Enum):
    """The four counts."""

    TRUE_POSITIVES = "tp"
    FALSE_POSITIVES = "fp"
    TRUE_NEGATIVES = "tn"
    FALSE_NEGATIVES = "fn"


class AUCCurve(enum.Enum):
    """ROC or precision and recall."""

    ROC = "ROC"
    PR = "PR"

    @staticmethod
    def from_str(key):
        if key in ("pr", "PR"):
            return AUCCurve.PR
        if key in ("roc", "ROC"):
            return AUCCurve.ROC
        raise ValueError(f'Invalid AUC curve value "{key}".')


class AUCSummationMethod(enum.Enum):
    """How the area is summed up."""

    INTERPOLATION = "interpolation"
    MAJORING = "majoring"
    MINORING = "minoring"

    @staticmethod
    def from_str(key):
        try:
            return AUCSummationMethod(
                {"Interpolation": "interpolation", "Majoring": "majoring", "Minoring": "minoring"}.get(
                    key, key
                )
            )
        except ValueError:
            raise ValueError(f'Invalid AUC summation method value "{key}".') from None


def parse_init_thresholds(thresholds, default_threshold=0.5):
    """The thresholds as a list, after a check."""
    thresholds = default_threshold if thresholds is None else thresholds
    thresholds = list(thresholds) if isinstance(thresholds, (list, tuple)) else [thresholds]
    bad = [t for t in thresholds if t is None or t < 0 or t > 1]
    if bad:
        raise ValueError(f"Threshold values must be in [0, 1]. Invalid values: {bad}")
    return thresholds


def update_confusion_matrix_variables(
    variables_to_update,
    y_true,
    y_pred,
    thresholds,
    top_k=None,
    class_id=None,
    sample_weight=None,
):
    """Ops that add the counts of a batch to variables [thresholds]; a dict from ConfusionMatrix to variables."""
    from braid.tensorflow.python.keras.utils import losses_utils

    dtype = dtypes.float32
    (y_pred, y_true), _ = ragged_assert_compatible_and_get_flat_values([y_pred, y_true], sample_weight)
    y_true = math_ops.cast(y_true, dtype)
    y_pred = math_ops.cast(y_pred, dtype)
    if sample_weight is None:
        y_pred, y_true = losses_utils.squeeze_or_expand_dimensions(y_pred, y_true)
    else:
        sample_weight = math_ops.cast(sample_weight, dtype)
        y_pred, y_true, sample_weight = losses_utils.squeeze_or_expand_dimensions(
            y_pred, y_true, sample_weight
        )
    if top_k is not None:
        y_pred = _filter_top_k(y_pred, top_k)
    if class_id is not None:
        y_true, y_pred = y_true[..., class_id], y_pred[..., class_id]
    count = len(thresholds)
    predictions = array_ops.reshape(y_pred, [1, -1])
    labels = math_ops.cast(array_ops.reshape(y_true, [1, -1]), dtypes.bool)
    limits = array_ops.reshape(math_ops.cast(thresholds, dtype), [count, 1])
    positive = math_ops.greater(predictions, limits)
    labels = array_ops.tile(labels, [count, 1])
    if sample_weight is not None:
        from braid.tensorflow.python.ops import weights_broadcast_ops

        weights = weights_broadcast_ops.broadcast_weights(sample_weight, y_pred)
        weights = array_ops.tile(array_ops.reshape(weights, [1, -1]), [count, 1])
    else:
        weights = None
    updates = []
    of = {
        ConfusionMatrix.TRUE_POSITIVES: (labels, positive),
        ConfusionMatrix.FALSE_POSITIVES: (math_ops.logical_not(labels), positive),
        ConfusionMatrix.FALSE_NEGATIVES: (labels, math_ops.logical_not(positive)),
        ConfusionMatrix.TRUE_NEGATIVES: (math_ops.logical_not(labels), math_ops.logical_not(positive)),
    }
    for kind, variable in variables_to_update.items():
        hits = math_ops.cast(math_ops.logical_and(*of[kind]), dtype)
        if weights is not None:
            hits = hits * weights
        updates.append(variable.assign_add(math_ops.reduce_sum(hits, 1)))
    return control_flow_ops.group(*updates)


def ragged_assert_compatible_and_get_flat_values(values, mask=None):
    """(values, mask): of ragged tensors the flat values with one axis more, else as given.

    values: a list. A step fails where the tensors, and the mask if it is ragged, have other rows. ValueError:
    other ragged ranks. TypeError: only some are ragged.
    """
    given = values if isinstance(values, list) else [values]
    ragged = [isinstance(t, ragged_tensor.RaggedTensor) for t in given]
    ragged_mask = isinstance(mask, ragged_tensor.RaggedTensor)
    if not any(ragged) and not ragged_mask:
        return values, mask
    if not all(ragged) or (mask is not None and not ragged_mask):
        raise TypeError("Either all of a metric's labels, predictions and weights are ragged, or none is.")
    given = given + [mask] * ragged_mask
    checks = ragged_util.assert_splits_match([t.nested_row_splits for t in given])
    with_checks = control_flow_ops.with_dependencies
    flat = [array_ops.expand_dims(with_checks(checks, t.flat_values), -1) for t in given]
    if ragged_mask:
        mask = flat.pop()
    return flat if isinstance(values, list) else flat[0], mask


def _filter_top_k(x, k):
    from braid.tensorflow.python.ops import nn

    _, indices = nn.top_k(x, k, sorted=False)
    mask = math_ops.reduce_sum(array_ops.one_hot(indices, x.shape.as_list()[-1], axis=-1), axis=-2)
    return x * mask + NEG_INF * (1 - mask)
