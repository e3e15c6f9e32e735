"""Losses whose first argument is the predictions, and whose weights may be [batch]."""

from braid.tensorflow.contrib.framework.python.ops.arg_scope import add_arg_scope
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_impl
from braid.tensorflow.python.ops import nn_ops
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


def _sum_of_weighted(losses, weights):
    """The sum of the losses, whose axes beyond those of the weights are summed first, times the weights."""
    axes = list(range(weights.get_shape().ndims, losses.get_shape().ndims))
    return math_ops.reduce_sum(math_ops.multiply(math_ops.reduce_sum(losses, axis=axes), weights))


def _num_present(losses, weights, per_batch=False):
    """How many losses have a weight that is not 0; per_batch: of each example."""
    rank = weights.get_shape().ndims
    if rank == 0:
        batch = array_ops.reshape(array_ops.slice(array_ops.shape(losses), [0], [1]), [])
        size = math_ops.cast(array_ops.size(losses), dtypes.float32)
        counts = math_ops.div(size, math_ops.cast(batch, dtypes.float32))
        counts = array_ops.where(math_ops.equal(weights, 0), 0.0, counts)
        counts = math_ops.multiply(array_ops.ones(array_ops.reshape(batch, [1])), counts)
        return counts if per_batch else math_ops.reduce_sum(counts)
    is_present = math_ops.cast(math_ops.not_equal(weights, 0), dtypes.float32)
    counts = math_ops.reduce_sum(is_present, axis=list(range(1, rank)))
    others = math_ops.reduce_prod(array_ops.slice(array_ops.shape(losses), [rank], [-1]))
    counts = math_ops.multiply(counts, math_ops.cast(others, dtypes.float32))
    return counts if per_batch else math_ops.reduce_sum(counts)


def _known_ranks(losses, weights, name):
    if losses.get_shape().ndims is None:
        raise ValueError("%s.get_shape().ndims cannot be None" % name)
    if weights.get_shape().ndims is None:
        raise ValueError("weights.get_shape().ndims cannot be None")


@add_arg_scope
def compute_weighted_loss(losses, weights=1.0, scope=None):
    """The sum of the losses times their weights, by how many weights are not 0, in the collection of losses."""
    with ops.name_scope(scope, "weighted_loss", [losses, weights]):
        losses = ops.convert_to_tensor(losses)
        dtype = losses.dtype
        losses = math_ops.cast(losses, dtypes.float32)
        weights = math_ops.cast(ops.convert_to_tensor(weights), dtypes.float32)
        _known_ranks(losses, weights, "losses")
        known = weights.get_shape()
        if known.ndims > 1 and known.dims[-1].is_compatible_with(1):
            weights = array_ops.squeeze(weights, [-1])
        total = _sum_of_weighted(losses, weights)
        count = _num_present(losses, weights)
        loss = math_ops.div_no_nan(math_ops.reduce_sum(total), count, name="value")
        loss = math_ops.cast(loss, dtype)
        add_loss(loss)
        return loss


@add_arg_scope
def add_loss(loss, loss_collection=ops.GraphKeys.LOSSES):
    util.add_loss(loss, loss_collection)


def get_losses(scope=None, loss_collection=ops.GraphKeys.LOSSES):
    return util.get_losses(scope, loss_collection)


def get_regularization_losses(scope=None):
    return util.get_regularization_losses(scope)


def get_total_loss(add_regularization_losses=True, name="total_loss"):
    return util.get_total_loss(add_regularization_losses, name)


def _floats(predictions, labels):
    """Both as float32, after a check of their shapes."""
    if labels is None:
        raise ValueError("labels must be given")
    tensors = [x if hasattr(x, "get_shape") else ops.convert_to_tensor(x) for x in (predictions, labels)]
    predictions, labels = tensors
    predictions.get_shape().assert_is_compatible_with(labels.get_shape())
    return math_ops.cast(predictions, dtypes.float32), math_ops.cast(labels, dtypes.float32)


def absolute_difference(predictions, labels=None, weights=1.0, scope=None):
    with ops.name_scope(scope, "absolute_difference", [predictions, labels, weights]) as scope:
        predictions, labels = _floats(predictions, labels)
        losses = math_ops.abs(math_ops.subtract(predictions, labels))
        return compute_weighted_loss(losses, weights, scope=scope)


