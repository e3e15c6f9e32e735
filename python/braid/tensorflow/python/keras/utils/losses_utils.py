"""How the losses of examples become one."""

from braid.tensorflow.python.distribute import distribution_strategy_context
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import weights_broadcast_ops
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.losses.Reduction", v1=[])
class ReductionV2:
    """How losses are reduced: AUTO is SUM_OVER_BATCH_SIZE."""

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"

    @classmethod
    def all(cls):
        return (cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE)

    @classmethod
    def validate(cls, key):
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


def squeeze_or_expand_dimensions(y_pred, y_true=None, sample_weight=None):
    """(y_pred, y_true, sample_weight), the latter two with as many dimensions as y_pred where one differs."""
    if y_true is not None:
        a, b = y_pred.shape.ndims, y_true.shape.ndims
        if a is not None and b is not None and (b - a != 0 or y_pred.shape[-1].value == 1):
            if a - b == 1 and y_pred.shape.is_compatible_with(y_pred.shape[:-1].concatenate([1])):
                y_pred = array_ops.squeeze(y_pred, [-1])
            elif b - a == 1 and y_true.shape.is_compatible_with(y_true.shape[:-1].concatenate([1])):
                y_true = array_ops.squeeze(y_true, [-1])
    if sample_weight is None:
        return (y_pred, y_true) if y_true is not None else (y_pred, None)
    w, p = sample_weight.shape.ndims, y_pred.shape.ndims
    if w == 0:
        return y_pred, y_true, sample_weight
    if w is None or p is None:
        more = array_ops.rank(sample_weight) - array_ops.rank(y_pred)
        squeeze = lambda: array_ops.squeeze(sample_weight, [-1])  # noqa: E731
        expand = lambda: array_ops.expand_dims(sample_weight, [-1])  # noqa: E731
        keep = lambda: array_ops.identity(sample_weight)  # noqa: E731
        fewer = math_ops.logical_and(math_ops.equal(more, -1), array_ops.rank(sample_weight) > 0)
        cond = control_flow_ops.cond
        weight = cond(math_ops.equal(more, 1), squeeze, lambda: cond(fewer, expand, keep))
        return y_pred, y_true, weight
    if w - p == 1:
        sample_weight = array_ops.squeeze(sample_weight, [-1])
    elif p - w == 1:
        sample_weight = array_ops.expand_dims(sample_weight, [-1])
    return y_pred, y_true, sample_weight


def values_of(arguments):
    """A dictionary for settings: tensors and variables as their values."""
    is_tensor = lambda v: isinstance(v, ops.Tensor) or K.is_variable(v)  # noqa: E731
    return {k: K.eval(v) if is_tensor(v) else v for k, v in arguments.items()}


def _safe_mean(losses, num_present):
    return math_ops.div_no_nan(math_ops.reduce_sum(losses), num_present, name="value")


def _num_elements(losses):
    with K.name_scope("num_elements") as scope:
        return math_ops.cast(array_ops.size(losses, name=scope), dtype=losses.dtype)


def reduce_weighted_loss(weighted_losses, reduction=ReductionV2.SUM_OVER_BATCH_SIZE):
    """The losses as they are, their sum, or their mean."""
    if reduction == ReductionV2.NONE:
        return weighted_losses
    loss = math_ops.reduce_sum(weighted_losses)
    if reduction in (ReductionV2.SUM_OVER_BATCH_SIZE, ReductionV2.AUTO):
        loss = _safe_mean(loss, _num_elements(weighted_losses))
    return loss


def compute_weighted_loss(losses, sample_weight=None, reduction=ReductionV2.SUM_OVER_BATCH_SIZE, name=None):
    """The losses, times weights, reduced."""
    ReductionV2.validate(reduction)
    if reduction == ReductionV2.AUTO:
        reduction = ReductionV2.SUM_OVER_BATCH_SIZE
    if sample_weight is None:
        sample_weight = 1.0
    with K.name_scope(name or "weighted_loss"):
        losses = ops.convert_to_tensor(losses)
        input_dtype = losses.dtype
        losses = math_ops.cast(losses, "float32")
        sample_weight = math_ops.cast(sample_weight, "float32")
        losses, _, sample_weight = squeeze_or_expand_dimensions(losses, None, sample_weight)
        sample_weight = weights_broadcast_ops.broadcast_weights(sample_weight, losses)
        losses = reduce_weighted_loss(math_ops.multiply(losses, sample_weight), reduction)
        return math_ops.cast(losses, input_dtype)


def scale_loss_for_distribution(loss_value):
    """The loss, a mean over a replica's batch, divided by the number of replicas."""
    replicas = distribution_strategy_context.get_strategy().num_replicas_in_sync
    return loss_value * (1.0 / replicas) if replicas > 1 else loss_value
