"""The loss of sparsemax."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops

__all__ = ["sparsemax_loss"]


def sparsemax_loss(logits, sparsemax, labels, name=None):
    """The loss [batch] of logits, their sparsemax and the labels' probabilities, all [batch, classes]."""
    with ops.name_scope(name, "sparsemax_loss", [logits, sparsemax, labels]) as name:
        logits = ops.convert_to_tensor(logits, name="logits")
        sparsemax = ops.convert_to_tensor(sparsemax, name="sparsemax")
        labels = ops.convert_to_tensor(labels, name="labels")
        has_part = math_ops.logical_or(sparsemax > 0, math_ops.is_nan(sparsemax))
        part = sparsemax * (logits - 0.5 * sparsemax)
        part = array_ops.where(has_part, part, array_ops.zeros_like(sparsemax))
        of_labels = labels * (0.5 * labels - logits)
        is_nothing = math_ops.logical_and(math_ops.equal(labels, 0), math_ops.is_inf(logits))
        of_labels = array_ops.where(is_nothing, array_ops.zeros_like(logits), of_labels)
        return math_ops.reduce_sum(part + of_labels, axis=1)
