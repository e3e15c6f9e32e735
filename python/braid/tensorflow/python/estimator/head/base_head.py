"""The interface of tf.estimator's heads, and what they share.

A head computes predictions, the loss and metrics of logits. Its losses are means over batches, its metrics
Keras', and it trains by an optimizer of Keras. The heads of canned/head.py are those of the estimators of
TensorFlow 1, which train by tf.train's optimizers.
"""

import abc

from braid.tensorflow.python.estimator import model_fn
from braid.tensorflow.python.estimator.canned import head as head_v1
from braid.tensorflow.python.estimator.canned import metric_keys
from braid.tensorflow.python.estimator.canned import prediction_keys
from braid.tensorflow.python.estimator.export import export_output
from braid.tensorflow.python.estimator.mode_keys import ModeKeys
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.keras import metrics as keras_metrics
from braid.tensorflow.python.keras.optimizer_v2 import optimizer_v2
from braid.tensorflow.python.keras.utils import losses_utils
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import weights_broadcast_ops
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.util.tf_export import estimator_export

DEFAULT_SERVING_KEY = head_v1._DEFAULT_SERVING_KEY
CLASSIFY_SERVING_KEY = head_v1._CLASSIFY_SERVING_KEY
REGRESS_SERVING_KEY = head_v1._REGRESS_SERVING_KEY
PREDICT_SERVING_KEY = head_v1._PREDICT_SERVING_KEY

_Keys = metric_keys.MetricKeys
_Pred = prediction_keys.PredictionKeys
_MEAN = losses_utils.ReductionV2.SUM_OVER_BATCH_SIZE

_LABEL_NONE_ERR_MSG = head_v1._LABEL_NONE_ERR_MSG


