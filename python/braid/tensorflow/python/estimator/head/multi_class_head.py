"""MultiClassHead: one of several classes."""

from braid.tensorflow.python.estimator.canned import metric_keys
from braid.tensorflow.python.estimator.canned import prediction_keys
from braid.tensorflow.python.estimator.head import base_head
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras import metrics as keras_metrics
from braid.tensorflow.python.keras.utils import losses_utils
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops.losses import losses
from braid.tensorflow.python.util.tf_export import estimator_export

_Keys = metric_keys.MetricKeys
_Pred = prediction_keys.PredictionKeys


@estimator_export("estimator.MultiClassHead")
class MultiClassHead(base_head.Vocabulary, base_head.SimpleHead):
    """One of n_classes > 2 classes; labels are ids, or values of label_vocabulary. See BinaryClassHead."""

    def __init__(
        self,
        n_classes,
        weight_column=None,
        label_vocabulary=None,
        loss_reduction=losses_utils.ReductionV2.SUM_OVER_BATCH_SIZE,
        loss_fn=None,
        name=None,
    ):
        if n_classes is None:
            raise ValueError("n_classes cannot be None")
        base_head.check_vocabulary(label_vocabulary)
        if label_vocabulary is not None and len(label_vocabulary) != n_classes:
            raise ValueError(
                f'"label_vocabulary" does not have "n_classes" items. len(label_vocabulary)='
                f"{len(label_vocabulary)}, n_classes={n_classes}, label_vocabulary={label_vocabulary}"
            )
        super().__init__(weight_column, loss_reduction, loss_fn, name)
        self._n_classes = base_head.validate_n_classes(n_classes)
        self._label_vocabulary = label_vocabulary

    @property
    def logits_dimension(self):
        return self._n_classes

    def _processed_labels(self, logits, labels):
        labels = base_head.check_dense_labels_match_logits_and_reshape(labels, logits, 1)
        if self._label_vocabulary is None:
            if not labels.dtype.is_integer:
                raise ValueError(f"Labels dtype should be integer. Instead got {labels.dtype}.")
        else:
            if labels.dtype != dtypes.string:
                raise ValueError(
                    f"Labels dtype should be string if there is a vocabulary. Instead got {labels.dtype}"
                )
            labels = self._class_id_table().lookup(labels)
        return base_head.check_label_range(labels, self._n_classes)

    def _unweighted_loss(self, logits, labels):
        unweighted = losses.sparse_softmax_cross_entropy(
            labels=labels, logits=logits, reduction=losses.Reduction.NONE
        )
        return array_ops.expand_dims(unweighted, axis=-1)

    def predictions(self, logits, keys=None):
        valid = [
            _Pred.LOGITS,
            _Pred.PROBABILITIES,
            _Pred.CLASS_IDS,
            _Pred.CLASSES,
            _Pred.ALL_CLASS_IDS,
            _Pred.ALL_CLASSES,
        ]
        base_head.check_prediction_keys(keys or [], valid)
        logits = base_head.check_logits_final_dim(logits, self.logits_dimension)
        with ops.name_scope("predictions", values=(logits,)):
            ids = lambda: array_ops.expand_dims(  # noqa: E731
                math_ops.argmax(logits, axis=-1, name=_Pred.CLASS_IDS), axis=-1
            )
            result = {}
            for key in keys or valid:
                if key == _Pred.LOGITS:
                    result[key] = logits
                elif key == _Pred.PROBABILITIES:
                    result[key] = nn.softmax(logits, name=key)
                elif key == _Pred.CLASS_IDS:
                    result[key] = ids()
                elif key == _Pred.CLASSES:
                    known = result.get(_Pred.CLASS_IDS)
                    result[key] = self._class_names(ids() if known is None else known)
                elif key == _Pred.ALL_CLASS_IDS:
                    result[key] = base_head.all_class_ids(logits, self._n_classes)
                else:
                    result[key] = base_head.all_classes(logits, self._n_classes, self._label_vocabulary)
            return result

    def _export_outputs(self, predictions):
        return base_head.classification_outputs(predictions, self._n_classes, self._label_vocabulary)

    def metrics(self, regularization_losses=None):
        with ops.name_scope("metrics"):
            metrics = self._loss_metrics(regularization_losses)
            metrics[self._summary_key(_Keys.ACCURACY)] = keras_metrics.Accuracy(name=_Keys.ACCURACY)
        return metrics

    def _update(self, eval_metrics, predictions, labels, weights):
        eval_metrics[self._summary_key(_Keys.ACCURACY)].update_state(
            y_true=labels, y_pred=predictions[_Pred.CLASS_IDS], sample_weight=weights
        )
