"""The heads of tf.estimator: those of canned/head.py with losses that are means over batches."""

from braid.tensorflow.python.estimator import model_fn
from braid.tensorflow.python.estimator.canned import head as head_v1
from braid.tensorflow.python.estimator.export import export_output
from braid.tensorflow.python.estimator.mode_keys import ModeKeys
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops.losses import losses
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.util.tf_export import estimator_export

_MEAN = losses.Reduction.SUM_OVER_BATCH_SIZE

Head = head_v1._Head
estimator_export("estimator.Head").export_constant(__name__, "Head")


@estimator_export("estimator.MultiClassHead")
class MultiClassHead(head_v1._MultiClassHeadWithSoftmaxCrossEntropyLoss):
    """One of n_classes > 2 classes; labels are ids, or values of label_vocabulary."""

    def __init__(
        self,
        n_classes,
        weight_column=None,
        label_vocabulary=None,
        loss_reduction=_MEAN,
        loss_fn=None,
        name=None,
    ):
        super().__init__(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)


@estimator_export("estimator.BinaryClassHead")
class BinaryClassHead(head_v1._BinaryLogisticHeadWithSigmoidCrossEntropyLoss):
    """One of two classes; labels are in [0, 1], or values of label_vocabulary."""

    def __init__(
        self,
        weight_column=None,
        thresholds=None,
        label_vocabulary=None,
        loss_reduction=_MEAN,
        loss_fn=None,
        name=None,
    ):
        super().__init__(weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name)


@estimator_export("estimator.MultiLabelHead")
class MultiLabelHead(head_v1._MultiLabelHead):
    """Any of n_classes classes; labels are indicators [batch, n_classes], or sparse ids or values."""


@estimator_export("estimator.RegressionHead")
class RegressionHead(head_v1._RegressionHeadWithMeanSquaredErrorLoss):
    """Numbers [batch, label_dimension]."""

    def __init__(
        self,
        label_dimension=1,
        weight_column=None,
        loss_reduction=_MEAN,
        loss_fn=None,
        inverse_link_fn=None,
        name=None,
    ):
        super().__init__(label_dimension, weight_column, loss_reduction, loss_fn, inverse_link_fn, name)


@estimator_export("estimator.LogisticRegressionHead")
class LogisticRegressionHead(RegressionHead):
    """Probabilities, by the cross entropy of a logit."""

    def __init__(self, weight_column=None, loss_reduction=_MEAN, name=None):
        def loss_fn(labels, logits):
            labels = head_v1._assert_range(labels, n_classes=2, message="Labels must be in range [0, 1]")
            return nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

        super().__init__(1, weight_column, loss_reduction, loss_fn, math_ops.sigmoid, name)


@estimator_export("estimator.PoissonRegressionHead")
class PoissonRegressionHead(RegressionHead):
    """Counts, by Poisson's loss of the logarithm."""

    def __init__(
        self, label_dimension=1, weight_column=None, loss_reduction=_MEAN, compute_full_loss=True, name=None
    ):
        def loss_fn(labels, logits):
            return nn.log_poisson_loss(targets=labels, log_input=logits, compute_full_loss=compute_full_loss)

        super().__init__(label_dimension, weight_column, loss_reduction, loss_fn, math_ops.exp, name)


@estimator_export("estimator.MultiHead")
class MultiHead:
    """Several heads with names. Labels are a dict by their names; the loss is the weighted sum of theirs."""

    def __init__(self, heads, head_weights=None):
        if not heads:
            raise ValueError("Must specify heads. Given: {}".format(heads))
        if head_weights and len(head_weights) != len(heads):
            raise ValueError(
                f"heads and head_weights must have the same size. Given len(heads): {len(heads)}. "
                f"Given len(head_weights): {len(head_weights)}."
            )
        self._heads = tuple(heads)
        self._head_weights = tuple(head_weights) if head_weights else ()
        names = []
        for head in heads:
            if head.name is None:
                raise ValueError("All given heads must have name specified.")
            if head.name in names:
                raise ValueError(f"All heads must have unique names. Given: {[h.name for h in heads]}")
            names.append(head.name)

    @property
    def name(self):
        return "_".join(head.name for head in self._heads)

    @property
    def logits_dimension(self):
        return sum(head.logits_dimension for head in self._heads)

    def _split(self, logits):
        """A dict of each head's logits."""
        if isinstance(logits, dict):
            missing = [head.name for head in self._heads if head.name not in logits]
            if missing:
                raise ValueError(f"logits has missing values for head(s): {missing}")
            return logits
        parts = array_ops.split(logits, [head.logits_dimension for head in self._heads], axis=-1)
        return {head.name: part for head, part in zip(self._heads, parts)}

    def _weighted(self, values):
        if self._head_weights:
            values = [w * v for w, v in zip(self._head_weights, values)]
        return math_ops.add_n(values)

    def create_loss(self, features, mode, logits, labels):
        """A LossSpec of the sum."""
        parts = self._split(logits)
        specs = [h.create_loss(features, mode, parts[h.name], labels[h.name]) for h in self._heads]
        by_name = lambda field: {h.name: getattr(s, field) for h, s in zip(self._heads, specs)}  # noqa: E731
        return head_v1.LossSpec(
            self._weighted([s.training_loss for s in specs]),
            by_name("unreduced_loss"),
            by_name("weights"),
            by_name("processed_labels"),
        )

    def create_estimator_spec(
        self,
        features,
        mode,
        logits,
        labels=None,
        optimizer=None,
        train_op_fn=None,
        regularization_losses=None,
        trainable_variables=None,
        update_ops=None,
    ):
        """The EstimatorSpec of all heads. See the heads' own."""
        parts = self._split(logits)
        no_step = lambda loss: loss  # noqa: E731
        specs = [
            head.create_estimator_spec(
                features,
                mode,
                parts[head.name],
                labels=labels[head.name] if labels is not None else None,
                train_op_fn=no_step if mode == ModeKeys.TRAIN else None,
            )
            for head in self._heads
        ]
        predictions = {
            (head.name, key): value
            for head, spec in zip(self._heads, specs)
            for key, value in spec.predictions.items()
        }
        if mode == ModeKeys.PREDICT:
            return model_fn.EstimatorSpec(
                mode=mode, predictions=predictions, export_outputs=self._exports(specs, predictions)
            )
        loss = self._weighted([spec.loss for spec in specs])
        if regularization_losses:
            loss = loss + math_ops.add_n(regularization_losses)
        if mode == ModeKeys.EVAL:
            metrics = {}
            for spec in specs:
                metrics.update(spec.eval_metric_ops)
            return model_fn.EstimatorSpec(
                mode=mode, predictions=predictions, loss=loss, eval_metric_ops=metrics
            )
        with ops.name_scope(""):
            summary.scalar("loss", loss)
        train_op = head_v1._train_op(loss, optimizer, train_op_fn, trainable_variables, update_ops)
        return model_fn.EstimatorSpec(mode=mode, predictions=predictions, loss=loss, train_op=train_op)

    def _exports(self, specs, predictions):
        outputs = {head_v1._DEFAULT_SERVING_KEY: specs[0].export_outputs[head_v1._DEFAULT_SERVING_KEY]}
        for head, spec in zip(self._heads, specs):
            for key, value in spec.export_outputs.items():
                outputs[head.name if key == head_v1._DEFAULT_SERVING_KEY else f"{head.name}/{key}"] = value
        outputs[head_v1._PREDICT_SERVING_KEY] = export_output.PredictOutput(predictions)
        return outputs
