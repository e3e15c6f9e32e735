"""MultiHead: several heads at once."""

from braid.tensorflow.python.estimator import model_fn
from braid.tensorflow.python.estimator.canned import metric_keys
from braid.tensorflow.python.estimator.export import export_output
from braid.tensorflow.python.estimator.head import base_head
from braid.tensorflow.python.estimator.mode_keys import ModeKeys
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras import metrics as keras_metrics
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import estimator_export

_Keys = metric_keys.MetricKeys


def check_heads(heads, head_weights):
    """ValueError for heads without names, and for another number of weights than heads."""
    if not heads:
        raise ValueError(f"Must specify heads. Given: {heads}")
    if head_weights and len(head_weights) != len(heads):
        raise ValueError(
            f"heads and head_weights must have the same size. Given len(heads): {len(heads)}. "
            f"Given len(head_weights): {len(head_weights)}."
        )
    for head in heads:
        if head.name is None:
            raise ValueError(f"All given heads must have name specified. Given: {head}")


def split_logits(logits, heads):
    """A dict from names of heads to their logits: those of one tensor lie side by side."""
    with ops.name_scope("split_logits", values=[logits]):
        logits = ops.convert_to_tensor(logits)
        sizes = [head.logits_dimension for head in heads]
        last = logits.shape[-1].value if logits.shape.ndims is not None else None
        if last is not None and last != sum(sizes):
            raise ValueError(
                f"Could not split logits of shape {logits.shape.as_list()!r} among the heads with individual "
                f"logits dimensions: {sizes!r}. The last dimension of the logits tensor should equal "
                f"{sum(sizes)} but is {last}."
            )
        parts = array_ops.split(logits, sizes, axis=-1)
        return {head.name: part for head, part in zip(heads, parts)}


def merged_predictions(heads, of_heads):
    """A dict from (name of a head, key) to predictions."""
    return {
        (head.name, key): value
        for head, predictions in zip(heads, of_heads)
        for key, value in predictions.items()
    }


def merged_export_outputs(heads, of_heads):
    """The ExportOutputs of all heads: the first one's is the default."""
    outputs = {base_head.DEFAULT_SERVING_KEY: _default_export_output(of_heads[0], heads[0].name)}
    merged = {}
    for head, of_head in zip(heads, of_heads):
        for key, value in of_head.items():
            outputs[head.name if key == base_head.DEFAULT_SERVING_KEY else f"{head.name}/{key}"] = value
            if key == base_head.PREDICT_SERVING_KEY and isinstance(value, export_output.PredictOutput):
                merged.update({f"{head.name}/{k}": v for k, v in value.outputs.items()})
    outputs[base_head.PREDICT_SERVING_KEY] = export_output.PredictOutput(merged)
    return outputs


def _default_export_output(export_outputs, head_name):
    if len(export_outputs) == 1:
        return next(iter(export_outputs.values()))
    if base_head.DEFAULT_SERVING_KEY not in export_outputs:
        raise ValueError(
            f"{head_name} did not specify default export_outputs. Given: {export_outputs} Suggested fix: Use "
            "one of the heads in tf.estimator, or include key "
            f"{base_head.DEFAULT_SERVING_KEY} in export_outputs."
        )
    return export_outputs[base_head.DEFAULT_SERVING_KEY]


def merged_loss(losses, head_weights):
    """The sum of the heads' losses, by their weights."""
    with ops.name_scope("merge_losses"):
        if head_weights:
            losses = [math_ops.multiply(loss, weight) for loss, weight in zip(losses, head_weights)]
        return math_ops.add_n(list(losses))