@estimator_export("estimator.Head")
class Head(metaclass=abc.ABCMeta):
    """The interface of heads."""

    @property
    @abc.abstractmethod
    def name(self):
        """The name, which is behind those of metrics and summaries; or None."""

    @property
    @abc.abstractmethod
    def logits_dimension(self):
        """How many logits an example has."""

    @property
    @abc.abstractmethod
    def loss_reduction(self):
        """How the losses of examples become one, a tf.losses.Reduction."""

    @abc.abstractmethod
    def loss(self, labels, logits, features=None, mode=None, regularization_losses=None):
        """The loss, a scalar, with the regularization losses (scalars)."""

    @abc.abstractmethod
    def predictions(self, logits, keys=None):
        """A dict of predictions; those of `keys`, or all."""

    @abc.abstractmethod
    def metrics(self, regularization_losses=None):
        """A dict of new Metric objects."""

    @abc.abstractmethod
    def update_metrics(self, eval_metrics, features, logits, labels, regularization_losses=None, mode=None):
        """Updates the metrics (those of `metrics`) with a batch, and returns them."""

    def _summary_key(self, key):
        return f"{key}/{self.name}" if self.name else key

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
        """The EstimatorSpec of a model with these logits.

        Training needs an optimizer of Keras with the list trainable_variables, or train_op_fn, a function
        from the loss to an op. update_ops: a list of ops that are run with it.
        """
        try:
            spec = self._create_tpu_estimator_spec(
                features=features,
                mode=mode,
                logits=logits,
                labels=labels,
                optimizer=optimizer,
                trainable_variables=trainable_variables,
                train_op_fn=train_op_fn,
                update_ops=update_ops,
                regularization_losses=regularization_losses,
            )
        except NotImplementedError as error:
            raise NotImplementedError(
                "Subclasses of Head must implement `create_estimator_spec()` or _create_tpu_estimator_spec()."
            ) from error
        return spec.as_estimator_spec()

    def _create_tpu_estimator_spec(
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
        raise NotImplementedError("TPUEstimatorSpec not available for this model head.")


class SimpleHead(Head):
    """What the heads of one kind of labels share.

    Subclasses define logits_dimension, _processed_labels, _unweighted_loss, predictions, _export_outputs,
    metrics and _update.
    """

    _allow_per_logit_weights = False

    def __init__(self, weight_column, loss_reduction, loss_fn, name):
        validate_loss_reduction(loss_reduction)
        if loss_fn:
            validate_loss_fn_args(loss_fn)
        self._weight_column = weight_column
        self._loss_reduction = loss_reduction
        self._loss_fn = loss_fn
        self._name = name

    @property
    def name(self):
        return self._name

    @property
    def loss_reduction(self):
        return self._loss_reduction

    @abc.abstractmethod
    def _processed_labels(self, logits, labels):
        """Labels as the loss takes them, [..., n]."""

    @abc.abstractmethod
    def _unweighted_loss(self, logits, labels):
        """The losses of examples, [..., n], without a loss function of the program."""

    @abc.abstractmethod
    def _export_outputs(self, predictions):
        """A dict of ExportOutputs."""

    @abc.abstractmethod
    def _update(self, eval_metrics, predictions, labels, weights):
        """Updates the metrics but for those of losses."""

    _loss_dimension = 1

    def _unweighted_loss_and_weights(self, logits, labels, features):
        if self._loss_fn:
            unweighted = call_loss_fn(self._loss_fn, labels, logits, features, self._loss_dimension)
        else:
            unweighted = self._unweighted_loss(logits, labels)
        weights = get_weights_and_check_match_logits(
            features=features,
            weight_column=self._weight_column,
            logits=logits,
            allow_per_logit_weights=self._allow_per_logit_weights,
        )
        return unweighted, weights

    def loss(self, labels, logits, features=None, mode=None, regularization_losses=None):
        del mode
        with ops.name_scope("losses"):
            logits = check_logits_final_dim(logits, self.logits_dimension)
            labels = self._processed_labels(logits, labels)
            unweighted, weights = self._unweighted_loss_and_weights(logits, labels, features)
            loss = losses_utils.compute_weighted_loss(
                unweighted, sample_weight=weights, reduction=self._loss_reduction
            )
            return _with_regularization(loss, regularization_losses)

    def _loss_metrics(self, regularization_losses):
        """The metrics of losses."""
        metrics = {self._summary_key(_Keys.LOSS_MEAN): keras_metrics.Mean(name=_Keys.LOSS_MEAN)}
        if regularization_losses is not None:
            metrics[self._summary_key(_Keys.LOSS_REGULARIZATION)] = keras_metrics.Mean(
                name=_Keys.LOSS_REGULARIZATION
            )
        return metrics

    def update_metrics(self, eval_metrics, features, logits, labels, regularization_losses=None, mode=None):
        predictions = self.predictions(logits)
        logits = check_logits_final_dim(logits, self.logits_dimension)
        labels = self._processed_labels(logits, labels)
        unweighted, weights = self._unweighted_loss_and_weights(logits, labels, features)
        eval_metrics[self._summary_key(_Keys.LOSS_MEAN)].update_state(
            values=unweighted, sample_weight=weights
        )
        if regularization_losses is not None:
            eval_metrics[self._summary_key(_Keys.LOSS_REGULARIZATION)].update_state(
                values=math_ops.add_n(regularization_losses)
            )
        self._update(eval_metrics, predictions, labels, weights)
        return eval_metrics

    def _create_tpu_estimator_spec(
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
        with ops.name_scope(self._name, "head"):
            predictions = self.predictions(logits)
            if mode == ModeKeys.PREDICT:
                return model_fn._TPUEstimatorSpec(
                    mode=mode, predictions=predictions, export_outputs=self._export_outputs(predictions)
                )
            loss = self.loss(
                logits=logits,
                labels=labels,
                features=features,
                mode=mode,
                regularization_losses=regularization_losses,
            )
            if mode == ModeKeys.EVAL:
                tensors = {
                    "eval_metrics": self.metrics(regularization_losses=regularization_losses),
                    "features": features,
                    "logits": logits,
                    "labels": labels,
                    "regularization_losses": regularization_losses,
                }
                return model_fn._TPUEstimatorSpec(
                    mode=mode,
                    predictions=predictions,
                    loss=loss,
                    eval_metrics=create_eval_metrics_tuple(self.update_metrics, tensors),
                )
            train_op = create_estimator_spec_train_op(
                head_name=self._name,
                optimizer=optimizer,
                train_op_fn=train_op_fn,
                update_ops=update_ops,
                trainable_variables=trainable_variables,
                regularized_training_loss=loss,
                loss_reduction=self._loss_reduction,
            )
        create_estimator_spec_summary(
            regularized_training_loss=loss,
            regularization_losses=regularization_losses,
            summary_key_fn=self._summary_key,
        )
        return model_fn._TPUEstimatorSpec(
            mode=ModeKeys.TRAIN, predictions=predictions, loss=loss, train_op=train_op
        )


class Thresholds:
    """Metrics of probabilities that are above thresholds."""

    def _threshold_metrics(self):
        metrics = {}
        for threshold in self._thresholds:
            for key, make in (
                (_Keys.ACCURACY_AT_THRESHOLD, _binary_accuracy),
                (_Keys.PRECISION_AT_THRESHOLD, keras_metrics.Precision),
                (_Keys.RECALL_AT_THRESHOLD, keras_metrics.Recall),
            ):
                name = self._summary_key(key % threshold)
                metrics[name] = make(thresholds=threshold, name=name)
        return metrics

    def _update_thresholds(self, eval_metrics, labels, probabilities, weights):
        for threshold in self._thresholds:
            for key in (
                _Keys.ACCURACY_AT_THRESHOLD,
                _Keys.PRECISION_AT_THRESHOLD,
                _Keys.RECALL_AT_THRESHOLD,
            ):
                eval_metrics[self._summary_key(key % threshold)].update_state(
                    y_true=labels, y_pred=probabilities, sample_weight=weights
                )


def _binary_accuracy(thresholds, name):
    return keras_metrics.BinaryAccuracy(threshold=thresholds, name=name)


def _with_regularization(loss, regularization_losses):
    return loss if not regularization_losses else loss + math_ops.add_n(regularization_losses)


Vocabulary = head_v1._Vocabulary
check_dense_labels_match_logits_and_reshape = head_v1._check_dense_labels_match_logits_and_reshape
get_weights_and_check_match_logits = head_v1._get_weights_and_check_match_logits
validate_loss_fn_args = head_v1._validate_loss_fn_args
call_loss_fn = head_v1._call_loss_fn
all_class_ids = head_v1._all_class_ids
all_classes = head_v1._all_classes
classification_output = head_v1._classification_output


def check_logits_final_dim(logits, expected_logits_dimension):
    """The logits, which have rank 2 at least and the expected size of the last dimension."""
    return head_v1._check_logits_final_dim(logits, expected_logits_dimension)


def check_vocabulary(label_vocabulary):
    head_v1._check_vocabulary(label_vocabulary)


def checked_thresholds(thresholds):
    """The thresholds, a tuple of numbers in (0, 1)."""
    thresholds = tuple(thresholds) if thresholds else ()
    if not all(0.0 < threshold < 1.0 for threshold in thresholds):
        raise ValueError(f"thresholds not in (0, 1): {thresholds}.")
    return thresholds


def validate_loss_reduction(loss_reduction):
    """ValueError for what is not a Reduction, and for NONE."""
    kinds = losses_utils.ReductionV2
    if loss_reduction not in kinds.all() or loss_reduction == kinds.NONE:
        raise ValueError(
            f"Invalid loss_reduction: {loss_reduction}. See `tf.losses.Reduction` for valid options."
        )


def _validate_list(name, value):
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{name} should be a list or a tuple. Given type: {type(value)}.")


def validate_update_ops(update_ops=None):
    if update_ops is not None:
        _validate_list("update_ops", update_ops)


def validate_v2_optimizer(optimizer):
    if not isinstance(optimizer, optimizer_v2.OptimizerV2):
        raise ValueError(
            f"The given optimizer is not a tf.keras.optimizers.Optimizer instance. Given: {optimizer}"
        )


def validate_trainable_variables(trainable_variables=None):
    if trainable_variables is None:
        raise ValueError(f"trainable_variables cannot be None. Given {trainable_variables}")
    _validate_list("trainable_variables", trainable_variables)


def validate_n_classes(n_classes):
    """n_classes, an int or a tensor, which is above 2."""
    if isinstance(n_classes, int) and n_classes <= 2:
        raise ValueError(f"n_classes must be > 2: {n_classes}.")
    return head_v1._validate_n_classes(n_classes)


def check_prediction_keys(pred_keys, valid_keys):
    for key in pred_keys:
        if key not in valid_keys:
            raise ValueError(
                f"Prediction key must be in PredictionKeys, given: {key}."
                f"Valid prediction keys include {valid_keys}."
            )


def check_label_range(labels, n_classes, message=None):
    """The labels, after a check that they are in [0, n_classes)."""
    with ops.name_scope("check_label_range", values=(labels,)):
        return head_v1._in_range(
            ops.convert_to_tensor(labels),
            n_classes,
            message or "Labels must be <= n_classes - 1",
            message or "Labels must be >= 0",
        )


def update_metric_with_broadcast_weights(eval_metric, values, weights):
    """Updates with values that have more dimensions than their weights."""
    values = math_ops.cast(values, dtypes.float32)
    if weights is not None:
        weights = weights_broadcast_ops.broadcast_weights(weights, values)
    eval_metric.update_state(values=values, sample_weight=weights)


def create_eval_metrics_tuple(fn, kwargs):
    """(a function of the tensors in kwargs alone, these): what TPUEstimatorSpec.eval_metrics takes."""
    tensors = {k: v for k, v in kwargs.items() if tensor_util.is_tensor(v)}
    others = {k: v for k, v in kwargs.items() if k not in tensors}
    return lambda **given: fn(**others, **given), tensors


def create_estimator_spec_train_op(
    head_name,
    optimizer=None,
    trainable_variables=None,
    train_op_fn=None,
    update_ops=None,
    regularized_training_loss=None,
    loss_reduction=_MEAN,
):
    """The op that makes a training step."""
    del head_name
    validate_update_ops(update_ops)
    with ops.name_scope(""), ops.name_scope("training"):
        if optimizer is not None:
            if train_op_fn is not None:
                raise ValueError("train_op_fn and optimizer cannot both be set.")
            validate_v2_optimizer(optimizer)
            validate_trainable_variables(trainable_variables)
            if loss_reduction == _MEAN:
                regularized_training_loss = losses_utils.scale_loss_for_distribution(
                    regularized_training_loss
                )
            train_op = optimizer.get_updates(regularized_training_loss, trainable_variables)[0]
        elif train_op_fn is not None:
            train_op = train_op_fn(regularized_training_loss)
        else:
            raise ValueError("train_op_fn and optimizer cannot both be None.")
        return train_op if update_ops is None else control_flow_ops.group(train_op, *update_ops)


def create_estimator_spec_summary(regularized_training_loss, regularization_losses=None, summary_key_fn=None):
    """Summaries of the losses."""
    name = summary_key_fn or (lambda key: key)
    with ops.name_scope(""):
        summary.scalar(name(_Keys.LOSS), regularized_training_loss)
        if regularization_losses is not None:
            summary.scalar(name(_Keys.LOSS_REGULARIZATION), math_ops.add_n(regularization_losses))


def classification_outputs(predictions, n_classes, label_vocabulary):
    """The ExportOutputs of a classifier."""
    output = classification_output(predictions[_Pred.PROBABILITIES], n_classes, label_vocabulary)
    return {
        DEFAULT_SERVING_KEY: output,
        CLASSIFY_SERVING_KEY: output,
        PREDICT_SERVING_KEY: export_output.PredictOutput(predictions),
    }
