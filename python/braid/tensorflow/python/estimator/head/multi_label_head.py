"""MultiLabelHead: any of several classes, by a logit for each."""

from braid.tensorflow.python.estimator.canned import metric_keys
from braid.tensorflow.python.estimator.canned import prediction_keys
from braid.tensorflow.python.estimator.head import base_head
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.keras import metrics as keras_metrics
from braid.tensorflow.python.keras.utils import losses_utils
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import sparse_ops
from braid.tensorflow.python.ops.losses import losses
from braid.tensorflow.python.util.tf_export import estimator_export

_Keys = metric_keys.MetricKeys
_Pred = prediction_keys.PredictionKeys


@estimator_export("estimator.MultiLabelHead")
class MultiLabelHead(base_head.Thresholds, base_head.Vocabulary, base_head.SimpleHead):
    """Any of n_classes classes; labels are indicators [batch, n_classes], or sparse ids or values.

    classes_for_class_based_metrics: classes (all ids, or all values) that have metrics of their own. See
    BinaryClassHead.
    """

    def __init__(
        self,
        n_classes,
        weight_column=None,
        thresholds=None,
        label_vocabulary=None,
        loss_reduction=losses_utils.ReductionV2.SUM_OVER_BATCH_SIZE,
        loss_fn=None,
        classes_for_class_based_metrics=None,
        name=None,
    ):
        if n_classes is None or n_classes < 2:
            raise ValueError(f"n_classes must be > 1 for multi-label classification. Given: {n_classes}")
        thresholds = tuple(thresholds) if thresholds else ()
        for threshold in thresholds:
            if not 0.0 < threshold < 1.0:
                raise ValueError(f"thresholds must be in (0, 1) range. Given: {threshold}")
        if label_vocabulary is not None:
            if not isinstance(label_vocabulary, (list, tuple)):
                raise ValueError(
                    f"label_vocabulary must be a list or tuple. Given type: {type(label_vocabulary)}"
                )
            if len(label_vocabulary) != n_classes:
                raise ValueError(
                    f"Length of label_vocabulary must be n_classes ({n_classes}). "
                    f"Given: {len(label_vocabulary)}"
                )
        super().__init__(weight_column, loss_reduction, loss_fn, name)
        self._n_classes = n_classes
        self._thresholds = thresholds
        self._label_vocabulary = label_vocabulary
        self._metric_classes = self._class_ids(classes_for_class_based_metrics or ())

    def _class_ids(self, classes):
        """The ids of classes that are ids or values of the vocabulary."""
        ids = []
        for c in classes:
            if isinstance(c, str):
                if not self._label_vocabulary:
                    raise ValueError(
                        "label_vocabulary must be provided when classes_for_class_based_metrics are sting."
                    )
                c = self._label_vocabulary.index(c)
            if not 0 <= c < self._n_classes:
                raise ValueError(
                    "All classes_for_class_based_metrics must be in range "
                    f"[0, {self._n_classes - 1}]. Given: {c}"
                )
            ids.append(c)
        return tuple(ids)

    @property
    def logits_dimension(self):
        return self._n_classes

    def _processed_labels(self, logits, labels):
        if labels is None:
            raise ValueError(base_head._LABEL_NONE_ERR_MSG)
        if isinstance(labels, sparse_tensor.SparseTensorValue):
            labels = sparse_tensor.SparseTensor.from_value(labels)
        if isinstance(labels, sparse_tensor.SparseTensor):
            labels = self._indicators(labels)
        else:
            labels = base_head.check_label_range(
                labels, 2, message="labels must be an integer indicator Tensor with values in [0, 1]"
            )
        return base_head.check_dense_labels_match_logits_and_reshape(labels, logits, self.logits_dimension)

    def _indicators(self, labels):
        """Sparse ids or values as 0 and 1."""
        if labels.dtype == dtypes.string:
            values = self._class_id_table().lookup(labels.values)
        else:
            if not labels.dtype.is_integer:
                raise ValueError(f"Labels dtype should be integer. Instead got {labels.dtype}.")
            values = base_head.check_label_range(
                labels.values,
                self._n_classes,
                message=f"labels must be an integer SparseTensor with values in [0, {self._n_classes})",
            )
        ids = sparse_tensor.SparseTensor(labels.indices, values, labels.dense_shape)
        return math_ops.cast(sparse_ops.sparse_to_indicator(ids, self._n_classes), dtypes.int64)

    def _unweighted_loss(self, logits, labels):
        each = losses.sigmoid_cross_entropy(
            multi_class_labels=labels, logits=logits, reduction=losses.Reduction.NONE
        )
        return math_ops.reduce_mean(each, axis=-1, keepdims=True)

    def predictions(self, logits, keys=None):
        valid = [_Pred.LOGITS, _Pred.PROBABILITIES]
        base_head.check_prediction_keys(keys or [], valid)
        logits = base_head.check_logits_final_dim(logits, self.logits_dimension)
        with ops.name_scope("predictions", values=(logits,)):
            return {
                key: logits if key == _Pred.LOGITS else math_ops.sigmoid(logits, name=key)
                for key in keys or valid
            }

    def _export_outputs(self, predictions):
        return base_head.classification_outputs(predictions, self._n_classes, self._label_vocabulary)

    def _class_keys(self, class_id):
        """The names of the metrics of a class: of its mean, ROC and PR."""
        if self._label_vocabulary is None:
            keys, name = (
                _Keys.PROBABILITY_MEAN_AT_CLASS,
                _Keys.AUC_AT_CLASS,
                _Keys.AUC_PR_AT_CLASS,
            ), class_id
        else:
            keys = (_Keys.PROBABILITY_MEAN_AT_NAME, _Keys.AUC_AT_NAME, _Keys.AUC_PR_AT_NAME)
            name = self._label_vocabulary[class_id]
        return [self._summary_key(key % name) for key in keys]

    def metrics(self, regularization_losses=None):
        with ops.name_scope("metrics"):
            metrics = self._loss_metrics(regularization_losses)
            metrics[self._summary_key(_Keys.AUC)] = keras_metrics.AUC(name=_Keys.AUC)
            metrics[self._summary_key(_Keys.AUC_PR)] = keras_metrics.AUC(curve="PR", name=_Keys.AUC_PR)
            metrics.update(self._threshold_metrics())
            for class_id in self._metric_classes:
                mean, roc, pr = self._class_keys(class_id)
                metrics[mean] = keras_metrics.Mean(name=mean)
                metrics[roc] = keras_metrics.AUC(name=roc)
                metrics[pr] = keras_metrics.AUC(curve="PR", name=pr)
        return metrics

    def _update(self, eval_metrics, predictions, labels, weights):
        probabilities = predictions[_Pred.PROBABILITIES]
        for key in (_Keys.AUC, _Keys.AUC_PR):
            eval_metrics[self._summary_key(key)].update_state(
                y_true=labels, y_pred=probabilities, sample_weight=weights
            )
        self._update_thresholds(eval_metrics, labels, probabilities, weights)
        for class_id in self._metric_classes:
            of_class = probabilities[..., class_id : class_id + 1]
            labels_of_class = labels[..., class_id : class_id + 1]
            mean, roc, pr = self._class_keys(class_id)
            base_head.update_metric_with_broadcast_weights(eval_metrics[mean], of_class, weights)
            for key in (roc, pr):
                eval_metrics[key].update_state(y_true=labels_of_class, y_pred=of_class, sample_weight=weights)