@estimator_export("estimator.MultiHead")
class MultiHead(base_head.Head):
    """Several heads with names. Labels are a dict by their names; the loss is the weighted sum of theirs.

    Logits are such a dict, or one tensor with the logits of all heads side by side. Predictions have keys
    (name of the head, key).
    """

    def __init__(self, heads, head_weights=None):
        check_heads(heads, head_weights)
        self._heads = tuple(heads)
        self._head_weights = tuple(head_weights) if head_weights else ()

    @property
    def name(self):
        return "_".join(head.name for head in self._heads)

    @property
    def logits_dimension(self):
        return sum(head.logits_dimension for head in self._heads)

    @property
    def loss_reduction(self):
        reductions = [head.loss_reduction for head in self._heads]
        if len(set(reductions)) > 1:
            raise ValueError(f"The loss_reduction must be the same for different heads. Given: {reductions}")
        return reductions[0]

    def _check_logits_and_labels(self, logits, labels=None):
        """The logits by the names of heads."""
        names = [head.name for head in self._heads]
        if isinstance(logits, dict):
            _check_names("logits", logits, names)
        else:
            logits = split_logits(logits, self._heads)
        if labels is not None:
            if not isinstance(labels, dict):
                raise ValueError(f"labels must be a dict. Given: {labels}")
            _check_names("labels", labels, names)
        return logits

    def loss(self, labels, logits, features=None, mode=None, regularization_losses=None):
        logits = self._check_logits_and_labels(logits, labels)
        losses = [
            head.loss(logits=logits[head.name], labels=labels[head.name], features=features, mode=mode)
            for head in self._heads
        ]
        loss = merged_loss(losses, self._head_weights)
        return loss + math_ops.add_n(regularization_losses) if regularization_losses else loss

    def predictions(self, logits, keys=None):
        logits = self._check_logits_and_labels(logits)
        with ops.name_scope("merge_pred"):
            return merged_predictions(
                self._heads, [head.predictions(logits=logits[head.name]) for head in self._heads]
            )

    def _loss_key(self, head):
        return f"{_Keys.LOSS}/{head.name}"

    def metrics(self, regularization_losses=None):
        metrics = {}
        if regularization_losses is not None:
            metrics[self._summary_key(_Keys.LOSS_REGULARIZATION)] = keras_metrics.Mean(
                name=_Keys.LOSS_REGULARIZATION
            )
        with ops.name_scope("merge_eval"):
            for head in self._heads:
                metrics[self._loss_key(head)] = keras_metrics.Mean(name=self._loss_key(head))
        return metrics

    def update_metrics(self, eval_metrics, features, logits, labels, regularization_losses=None, mode=None):
        logits = self._check_logits_and_labels(logits, labels)
        if regularization_losses is not None:
            eval_metrics[self._summary_key(_Keys.LOSS_REGULARIZATION)].update_state(
                values=math_ops.add_n(regularization_losses)
            )
        for head in self._heads:
            own = {"logits": logits[head.name], "labels": labels[head.name], "features": features}
            eval_metrics[self._loss_key(head)].update_state(values=head.loss(**own))
            eval_metrics.update(head.update_metrics(head.metrics(), **own) or {})
        return eval_metrics

    def create_estimator_spec(
        self,
        features,
        mode,
        logits,
        labels=None,
        optimizer=None,
        trainable_variables=None,
        train_op_fn=None,
        update_ops=None,
        regularization_losses=None,
    ):
        with ops.name_scope(self.name, "multi_head"):
            of_heads = self._check_logits_and_labels(logits, labels)
            specs = [
                head.create_estimator_spec(
                    features=features,
                    mode=mode,
                    logits=of_heads[head.name],
                    labels=labels[head.name] if labels else None,
                    train_op_fn=no_train_op,
                )
                for head in self._heads
            ]
            predictions = self.predictions(logits)
            if mode == ModeKeys.PREDICT:
                outputs = merged_export_outputs(self._heads, [spec.export_outputs for spec in specs])
                return model_fn.EstimatorSpec(mode=mode, predictions=predictions, export_outputs=outputs)
            loss = self.loss(labels, logits, features, mode, regularization_losses)
            if mode == ModeKeys.EVAL:
                metrics = self.update_metrics(
                    self.metrics(regularization_losses=regularization_losses),
                    features,
                    logits,
                    labels,
                    regularization_losses=regularization_losses,
                )
                return model_fn.EstimatorSpec(
                    mode=mode, predictions=predictions, loss=loss, eval_metric_ops=metrics
                )
            if mode != ModeKeys.TRAIN:
                raise ValueError(f"mode={mode} unrecognized")
            train_op = base_head.create_estimator_spec_train_op(
                head_name=self.name,
                optimizer=optimizer,
                train_op_fn=train_op_fn,
                update_ops=update_ops,
                trainable_variables=trainable_variables,
                regularized_training_loss=loss,
                loss_reduction=self.loss_reduction,
            )
            base_head.create_estimator_spec_summary(loss, regularization_losses)
            return model_fn.EstimatorSpec(
                mode=mode,
                loss=loss,
                train_op=train_op,
                predictions=predictions,
                eval_metric_ops={k: v for spec in specs for k, v in (spec.eval_metric_ops or {}).items()},
            )


def no_train_op(loss):
    """The training op of one of several heads: all are trained together."""
    del loss
    return control_flow_ops.no_op()


def _check_names(what, given, names):
    missing = [name for name in names if name not in given]
    if missing:
        raise ValueError(f"{what} has missing values for head(s): {missing}")