def sigmoid_cross_entropy(logits, multi_class_labels, weights=1.0, label_smoothing=0, scope=None):
    with ops.name_scope(scope, "sigmoid_cross_entropy_loss", [logits, multi_class_labels, weights]) as scope:
        logits.get_shape().assert_is_compatible_with(multi_class_labels.get_shape())
        labels = math_ops.cast(multi_class_labels, logits.dtype)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = nn_impl.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope=scope)


def softmax_cross_entropy(logits, onehot_labels, weights=1.0, label_smoothing=0, scope=None):
    with ops.name_scope(scope, "softmax_cross_entropy_loss", [logits, onehot_labels, weights]) as scope:
        logits.get_shape().assert_is_compatible_with(onehot_labels.get_shape())
        labels = math_ops.cast(onehot_labels, logits.dtype)
        if label_smoothing > 0:
            count = math_ops.cast(array_ops.shape(labels)[1], logits.dtype)
            smallest = label_smoothing / count
            labels = labels * (1.0 - label_smoothing) + smallest
        losses = nn_ops.softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope=scope)


def sparse_softmax_cross_entropy(logits, labels, weights=1.0, scope=None):
    with ops.name_scope(scope, "sparse_softmax_cross_entropy_loss", [logits, labels, weights]) as scope:
        labels = array_ops.reshape(labels, shape=[array_ops.shape(labels)[0]])
        losses = nn_ops.sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(losses, weights, scope=scope)


def log_loss(predictions, labels=None, weights=1.0, epsilon=1e-7, scope=None):
    with ops.name_scope(scope, "log_loss", [predictions, labels, weights]) as scope:
        predictions, labels = _floats(predictions, labels)
        of_true = -math_ops.multiply(labels, math_ops.log(predictions + epsilon))
        losses = of_true - math_ops.multiply(1 - labels, math_ops.log(1 - predictions + epsilon))
        return compute_weighted_loss(losses, weights, scope=scope)


def hinge_loss(logits, labels=None, scope=None):
    """The losses, not weighted or reduced."""
    with ops.name_scope(scope, "hinge_loss", [logits, labels]):
        logits.get_shape().assert_is_compatible_with(labels.get_shape())
        labels = math_ops.cast(labels, dtypes.float32)
        ones = array_ops.ones_like(labels)
        signs = math_ops.subtract(2 * labels, ones)
        return nn_ops.relu(math_ops.subtract(ones, math_ops.multiply(signs, logits)))


def mean_squared_error(predictions, labels=None, weights=1.0, scope=None):
    with ops.name_scope(scope, "mean_squared_error", [predictions, labels, weights]) as scope:
        predictions, labels = _floats(predictions, labels)
        losses = math_ops.squared_difference(predictions, labels)
        return compute_weighted_loss(losses, weights, scope=scope)


def mean_pairwise_squared_error(predictions, labels=None, weights=1.0, scope=None):
    """The mean of squared differences between the errors of each two elements of an example, all ordered pairs."""
    with ops.name_scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]):
        predictions, labels = _floats(predictions, labels)
        weights = math_ops.cast(ops.convert_to_tensor(weights), dtypes.float32)
        error = math_ops.subtract(predictions, labels)
        _known_ranks(error, weights, "diffs")
        axes = list(range(1, error.get_shape().ndims))
        squares = math_ops.reduce_sum(math_ops.square(error), axis=axes)
        counts = _num_present(error, weights, per_batch=True)
        term1 = 2.0 * math_ops.div_no_nan(squares, counts, name="value")
        sums = math_ops.square(math_ops.reduce_sum(error, axis=axes))
        term2 = 2.0 * math_ops.div_no_nan(sums, math_ops.square(counts), name="value")
        losses = _sum_of_weighted(term1 - term2, weights)
        is_any = math_ops.reduce_sum(counts) > 0
        loss = array_ops.where(is_any, losses, array_ops.zeros_like(losses), name="value")
        add_loss(loss)
        return loss


def cosine_distance(predictions, labels=None, axis=None, weights=1.0, scope=None, dim=None):
    """1 less the product along `axis` of what must be unit vectors."""
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    with ops.name_scope(scope, "cosine_distance_loss", [predictions, labels, weights]) as scope:
        predictions, labels = _floats(predictions, labels)
        losses = 1 - math_ops.reduce_sum(math_ops.multiply(predictions, labels), axis=[axis])
        return compute_weighted_loss(losses, weights, scope=scope)
