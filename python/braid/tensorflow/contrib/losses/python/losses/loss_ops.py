"""Losses whose first argument is the predictions, and whose weights may be [batch]."""

from braid.tensorflow.contrib.framework.python.ops.arg_scope import add_arg_scope
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.losses import losses_impl
from braid.tensorflow.python.ops.losses import util

__all__ = [
    "absolute_difference",
    "add_loss",
    "cosine_distance",
    "compute_weighted_loss",
    "get_losses",
    "get_regularization_losses",
    "get_total_loss",
    "hinge_loss",
    "log_loss",
    "mean_pairwise_squared_error",
    "mean_squared_error",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "sparse_softmax_cross_entropy",
]


def _weights_of(weights, losses):
    """The weights with axes of size 1 for those that the losses have more."""
    weights = ops.convert_to_tensor(weights)
    if not weights.get_shape().ndims:
        return weights
    rank = losses.get_shape().ndims
    if rank is None:
        raise ValueError("losses.get_shape().ndims cannot be None")
    missing = rank - weights.get_shape().ndims
    if missing > 0:
        weights = array_ops.reshape(weights, array_ops.concat([array_ops.shape(weights), [1] * missing], 0))
    return weights


def _added(loss):
    add_loss(loss)
    return loss


@add_arg_scope
def compute_weighted_loss(losses, weights=1.0, scope=None):
    """The sum of the losses times their weights, by how many weights are not 0, in the collection of losses."""
    losses = ops.convert_to_tensor(losses)
    weights = _weights_of(weights, losses)
    return _added(losses_impl.compute_weighted_loss(losses, weights, scope=scope, loss_collection=None))


@add_arg_scope
def add_loss(loss, loss_collection=ops.GraphKeys.LOSSES):
    util.add_loss(loss, loss_collection)


def get_losses(scope=None, loss_collection=ops.GraphKeys.LOSSES):
    return util.get_losses(scope, loss_collection)


def get_regularization_losses(scope=None):
    return util.get_regularization_losses(scope)


def get_total_loss(add_regularization_losses=True, name="total_loss"):
    return util.get_total_loss(add_regularization_losses, name)


def _weighted(function, labels, predictions, weights, scope, **arguments):
    if labels is None:
        raise ValueError("labels must be given")
    predictions = ops.convert_to_tensor(predictions)
    weights = _weights_of(weights, predictions)
    loss = function(labels, predictions, weights=weights, scope=scope, loss_collection=None, **arguments)
    return _added(loss)


def absolute_difference(predictions, labels=None, weights=1.0, scope=None):
    return _weighted(losses_impl.absolute_difference, labels, predictions, weights, scope)


def _per_example(function, labels, logits, weights, scope, **arguments):
    weights = ops.convert_to_tensor(weights)
    if weights.get_shape().ndims == 2:
        weights = array_ops.squeeze(weights, [1])
    loss = function(labels, logits, weights=weights, scope=scope, loss_collection=None, **arguments)
    return _added(loss)


def sigmoid_cross_entropy(logits, multi_class_labels, weights=1.0, label_smoothing=0, scope=None):
    return _weighted(
        losses_impl.sigmoid_cross_entropy,
        multi_class_labels,
        logits,
        weights,
        scope,
        label_smoothing=label_smoothing,
    )


def softmax_cross_entropy(logits, onehot_labels, weights=1.0, label_smoothing=0, scope=None):
    return _per_example(
        losses_impl.softmax_cross_entropy,
        onehot_labels,
        logits,
        weights,
        scope,
        label_smoothing=label_smoothing,
    )


def sparse_softmax_cross_entropy(logits, labels, weights=1.0, scope=None):
    labels = ops.convert_to_tensor(labels)
    if labels.get_shape().ndims == 2:
        labels = array_ops.reshape(labels, [array_ops.shape(labels)[0]])
    return _per_example(losses_impl.sparse_softmax_cross_entropy, labels, logits, weights, scope)


def log_loss(predictions, labels=None, weights=1.0, epsilon=1e-7, scope=None):
    return _weighted(losses_impl.log_loss, labels, predictions, weights, scope, epsilon=epsilon)


def hinge_loss(logits, labels=None, scope=None):
    """The losses, not weighted or reduced."""
    with ops.name_scope(scope, "hinge_loss", [logits, labels]):
        logits.get_shape().assert_is_compatible_with(labels.get_shape())
        labels = math_ops.cast(labels, logits.dtype)
        signs = math_ops.subtract(2 * labels, array_ops.ones_like(labels))
        return math_ops.maximum(1 - signs * logits, 0)


def mean_squared_error(predictions, labels=None, weights=1.0, scope=None):
    return _weighted(losses_impl.mean_squared_error, labels, predictions, weights, scope)


def mean_pairwise_squared_error(predictions, labels=None, weights=1.0, scope=None):
    """The mean of squared differences between the errors of each two elements of an example, all ordered pairs."""
    with ops.name_scope(scope, "mean_pairwise_squared_error", [predictions, labels]):
        predictions = math_ops.cast(predictions, dtypes.float32)
        labels = math_ops.cast(labels, dtypes.float32)
        predictions.get_shape().assert_is_compatible_with(labels.get_shape())
        weights = math_ops.cast(ops.convert_to_tensor(weights), dtypes.float32)
        error = math_ops.subtract(predictions, labels)
        rank = error.get_shape().ndims
        if rank is None:
            raise ValueError("diffs.get_shape().ndims cannot be None")
        axes = list(range(1, rank))
        squares = math_ops.reduce_sum(math_ops.square(error), axis=axes, keepdims=True)
        weights = _weights_of(weights, error)
        count = losses_impl._num_present(error, weights, per_batch=True)
        total = math_ops.reduce_sum(error, axis=axes, keepdims=True)
        term1 = 2.0 * math_ops.div_no_nan(squares, count)
        term2 = 2.0 * math_ops.div_no_nan(math_ops.square(total), math_ops.square(count))
        losses = math_ops.reduce_sum((term1 - term2) * weights)
        return _added(
            array_ops.where(
                math_ops.reduce_sum(count) > 0, losses, array_ops.zeros_like(losses), name="value"
            )
        )


def cosine_distance(predictions, labels=None, axis=None, weights=1.0, scope=None, dim=None):
    """1 less the product along `axis` of what must be unit vectors."""
    axis = dim if axis is None else axis
    return _weighted(losses_impl.cosine_distance, labels, predictions, weights, scope, axis=axis)
