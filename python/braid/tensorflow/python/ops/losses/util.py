"""The collection of losses, and their total."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import confusion_matrix
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import tf_export


def squeeze_or_expand_dimensions(y_pred, y_true=None, sample_weight=None):
    """The three with a last axis of size 1 taken away or added where the ranks differ by one."""
    if y_true is not None:
        if y_pred.shape.ndims != y_true.shape.ndims or y_pred.shape[-1:] != y_true.shape[-1:]:
            if (y_pred.shape.ndims or 0) + (
                y_true.shape.ndims or 0
            ) and y_pred.shape.ndims != y_true.shape.ndims:
                y_true, y_pred = confusion_matrix.remove_squeezable_dimensions(y_true, y_pred)
    if sample_weight is None:
        return y_pred, y_true
    weights = ops.convert_to_tensor(sample_weight)
    rank, pred_rank = weights.shape.ndims, y_pred.shape.ndims
    if rank == 0 or rank is None or pred_rank is None:
        return y_pred, y_true, weights
    if rank - pred_rank == 1:
        weights = array_ops.squeeze(weights, [-1])
    elif pred_rank - rank == 1:
        weights = array_ops.expand_dims(weights, [-1])
    return y_pred, y_true, weights


@tf_export(v1=["losses.add_loss"])
def add_loss(loss, loss_collection=ops.GraphKeys.LOSSES):
    """Adds a loss to the collection."""
    if loss_collection:
        ops.add_to_collection(loss_collection, loss)


@tf_export(v1=["losses.get_losses"])
def get_losses(scope=None, loss_collection=ops.GraphKeys.LOSSES):
    """The losses of the collection, or those whose names begin with `scope`."""
    return ops.get_collection(loss_collection, scope)


@tf_export(v1=["losses.get_regularization_losses"])
def get_regularization_losses(scope=None):
    """The losses that regularizers of weights have made."""
    return ops.get_collection(ops.GraphKeys.REGULARIZATION_LOSSES, scope)


@tf_export(v1=["losses.get_regularization_loss"])
def get_regularization_loss(scope=None, name="total_regularization_loss"):
    """The sum of the regularization losses, 0 if there are none."""
    losses = get_regularization_losses(scope)
    return math_ops.add_n(losses, name=name) if losses else constant_op.constant(0.0)


@tf_export(v1=["losses.get_total_loss"])
def get_total_loss(add_regularization_losses=True, name="total_loss", scope=None):
    """The sum of the losses, and of the regularization losses. ValueError: there are none."""
    losses = get_losses(scope=scope)
    if add_regularization_losses:
        losses += get_regularization_losses(scope=scope)
    return math_ops.add_n(losses, name=name)
