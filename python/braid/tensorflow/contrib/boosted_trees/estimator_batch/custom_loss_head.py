"""A head of any loss."""

from braid.tensorflow.contrib.learn.python.learn.estimators import head as head_lib
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.ops import array_ops, math_ops


class CustomLossHead(head_lib._RegressionHead):
    """A head of any loss and link function.

    Args:
      loss_fn: (labels, weights, logits) -> the weighted losses of examples, and an operation.
      link_fn: from logits to predictions.
      logit_dimension: of the logits.
      head_name: follows the names of metrics.
      weight_column_name: of the feature that is the examples' weight.
      metrics_fn: (predictions, labels, weights) -> a dict of metrics.
    """

    def __init__(
        self, loss_fn, link_fn, logit_dimension, head_name=None, weight_column_name=None, metrics_fn=None
    ):
        super().__init__(
            link_fn=link_fn,
            logits_dimension=logit_dimension,
            label_name=None,
            weight_column_name=weight_column_name,
            head_name=head_name,
        )
        self._loss_fn = loss_fn
        self._metrics_fn = metrics_fn

    def _loss(self, labels, logits, weights):
        if weights is None:
            weights = array_ops.ones(shape=[array_ops.shape(labels)[0], 1], dtype=dtypes.float32)
        weighted, _ = self._loss_fn(labels, weights, logits)
        mean = math_ops.reduce_mean(weighted)
        return mean, mean / math_ops.reduce_mean(weights)

    def _metrics(self, predictions, labels, weights):
        return self._metrics_fn(predictions, labels, weights) if self._metrics_fn else {}
