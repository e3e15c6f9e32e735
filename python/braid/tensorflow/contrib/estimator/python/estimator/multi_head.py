"""Several heads of the estimators of TensorFlow 1 at once."""

from braid.tensorflow.python.estimator import model_fn
from braid.tensorflow.python.estimator.canned import head as head_lib
from braid.tensorflow.python.estimator.canned import metric_keys
from braid.tensorflow.python.estimator.head import multi_head as multi_head_lib
from braid.tensorflow.python.estimator.mode_keys import ModeKeys
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import metrics as metrics_lib
from braid.tensorflow.python.summary import summary

_Keys = metric_keys.MetricKeys


def multi_head(heads, head_weights=None):
    """Several heads with names. Labels are a dict by their names; the loss is the weighted sum of theirs."""
    multi_head_lib.check_heads(heads, head_weights)
    return _MultiHead(tuple(heads), tuple(head_weights) if head_weights else ())


class _MultiHead(head_lib._Head):
    """See multi_head."""

    def __init__(self, heads, head_weights):
        self._heads = heads
        self._head_weights = head_weights

    @property
    def name(self):
        return "_".join(head.name for head in self._heads)

    @property
    def logits_dimension(self):
        return sum(head.logits_dimension for head in self._heads)

    def _split(self, logits):
        return logits if isinstance(logits, dict) else multi_head_lib.split_logits(logits, self._heads)

    def create_loss(self, features, mode, logits, labels):
        """A LossSpec of the sum. Losses and weights of examples are those of heads, by the heads' names."""
        logits = self._split(logits)
        names = [head.name for head in self._heads]
        specs = [h.create_loss(features, mode, logits[h.name], labels[h.name]) for h in self._heads]
        factors = self._head_weights or [None] * len(specs)
        scaled = (
            lambda value, factor: value if factor is None else math_ops.multiply(value, factor)
        )  # noqa: E731
        return head_lib.LossSpec(
            training_loss=multi_head_lib.merged_loss([s.training_loss for s in specs], self._head_weights),
            unreduced_loss={n: scaled(s.unreduced_loss, f) for n, s, f in zip(names, specs, factors)},
            weights={n: scaled(s.weights, f) for n, s, f in zip(names, specs, factors)},
            processed_labels={n: s.processed_labels for n, s in zip(names, specs)},
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
    ):
        """The EstimatorSpec of all heads. See the heads' own."""
        logits = self._split(logits)
        if labels and not isinstance(labels, dict):
            raise ValueError(f"labels must be a dict. Given: {labels}")
        specs = [
            head.create_estimator_spec(
                features=features,
                mode=mode,
                logits=logits[head.name],
                labels=labels[head.name] if labels else None,
                train_op_fn=multi_head_lib.no_train_op,
            )
            for head in self._heads
        ]
        predictions = multi_head_lib.merged_predictions(self._heads, [s.predictions for s in specs])
        if mode == ModeKeys.PREDICT:
            outputs = multi_head_lib.merged_export_outputs(self._heads, [s.export_outputs for s in specs])
            return model_fn.EstimatorSpec(mode=mode, predictions=predictions, export_outputs=outputs)
        if mode not in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise ValueError(f"mode={mode} unrecognized")
        loss = multi_head_lib.merged_loss([s.loss for s in specs], self._head_weights)
        if regularization_losses:
            loss = loss + math_ops.add_n(regularization_losses)
        metrics = {}
        for head, spec in zip(self._heads, specs):
            if mode == ModeKeys.EVAL:
                with ops.name_scope("merge_eval"):
                    key = head_lib._summary_key(head.name, _Keys.LOSS)
                    metrics[key] = metrics_lib.mean(spec.loss, name=key)
            metrics.update(spec.eval_metric_ops or {})
        train_op = None
        if mode == ModeKeys.TRAIN:
            train_op = head_lib._train_op(loss, optimizer, train_op_fn)
            with ops.name_scope(""):
                summary.scalar(_Keys.LOSS, loss)
        return model_fn.EstimatorSpec(
            mode=mode, predictions=predictions, loss=loss, train_op=train_op, eval_metric_ops=metrics
        )
