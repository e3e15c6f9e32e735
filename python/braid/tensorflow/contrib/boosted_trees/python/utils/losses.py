"""Losses of examples. Each function returns the losses, and an operation that does nothing."""

from braid.tensorflow.python.framework import dtypes, ops
from braid.tensorflow.python.ops import array_ops, control_flow_ops, math_ops, nn
from braid.tensorflow.python.ops.losses import losses


def _weighted(loss, weights):
    return (loss if weights is None else loss * weights), control_flow_ops.no_op()


def per_example_squared_hinge_loss(labels, weights, predictions):
    loss = losses.hinge_loss(labels=labels, logits=predictions, weights=weights)
    return math_ops.square(loss), control_flow_ops.no_op()


def per_example_logistic_loss(labels, weights, predictions):
    labels = math_ops.cast(labels, dtypes.float32)
    return _weighted(nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=predictions), weights)


def per_example_quantile_regression_loss(labels, weights, predictions, quantile):
    """The loss of a quantile, squared where it is below 1."""
    error = math_ops.cast(labels, dtypes.float32) - predictions

    def smoothed(factor):
        return array_ops.where(error * factor < 1, math_ops.square(factor * error), factor * error)

    return _weighted(array_ops.where(error > 0, smoothed(quantile), smoothed(quantile - 1)), weights)


def per_example_maxent_loss(labels, weights, logits, num_classes, eps=1e-15):
    """Minus the logarithm of the softmax of an example's class, which is at least eps and at most 1 - eps."""
    labels = math_ops.cast(labels, dtypes.int64)
    if len(labels.shape) != 2:
        labels = array_ops.expand_dims(labels, 1)
    one_hot = math_ops.reduce_sum(array_ops.one_hot(indices=labels, depth=num_classes), axis=[1])
    one_hot = math_ops.cast(one_hot, dtypes.float32)
    exponents = math_ops.exp(logits)
    sums = math_ops.reduce_sum(exponents, 1, keepdims=True)
    softmax = math_ops.divide(exponents, math_ops.add(sums, eps))
    probability = math_ops.reduce_sum(one_hot * softmax, 1)
    least = array_ops.zeros_like(probability, dtype=logits.dtype) + eps
    most = array_ops.ones_like(probability, dtype=logits.dtype) - eps
    probability = array_ops.where(probability >= eps, probability, least)
    probability = array_ops.where(probability <= 1 - eps, probability, most)
    return _weighted(array_ops.expand_dims(-math_ops.log(probability), 1), weights)


def per_example_squared_loss(labels, weights, predictions):
    difference = math_ops.squared_difference(predictions, labels)
    return _weighted(math_ops.reduce_sum(difference, 1, keepdims=True), weights)


def _signs(labels, logits):
    """1 for labels above 0, and -1."""
    labels = ops.convert_to_tensor(labels, name="labels")
    try:
        labels.shape.merge_with(logits.shape)
    except ValueError:
        raise ValueError(f"logits and labels must have the same shape ({logits.shape} vs {labels.shape})")
    ones = array_ops.ones_like(logits, dtype=logits.dtype)
    return array_ops.where(labels > array_ops.zeros_like(logits, dtype=logits.dtype), ones, -ones)


def per_example_exp_loss(labels, weights, predictions, name=None, eps=0.1):
    """The exponential loss of two classes, of predictions that are 1 or -1 but for probabilities near 0.5."""
    with ops.name_scope(name, "exp_loss", [predictions, labels]):
        logits = ops.convert_to_tensor(predictions, name="logits")
        signs = _signs(math_ops.cast(labels, dtypes.float32), logits)
        ones = array_ops.ones_like(logits, dtype=logits.dtype)
        value = math_ops.sigmoid(logits) / eps - 0.5 / eps
        value = array_ops.where(value < -1, -ones, value)
        value = array_ops.where(value > 1, ones, value)
        return _weighted(math_ops.exp(-value * signs), weights)


def per_example_full_exp_loss(labels, weights, predictions, name=None):
    """The exponential loss of two classes."""
    with ops.name_scope(name, "exp_loss", [predictions, labels]):
        logits = ops.convert_to_tensor(predictions, name="logits")
        return _weighted(
            math_ops.exp(-1.0 * logits * _signs(math_ops.cast(labels, dtypes.float32), logits)), weights
        )
