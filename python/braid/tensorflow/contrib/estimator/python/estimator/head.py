"""Heads for the estimators of TensorFlow 1, whose losses are means over batches."""

from braid.tensorflow.python.estimator.canned import head as head_lib
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops.losses import losses

_MEAN = losses.Reduction.SUM_OVER_BATCH_SIZE


def multi_class_head(
    n_classes, weight_column=None, label_vocabulary=None, loss_reduction=_MEAN, loss_fn=None, name=None
):
    """A head for one of n_classes > 2 classes."""
    return head_lib._multi_class_head_with_softmax_cross_entropy_loss(
        n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name
    )


def binary_classification_head(
    weight_column=None, thresholds=None, label_vocabulary=None, loss_reduction=_MEAN, loss_fn=None, name=None
):
    """A head for two classes."""
    return head_lib._binary_logistic_head_with_sigmoid_cross_entropy_loss(
        weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name
    )


def multi_label_head(
    n_classes,
    weight_column=None,
    thresholds=None,
    label_vocabulary=None,
    loss_reduction=_MEAN,
    loss_fn=None,
    classes_for_class_based_metrics=None,
    name=None,
):
    """A head for any of n_classes classes."""
    return head_lib._MultiLabelHead(
        n_classes,
        weight_column,
        thresholds,
        label_vocabulary,
        loss_reduction,
        loss_fn,
        classes_for_class_based_metrics,
        name,
    )


def regression_head(
    weight_column=None, label_dimension=1, loss_reduction=_MEAN, loss_fn=None, inverse_link_fn=None, name=None
):
    """A head for numbers."""
    return head_lib._regression_head(
        weight_column, label_dimension, loss_reduction, loss_fn, inverse_link_fn, name
    )


def poisson_regression_head(
    weight_column=None, label_dimension=1, loss_reduction=_MEAN, compute_full_loss=True, name=None
):
    """A head for counts: the logits are their logarithms."""

    def loss_fn(labels, logits):
        return nn.log_poisson_loss(targets=labels, log_input=logits, compute_full_loss=compute_full_loss)

    return head_lib._regression_head(
        weight_column, label_dimension, loss_reduction, loss_fn, math_ops.exp, name
    )


def logistic_regression_head(weight_column=None, loss_reduction=_MEAN, name=None):
    """A head for probabilities."""

    def loss_fn(labels, logits):
        labels = head_lib._assert_range(labels, n_classes=2, message="Labels must be in range [0, 1]")
        return nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    return head_lib._regression_head(weight_column, 1, loss_reduction, loss_fn, math_ops.sigmoid, name)
