"""Heads: from logits to predictions, loss, training and metrics.

A head computes for one or several logits of an example. The losses of examples are weighted by a column of
the features, if the head has one, and reduced to a scalar.
"""

import abc
import collections

from braid.tensorflow.python.estimator import model_fn
from braid.tensorflow.python.estimator import util
from braid.tensorflow.python.estimator.canned import metric_keys
from braid.tensorflow.python.estimator.canned import prediction_keys
from braid.tensorflow.python.estimator.export import export_output
from braid.tensorflow.python.estimator.mode_keys import ModeKeys
from braid.tensorflow.python.feature_column import feature_column_v2 as feature_column_lib
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import lookup_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import metrics as metrics_lib
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops import sparse_ops
from braid.tensorflow.python.ops import string_ops
from braid.tensorflow.python.ops import weights_broadcast_ops
from braid.tensorflow.python.ops.losses import losses
from braid.tensorflow.python.saved_model import signature_constants
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import training_util

_DEFAULT_SERVING_KEY = signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
_CLASSIFY_SERVING_KEY = "classification"
_REGRESS_SERVING_KEY = "regression"
_PREDICT_SERVING_KEY = "predict"

LossSpec = collections.namedtuple(
    "LossSpec", ["training_loss", "unreduced_loss", "weights", "processed_labels"]
)

_LABEL_NONE_ERR_MSG = (
    "You must provide a labels Tensor. Given: None. Suggested troubleshooting steps: Check that your data "
    "contain your label feature. Check that your input_fn properly parses and returns labels."
)

_Keys = metric_keys.MetricKeys
_Pred = prediction_keys.PredictionKeys


def _summary_key(head_name, val):
    return f"{val}/{head_name}" if head_name else val


class _Head(metaclass=abc.ABCMeta):
    """The interface of heads. A subclass has create_estimator_spec or _create_tpu_estimator_spec."""

    @property
    @abc.abstractmethod
    def name(self):
        """The name, which is behind those of metrics and summaries; or None."""

    @property
    @abc.abstractmethod
    def logits_dimension(self):
        """How many logits an example has."""

    @abc.abstractmethod
    def create_loss(self, features, mode, logits, labels):
        """A LossSpec: the loss for training (a scalar), those of examples, their weights, the labels."""

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
        """The EstimatorSpec of a model with these logits.

        labels are needed for training and evaluation; for training also an optimizer, or train_op_fn, a
        function from the loss to an op. regularization_losses: scalars that are added to the loss.
        """
        try:
            spec = self._create_tpu_estimator_spec(
                features, mode, logits, labels, optimizer, train_op_fn, regularization_losses
            )
        except NotImplementedError as error:
            raise NotImplementedError(
                "Subclasses of _Head must implement `create_estimator_spec()` or _create_tpu_estimator_spec()."
            ) from error
        return spec.as_estimator_spec()

    def _create_tpu_estimator_spec(
        self,
        features,
        mode,
        logits,
        labels=None,
        optimizer=None,
        train_op_fn=None,
        regularization_losses=None,
    ):
        raise NotImplementedError("TPUEstimatorSpec not available for this model head.")


class _SimpleHead(_Head):
    """What the heads of one kind of labels share.

    A subclass has logits_dimension, and says what is computed of the logits: _predictions, _losses_of,
    _metrics.
    """

    def __init__(self, weight_column=None, loss_reduction=losses.Reduction.SUM, loss_fn=None, name=None):
        if loss_reduction not in losses.Reduction.all() or loss_reduction == losses.Reduction.NONE:
            raise ValueError(f"Invalid loss_reduction: {loss_reduction}")
        if loss_fn:
            _validate_loss_fn_args(loss_fn)
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
    def _unweighted_loss(self, logits, labels, features):
        """(labels, losses): those of each example."""

    @abc.abstractmethod
    def _predictions(self, logits, keys=None):
        """A dict of predictions."""

    @abc.abstractmethod
    def _export_outputs(self, predictions):
        """A dict of ExportOutputs."""

    @abc.abstractmethod
    def _metrics(self, predictions, labels, weights, unreduced_loss, regularization_loss):
        """A dict of metrics."""

    def create_loss(self, features, mode, logits, labels):
        del mode
        logits = ops.convert_to_tensor(logits)
        labels = self._processed_labels(logits, labels)
        labels, unweighted = self._unweighted_loss(logits, labels, features)
        weights = _get_weights_and_check_match_logits(
            features=features,
            weight_column=self._weight_column,
            logits=logits,
            allow_per_logit_weights=self._allow_per_logit_weights,
        )
        training_loss = losses.compute_weighted_loss(
            unweighted, weights=weights, reduction=self._loss_reduction
        )
        return LossSpec(training_loss, unweighted, weights, labels)

    _allow_per_logit_weights = False

    def _create_tpu_estimator_spec(
        self,
        features,
        mode,
        logits,
        labels=None,
        optimizer=None,
        train_op_fn=None,
        regularization_losses=None,
    ):
        with ops.name_scope(self._name, "head"):
            logits = _check_logits_final_dim(logits, self.logits_dimension, self._logits_scope)
            predictions = self._predictions(logits)
            if mode == ModeKeys.PREDICT:
                return model_fn._TPUEstimatorSpec(
                    mode=ModeKeys.PREDICT,
                    predictions=predictions,
                    export_outputs=self._export_outputs(predictions),
                )
            spec = self.create_loss(features=features, mode=mode, logits=logits, labels=labels)
            regularization_loss = math_ops.add_n(regularization_losses) if regularization_losses else None
            loss = spec.training_loss
            if regularization_loss is not None:
                loss = loss + regularization_loss
            mean_loss = None
            if mode == ModeKeys.TRAIN:
                train_op = _train_op(loss, optimizer, train_op_fn)
            if mode == ModeKeys.TRAIN and self._loss_reduction == losses.Reduction.SUM:
                ones = array_ops.ones_like(spec.unreduced_loss)
                mean_loss = spec.training_loss / math_ops.reduce_sum(spec.weights * ones)
        if mode == ModeKeys.EVAL:
            # The metrics' variables are in the scope around the head's.
            metrics = lambda: self._metrics(  # noqa: E731
                predictions, spec.processed_labels, spec.weights, spec.unreduced_loss, regularization_loss
            )
            return model_fn._TPUEstimatorSpec(
                mode=ModeKeys.EVAL, predictions=predictions, loss=loss, eval_metrics=(metrics, {})
            )
        with ops.name_scope(""):
            summary.scalar(_summary_key(self._name, _Keys.LOSS), loss)
            if mean_loss is not None:
                summary.scalar(_summary_key(self._name, _Keys.LOSS_MEAN), mean_loss)
            if regularization_loss is not None:
                summary.scalar(_summary_key(self._name, _Keys.LOSS_REGULARIZATION), regularization_loss)
        return model_fn._TPUEstimatorSpec(
            mode=ModeKeys.TRAIN, predictions=predictions, loss=loss, train_op=train_op
        )

    _logits_scope = "logits"


def _train_op(loss, optimizer, train_op_fn):
    if optimizer is not None:
        if train_op_fn is not None:
            raise ValueError("train_op_fn and optimizer cannot both be set.")
        train_op = optimizer.minimize(loss, global_step=training_util.get_global_step())
    elif train_op_fn is not None:
        train_op = train_op_fn(loss)
    else:
        raise ValueError("train_op_fn and optimizer cannot both be None.")
    return _append_update_ops(train_op)


def _append_update_ops(train_op):
    """The op that also makes the updates of batch normalization."""
    update_ops = ops.get_collection(ops.GraphKeys.UPDATE_OPS)
    return control_flow_ops.group(train_op, *update_ops) if update_ops else train_op


def _check_logits_final_dim(logits, expected_logits_dimension, scope_name="logits"):
    """The logits, which have rank 2 at least and the expected size of the last dimension."""
    with ops.name_scope(scope_name, values=(logits,)) as scope:
        logits = (
            math_ops.cast(logits, dtypes.float32) if not _is_float(logits) else ops.convert_to_tensor(logits)
        )
        logits_shape = array_ops.shape(logits)
        assert_rank = check_ops.assert_rank_at_least(
            logits, 2, data=[logits_shape], message="logits shape must be [D0, D1, ... DN, logits_dimension]"
        )
        with ops.control_dependencies([assert_rank]):
            static = logits.shape
            if static.ndims is not None and static[-1].value is not None:
                known = isinstance(expected_logits_dimension, int)
                if known and static[-1].value != expected_logits_dimension:
                    raise ValueError(
                        "logits shape must be [D0, D1, ... DN, logits_dimension], got %s." % (static,)
                    )
                return logits
            assert_dimension = check_ops.assert_equal(
                expected_logits_dimension,
                logits_shape[-1],
                data=[logits_shape],
                message="logits shape must be [D0, D1, ... DN, logits_dimension]",
            )
            with ops.control_dependencies([assert_dimension]):
                return array_ops.identity(logits, name=scope)


def _is_float(tensor):
    return ops.convert_to_tensor(tensor).dtype.base_dtype == dtypes.float32


def _check_dense_labels_match_logits_and_reshape(labels, logits, expected_labels_dimension):
    """The labels as [D0, ... DN, expected_labels_dimension]; those of rank 1 get a dimension. ValueError."""
    if labels is None:
        raise ValueError(_LABEL_NONE_ERR_MSG)
    with ops.name_scope(None, "labels", (labels, logits)) as scope:
        labels = sparse_tensor.convert_to_tensor_or_sparse_tensor(labels)
        if isinstance(labels, sparse_tensor.SparseTensor):
            raise ValueError(
                "SparseTensor labels are not supported. Labels must be a Tensor of shape "
                f"[D0, D1, ..., DN, {expected_labels_dimension}], e.g. [batch_size, "
                f"{expected_labels_dimension}]."
            )
        if (
            labels.shape.ndims is not None
            and logits.shape.ndims is not None
            and (labels.shape.ndims == logits.shape.ndims - 1)
        ):
            labels = array_ops.expand_dims(labels, -1)
        labels_shape = array_ops.shape(labels)
        logits_shape = array_ops.shape(logits)
        message = (
            f"labels shape must be [D0, D1, ... DN, {expected_labels_dimension}]. Suggested Fix: check your "
            "n_classes argument to the estimator and/or the shape of your label."
        )
        assert_rank = check_ops.assert_rank_at_least(labels, 2, message=message)
        with ops.control_dependencies([assert_rank]):
            static = labels.shape
            if static.ndims is not None:
                last = static[-1].value
                if last is not None and last != expected_labels_dimension:
                    raise ValueError(
                        "Mismatched label shape. Expected labels dimension=%s.  Received %s. Suggested "
                        "Fix:If your classifier expects one-hot encoding label,check your n_classes "
                        "argument to the estimator and/or the shape of your label. Otherwise, check the "
                        "shape of your label." % (expected_labels_dimension, last)
                    )
            expected = array_ops.concat([logits_shape[:-1], [expected_labels_dimension]], axis=0)
            # Named as by assert_equal. The loss has the message for shapes that are known to differ.
            with ops.name_scope("assert_equal_1"):
                assert_shape = control_flow_ops.Assert(
                    math_ops.reduce_all(math_ops.equal(expected, labels_shape)),
                    data=[message, "expected_labels_shape: ", expected, "labels_shape: ", labels_shape],
                )
            with ops.control_dependencies([assert_shape]):
                return array_ops.identity(labels, name=scope)


def _get_weights_and_check_match_logits(features, weight_column, logits, allow_per_logit_weights=False):
    """The weights of examples, [D0, ... DN, 1] (or the shape of the logits), or 1."""
    if weight_column is None:
        return 1.0
    if isinstance(weight_column, str):
        weight_column = feature_column_lib.numeric_column(weight_column)
    if not isinstance(weight_column, feature_column_lib.NumericColumn):
        raise TypeError(
            f"Weight column must be either a string or NumericColumn. Given type: {type(weight_column)}."
        )
    with ops.name_scope(None, "weights", values=tuple(features.values()) + (logits,)) as scope:
        weights = weight_column._get_dense_tensor(feature_column_lib.FeatureTransformationCache(features))
        if not (weights.dtype.is_floating or weights.dtype.is_integer):
            raise ValueError(f"Weight column should be castable to float. Given dtype: {weights.dtype}")
        weights = math_ops.cast(weights, name="weights", dtype=dtypes.float32)
        weights_shape = array_ops.shape(weights, name="weights_shape")
        logits_shape = array_ops.shape(logits, name="logits_shape")
        if (
            weights.shape.ndims is not None
            and logits.shape.ndims is not None
            and weights.shape.ndims == logits.shape.ndims - 1
        ):
            assert_dimension = check_ops.assert_equal(
                logits_shape[:-1],
                weights_shape,
                message="weights shape must be [D0, D1, ... DN]",
                data=["logits_shape: ", logits_shape, "weights_shape: ", weights_shape],
            )
            with ops.control_dependencies([assert_dimension]):
                return array_ops.expand_dims(weights, -1, name=scope)
        supported = array_ops.concat([logits_shape[:-1], [1]], axis=0)
        if allow_per_logit_weights:
            condition = math_ops.reduce_any(
                [
                    math_ops.reduce_all(math_ops.equal(logits_shape, weights_shape)),
                    math_ops.reduce_all(math_ops.equal(supported, weights_shape)),
                ]
            )
            assert_dimension = control_flow_ops.Assert(
                condition=condition,
                data=[
                    "weights shape must be [D0, D1, ... DN, 1] or [D0, D1, ... DN, logits_dimension]",
                    "logits_shape: ",
                    logits_shape,
                    "weights_shape: ",
                    weights_shape,
                ],
            )
        else:
            assert_dimension = check_ops.assert_equal(
                supported,
                weights_shape,
                message="weights shape must be [D0, D1, ... DN, 1]",
                data=["logits_shape: ", logits_shape, "weights_shape: ", weights_shape],
            )
        with ops.control_dependencies([assert_dimension]):
            return array_ops.identity(weights, name=scope)


def _validate_loss_fn_args(loss_fn):
    args = util.fn_args(loss_fn)
    for needed in ("labels", "logits"):
        if needed not in args:
            raise ValueError(f"loss_fn must contain argument: {needed}. Given arguments: {args}")
    unknown = sorted(set(args) - {"labels", "logits", "features", "loss_reduction"})
    if unknown:
        raise ValueError(f"loss_fn has unexpected args: {unknown}")


def _call_loss_fn(loss_fn, labels, logits, features, expected_loss_dim=1):
    """The losses of a function of the program, [D0, ... DN, expected_loss_dim]."""
    kwargs = {"features": features} if "features" in util.fn_args(loss_fn) else {}
    with ops.name_scope("call_loss_fn", values=(labels, logits)):
        unweighted = loss_fn(labels=labels, logits=logits, **kwargs)
        logits_shape = array_ops.shape(logits, name="logits_shape")
        expected = array_ops.concat(
            [logits_shape[:-1], [expected_loss_dim]], axis=0, name="expected_loss_shape"
        )
        loss_shape = array_ops.shape(unweighted, name="loss_shape")
        check = control_flow_ops.Assert(
            math_ops.reduce_all(math_ops.equal(loss_shape, expected)),
            data=[
                "loss_fn must return Tensor of shape [D0, D1, ... DN, %d]. " % expected_loss_dim,
                "logits_shape: ",
                logits_shape,
                "loss_shape: ",
                loss_shape,
            ],
            name="check_loss_shape",
        )
        with ops.control_dependencies([check]):
            return array_ops.identity(unweighted)


def _assert_range(labels, n_classes, message=None):
    """The labels, after a check that they are in [0, n_classes)."""
    with ops.name_scope(None, "assert_range", (labels,)):
        return _in_range(
            labels,
            n_classes,
            message or f"Labels must <= n_classes - 1, and n_classes is {n_classes}",
            message or "Labels must >= 0",
        )


def _in_range(labels, n_classes, too_large, negative):
    """The labels, after a check that they are in [0, n_classes); two messages for those that are not."""
    largest = ops.convert_to_tensor(n_classes - 1, dtype=labels.dtype)
    less = check_ops.assert_less_equal(labels, largest, message=too_large)
    not_negative = check_ops.assert_non_negative(labels, message=negative)
    with ops.control_dependencies((less, not_negative)):
        return array_ops.identity(labels)


def _validate_n_classes(n_classes):
    """n_classes, an int or a tensor, which is above 2."""
    if n_classes is None:
        raise ValueError("n_classes cannot be None")
    if isinstance(n_classes, int) and n_classes <= 2:
        raise ValueError(f"n_classes must be > 2 for multi classification: {n_classes}. ")
    message = "n_classes must be greater than 2"
    with ops.control_dependencies(
        [check_ops.assert_greater(ops.convert_to_tensor(n_classes), 2, message=message)]
    ):
        control_flow_ops.no_op()
    return n_classes


# Metrics.


def _indicator_labels_mean(labels, weights=None, name=None):
    with ops.name_scope(name, "labels_mean", (labels, weights)) as scope:
        labels = math_ops.cast(labels, dtypes.float32, name="labels")
        if weights is not None:
            weights = weights_broadcast_ops.broadcast_weights(weights, labels)
        return metrics_lib.mean(labels, weights=weights, name=scope)


def _predictions_mean(predictions, weights=None, name=None):
    with ops.name_scope(name, "predictions_mean", (predictions, weights)) as scope:
        predictions = math_ops.cast(predictions, dtypes.float32, name="predictions")
        if weights is not None:
            weights = weights_broadcast_ops.broadcast_weights(weights, predictions)
        return metrics_lib.mean(predictions, weights=weights, name=scope)


def _accuracy_baseline(labels_mean):
    """The accuracy of always saying the more frequent class."""
    with ops.name_scope(None, "accuracy_baseline", labels_mean):
        value, update_op = labels_mean
        return (
            math_ops.maximum(value, 1.0 - value, name="value"),
            math_ops.maximum(update_op, 1 - update_op, name="update_op"),
        )


def _auc(labels, predictions, weights=None, curve="ROC", name=None):
    with ops.name_scope(name, "auc", (predictions, labels, weights)) as scope:
        predictions = math_ops.cast(predictions, dtypes.float32, name="predictions")
        if weights is not None:
            weights = weights_broadcast_ops.broadcast_weights(weights, predictions)
        return metrics_lib.auc(
            labels=labels, predictions=predictions, weights=weights, curve=curve, name=scope
        )


def _at_threshold(kind, labels, predictions, weights, threshold, name=None):
    with ops.name_scope(name, f"{kind}_at_{threshold}", (predictions, labels, weights, threshold)) as scope:
        if kind == "accuracy":
            above = math_ops.cast(math_ops.greater_equal(predictions, threshold), dtypes.float32)
            return metrics_lib.accuracy(labels=labels, predictions=above, weights=weights, name=scope)
        fn = metrics_lib.precision_at_thresholds if kind == "precision" else metrics_lib.recall_at_thresholds
        tensor, update_op = fn(
            labels=labels, predictions=predictions, thresholds=(threshold,), weights=weights, name=scope
        )
        return array_ops.squeeze(tensor), array_ops.squeeze(update_op)


# Classes.


def _all_class_ids(logits, n_classes):
    batch = array_ops.shape(logits)[0]
    ids = math_ops.range(n_classes)
    return array_ops.tile(array_ops.expand_dims(input=ids, axis=0), [batch, 1])


def _all_classes(logits, n_classes, label_vocabulary=None):
    batch = array_ops.shape(logits)[0]
    if label_vocabulary:
        classes = ops.convert_to_tensor(list(label_vocabulary), dtype=dtypes.string)
    else:
        classes = string_ops.as_string(math_ops.range(n_classes))
    return array_ops.tile(array_ops.expand_dims(input=classes, axis=0), [batch, 1])


def _classification_output(scores, n_classes, label_vocabulary=None):
    return export_output.ClassificationOutput(
        scores=scores, classes=_all_classes(scores, n_classes, label_vocabulary)
    )


def _check_vocabulary(label_vocabulary):
    if label_vocabulary is not None and not isinstance(label_vocabulary, (list, tuple)):
        raise ValueError(
            f"label_vocabulary should be a list or a tuple. Given type: {type(label_vocabulary)}"
        )


class _Vocabulary:
    """Labels that are ids, or strings of a vocabulary."""

    def _class_id_table(self):
        return lookup_ops.index_table_from_tensor(
            vocabulary_list=tuple(self._label_vocabulary), name="class_id_lookup"
        )

    def _class_names(self, class_ids):
        if not self._label_vocabulary:
            return string_ops.as_string(class_ids, name="str_classes")
        table = lookup_ops.index_to_string_table_from_tensor(
            vocabulary_list=self._label_vocabulary, name="class_string_lookup"
        )
        return table.lookup(math_ops.cast(class_ids, dtypes.int64))


class _Classes(_Vocabulary):
    """The labels of heads of one class of several."""

    def _label_ids(self, labels):
        if self._label_vocabulary is None:
            if not labels.dtype.is_integer:
                raise ValueError(f"Labels dtype should be integer. Instead got {labels.dtype}.")
            return labels
        if labels.dtype != dtypes.string:
            raise ValueError(
                f"Labels dtype should be string if there is a vocabulary. Instead got {labels.dtype}"
            )
        return self._class_id_table().lookup(labels)


class _MultiClassHeadWithSoftmaxCrossEntropyLoss(_Classes, _SimpleHead):
    """One of n_classes > 2 classes. See multi_class_head."""

    def __init__(
        self,
        n_classes,
        weight_column=None,
        label_vocabulary=None,
        loss_reduction=losses.Reduction.SUM,
        loss_fn=None,
        name=None,
    ):
        super().__init__(weight_column, loss_reduction, loss_fn, name)
        self._n_classes = _validate_n_classes(n_classes)
        _check_vocabulary(label_vocabulary)
        self._label_vocabulary = label_vocabulary

    @property
    def logits_dimension(self):
        return self._n_classes

    def _processed_labels(self, logits, labels):
        labels = _check_dense_labels_match_logits_and_reshape(labels, logits, 1)
        return _assert_range(self._label_ids(labels), self._n_classes)

    def _unweighted_loss(self, logits, labels, features):
        if self._loss_fn:
            return labels, _call_loss_fn(self._loss_fn, labels, logits, features, 1)
        unweighted = losses.sparse_softmax_cross_entropy(
            labels=labels, logits=logits, reduction=losses.Reduction.NONE
        )
        return labels, array_ops.expand_dims(unweighted, axis=-1)

    def _predictions(self, logits, keys=None):
        with ops.name_scope(None, "predictions", (logits,)):
            all_ids = _all_class_ids(logits, self._n_classes)
            all_classes = _all_classes(logits, self._n_classes, self._label_vocabulary)
            ids = array_ops.expand_dims(math_ops.argmax(logits, axis=-1, name="class_ids"), axis=-1)
            classes = self._class_names(ids)
            return {
                _Pred.LOGITS: logits,
                _Pred.PROBABILITIES: nn.softmax(logits, name="probabilities"),
                _Pred.CLASS_IDS: ids,
                _Pred.CLASSES: classes,
                _Pred.ALL_CLASS_IDS: all_ids,
                _Pred.ALL_CLASSES: all_classes,
            }

    def _export_outputs(self, predictions):
        output = _classification_output(
            predictions[_Pred.PROBABILITIES], self._n_classes, self._label_vocabulary
        )
        return {
            _DEFAULT_SERVING_KEY: output,
            _CLASSIFY_SERVING_KEY: output,
            _PREDICT_SERVING_KEY: export_output.PredictOutput(predictions),
        }

    def _metrics(self, predictions, labels, weights, unreduced_loss, regularization_loss):
        with ops.name_scope(None, "metrics", [labels, unreduced_loss]):
            name = lambda key: _summary_key(self._name, key)  # noqa: E731
            metrics = {
                name(_Keys.LOSS_MEAN): metrics_lib.mean(
                    values=unreduced_loss, weights=weights, name=_Keys.LOSS_MEAN
                ),
                name(_Keys.ACCURACY): metrics_lib.accuracy(
                    labels=labels,
                    predictions=predictions[_Pred.CLASS_IDS],
                    weights=weights,
                    name=_Keys.ACCURACY,
                ),
            }
            if regularization_loss is not None:
                metrics[name(_Keys.LOSS_REGULARIZATION)] = metrics_lib.mean(
                    values=regularization_loss, name=_Keys.LOSS_REGULARIZATION
                )
        return metrics


class _BinaryLogisticHeadWithSigmoidCrossEntropyLoss(_Classes, _SimpleHead):
    """One of two classes, by one logit. See binary_classification_head."""

    _logits_scope = "predictions/logits"

    def __init__(
        self,
        weight_column=None,
        thresholds=None,
        label_vocabulary=None,
        loss_reduction=losses.Reduction.SUM,
        loss_fn=None,
        name=None,
    ):
        super().__init__(weight_column, loss_reduction, loss_fn, name)
        self._thresholds = tuple(thresholds) if thresholds else ()
        for threshold in self._thresholds:
            if not 0.0 < threshold < 1.0:
                raise ValueError(f"thresholds not in (0, 1): {thresholds}.")
        _check_vocabulary(label_vocabulary)
        self._label_vocabulary = label_vocabulary

    @property
    def logits_dimension(self):
        return 1

    def _processed_labels(self, logits, labels):
        labels = _check_dense_labels_match_logits_and_reshape(labels, logits, 1)
        if self._label_vocabulary is not None:
            labels = self._label_ids(labels)
        return _assert_range(math_ops.cast(labels, dtypes.float32), n_classes=2)

    def _unweighted_loss(self, logits, labels, features):
        if self._loss_fn:
            return labels, _call_loss_fn(self._loss_fn, labels, logits, features, 1)
        return labels, nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def _predictions(self, logits, keys=None):
        # The scope of the check of the logits is that of the predictions.
        with ops.name_scope(
            ops.get_name_scope() + "/predictions/" if ops.get_name_scope() else "predictions/"
        ):
            logistic = math_ops.sigmoid(logits, name=_Pred.LOGISTIC)
            two = array_ops.concat((array_ops.zeros_like(logits), logits), axis=-1, name="two_class_logits")
            probabilities = nn.softmax(two, name=_Pred.PROBABILITIES)
            ids = array_ops.expand_dims(math_ops.argmax(two, axis=-1, name=_Pred.CLASS_IDS), axis=-1)
            all_ids = _all_class_ids(logits, 2)
            all_classes = _all_classes(logits, 2, self._label_vocabulary)
            classes = self._class_names(ids)
            return {
                _Pred.LOGITS: logits,
                _Pred.LOGISTIC: logistic,
                _Pred.PROBABILITIES: probabilities,
                _Pred.CLASS_IDS: ids,
                _Pred.CLASSES: classes,
                _Pred.ALL_CLASS_IDS: all_ids,
                _Pred.ALL_CLASSES: all_classes,
            }

    def _export_outputs(self, predictions):
        output = _classification_output(predictions[_Pred.PROBABILITIES], 2, self._label_vocabulary)
        return {
            _DEFAULT_SERVING_KEY: output,
            _CLASSIFY_SERVING_KEY: output,
            _REGRESS_SERVING_KEY: export_output.RegressionOutput(value=predictions[_Pred.LOGISTIC]),
            _PREDICT_SERVING_KEY: export_output.PredictOutput(predictions),
        }

    def _metrics(self, predictions, labels, weights, unreduced_loss, regularization_loss):
        logistic, ids = predictions[_Pred.LOGISTIC], predictions[_Pred.CLASS_IDS]
        with ops.name_scope(None, "metrics", [labels, logistic, ids, unreduced_loss]):
            name = lambda key: _summary_key(self._name, key)  # noqa: E731
            labels_mean = _indicator_labels_mean(labels, weights=weights, name=_Keys.LABEL_MEAN)
            both = {"labels": labels, "predictions": ids, "weights": weights}
            metrics = {
                name(_Keys.LOSS_MEAN): metrics_lib.mean(
                    unreduced_loss, weights=weights, name=_Keys.LOSS_MEAN
                ),
                name(_Keys.ACCURACY): metrics_lib.accuracy(name=_Keys.ACCURACY, **both),
                name(_Keys.PRECISION): metrics_lib.precision(name=_Keys.PRECISION, **both),
                name(_Keys.RECALL): metrics_lib.recall(name=_Keys.RECALL, **both),
                name(_Keys.PREDICTION_MEAN): _predictions_mean(logistic, weights, name=_Keys.PREDICTION_MEAN),
                name(_Keys.LABEL_MEAN): labels_mean,
                name(_Keys.ACCURACY_BASELINE): _accuracy_baseline(labels_mean),
                name(_Keys.AUC): _auc(labels, logistic, weights, name=_Keys.AUC),
                name(_Keys.AUC_PR): _auc(labels, logistic, weights, curve="PR", name=_Keys.AUC_PR),
            }
            if regularization_loss is not None:
                metrics[name(_Keys.LOSS_REGULARIZATION)] = metrics_lib.mean(
                    regularization_loss, name=_Keys.LOSS_REGULARIZATION
                )
            for threshold in self._thresholds:
                for kind, key in (
                    ("accuracy", _Keys.ACCURACY_AT_THRESHOLD),
                    ("precision", _Keys.PRECISION_AT_THRESHOLD),
                    ("recall", _Keys.RECALL_AT_THRESHOLD),
                ):
                    key = key % threshold
                    metrics[name(key)] = _at_threshold(kind, labels, logistic, weights, threshold, name=key)
        return metrics


class _MultiLabelHead(_Classes, _SimpleHead):
    """Any of n_classes classes, by a logit for each. See multi_label_head."""

    def __init__(
        self,
        n_classes,
        weight_column=None,
        thresholds=None,
        label_vocabulary=None,
        loss_reduction=losses.Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn=None,
        classes_for_class_based_metrics=None,
        name=None,
    ):
        super().__init__(weight_column, loss_reduction, loss_fn, name)
        if n_classes is None or n_classes < 2:
            raise ValueError(f"n_classes must be > 1 for multi-class classification. Given: {n_classes}")
        self._n_classes = n_classes
        self._thresholds = tuple(thresholds) if thresholds else ()
        for threshold in self._thresholds:
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
        self._label_vocabulary = label_vocabulary
        self._classes_for_metrics = []
        for c in classes_for_class_based_metrics or []:
            index = label_vocabulary.index(c) if isinstance(c, str) else c
            if not 0 <= index < n_classes:
                raise ValueError(
                    f"All classes_for_class_based_metrics must be in range [0, {n_classes - 1}]. "
                    f"Given: {c}"
                )
            self._classes_for_metrics.append((index, c))

    @property
    def logits_dimension(self):
        return self._n_classes

    def _processed_labels(self, logits, labels):
        if labels is None:
            raise ValueError(_LABEL_NONE_ERR_MSG)
        labels = sparse_tensor.convert_to_tensor_or_sparse_tensor(labels)
        if isinstance(labels, sparse_tensor.SparseTensor):
            labels = self._indicators(labels)
        labels = _check_dense_labels_match_logits_and_reshape(labels, logits, self.logits_dimension)
        return _assert_range(
            labels, 2, message="labels must be an integer indicator Tensor with values in [0, 1]"
        )

    def _indicators(self, labels):
        """Sparse ids or values as 0 and 1."""
        if labels.dtype == dtypes.string:
            values = self._class_id_table().lookup(labels.values)
        else:
            if not labels.dtype.is_integer:
                raise ValueError(f"Labels dtype should be integer. Instead got {labels.dtype}.")
            values = _assert_range(
                labels.values,
                self._n_classes,
                message=f"labels must be an integer SparseTensor with values in [0, {self._n_classes})",
            )
        ids = sparse_tensor.SparseTensor(labels.indices, values, labels.dense_shape)
        return math_ops.cast(sparse_ops.sparse_to_indicator(ids, self._n_classes), dtypes.int64)

    def _unweighted_loss(self, logits, labels, features):
        if self._loss_fn:
            return labels, _call_loss_fn(self._loss_fn, labels, logits, features, 1)
        each = losses.sigmoid_cross_entropy(
            multi_class_labels=labels, logits=logits, reduction=losses.Reduction.NONE
        )
        return labels, math_ops.reduce_mean(each, axis=-1, keepdims=True)

    def _predictions(self, logits, keys=None):
        with ops.name_scope(None, "predictions", (logits,)):
            return {
                _Pred.LOGITS: logits,
                _Pred.PROBABILITIES: math_ops.sigmoid(logits, name=_Pred.PROBABILITIES),
            }

    def _export_outputs(self, predictions):
        output = _classification_output(
            predictions[_Pred.PROBABILITIES], self._n_classes, self._label_vocabulary
        )
        return {
            _DEFAULT_SERVING_KEY: output,
            _CLASSIFY_SERVING_KEY: output,
            _PREDICT_SERVING_KEY: export_output.PredictOutput(predictions),
        }

    def _metrics(self, predictions, labels, weights, unreduced_loss, regularization_loss):
        probabilities = predictions[_Pred.PROBABILITIES]
        with ops.name_scope(None, "metrics", [labels, probabilities, unreduced_loss]):
            name = lambda key: _summary_key(self._name, key)  # noqa: E731
            metrics = {
                name(_Keys.LOSS_MEAN): metrics_lib.mean(
                    unreduced_loss, weights=weights, name=_Keys.LOSS_MEAN
                ),
                name(_Keys.AUC): metrics_lib.auc(
                    labels=labels, predictions=probabilities, weights=weights, name=_Keys.AUC
                ),
                name(_Keys.AUC_PR): metrics_lib.auc(
                    labels=labels, predictions=probabilities, weights=weights, curve="PR", name=_Keys.AUC_PR
                ),
            }
            if regularization_loss is not None:
                metrics[name(_Keys.LOSS_REGULARIZATION)] = metrics_lib.mean(
                    regularization_loss, name=_Keys.LOSS_REGULARIZATION
                )
            for threshold in self._thresholds:
                for kind, key in (
                    ("accuracy", _Keys.ACCURACY_AT_THRESHOLD),
                    ("precision", _Keys.PRECISION_AT_THRESHOLD),
                    ("recall", _Keys.RECALL_AT_THRESHOLD),
                ):
                    key = key % threshold
                    metrics[name(key)] = _at_threshold(
                        kind, labels, probabilities, weights, threshold, name=key
                    )
            for index, c in self._classes_for_metrics:
                batch = probabilities[:, index]
                named = isinstance(c, str)
                key = (_Keys.PROBABILITY_MEAN_AT_NAME if named else _Keys.PROBABILITY_MEAN_AT_CLASS) % c
                metrics[name(key)] = _predictions_mean(batch, weights=None, name=key)
                for curve, by_name, by_class in (
                    ("ROC", _Keys.AUC_AT_NAME, _Keys.AUC_AT_CLASS),
                    ("PR", _Keys.AUC_PR_AT_NAME, _Keys.AUC_PR_AT_CLASS),
                ):
                    key = (by_name if named else by_class) % c
                    metrics[name(key)] = _auc(labels[:, index], batch, None, curve=curve, name=key)
        return metrics


class _RegressionHeadWithMeanSquaredErrorLoss(_SimpleHead):
    """Numbers. See regression_head."""

    _allow_per_logit_weights = True

    def __init__(
        self,
        label_dimension=1,
        weight_column=None,
        loss_reduction=losses.Reduction.SUM,
        loss_fn=None,
        inverse_link_fn=None,
        name=None,
    ):
        super().__init__(weight_column, loss_reduction, loss_fn, name)
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        self._logits_dimension = label_dimension
        self._inverse_link_fn = inverse_link_fn

    @property
    def logits_dimension(self):
        return self._logits_dimension

    def _processed_labels(self, logits, labels):
        labels = _check_dense_labels_match_logits_and_reshape(labels, logits, self._logits_dimension)
        return math_ops.cast(labels, dtypes.float32)

    def _unweighted_loss(self, logits, labels, features):
        if self._loss_fn:
            return labels, _call_loss_fn(self._loss_fn, labels, logits, features, self._logits_dimension)
        return labels, losses.mean_squared_error(
            labels=labels, predictions=logits, reduction=losses.Reduction.NONE
        )

    def _predictions(self, logits, keys=None):
        if not self._inverse_link_fn:
            return {_Pred.PREDICTIONS: logits}
        with ops.name_scope(None, "predictions", (logits,)):
            return {_Pred.PREDICTIONS: self._inverse_link_fn(logits), _Pred.LOGITS: logits}

    def _export_outputs(self, predictions):
        output = export_output.RegressionOutput(value=predictions[_Pred.PREDICTIONS])
        return {
            _DEFAULT_SERVING_KEY: output,
            _REGRESS_SERVING_KEY: output,
            _PREDICT_SERVING_KEY: export_output.PredictOutput(predictions),
        }

    def _metrics(self, predictions, labels, weights, unreduced_loss, regularization_loss):
        name = lambda key: _summary_key(self._name, key)  # noqa: E731
        metrics = {
            name(_Keys.LOSS_MEAN): metrics_lib.mean(values=unreduced_loss, weights=weights),
            name(_Keys.PREDICTION_MEAN): _predictions_mean(
                predictions=predictions[_Pred.PREDICTIONS], weights=weights, name=_Keys.PREDICTION_MEAN
            ),
            name(_Keys.LABEL_MEAN): metrics_lib.mean(values=labels, weights=weights),
        }
        if regularization_loss is not None:
            metrics[name(_Keys.LOSS_REGULARIZATION)] = metrics_lib.mean(
                values=regularization_loss, name=_Keys.LOSS_REGULARIZATION
            )
        return metrics


def _multi_class_head_with_softmax_cross_entropy_loss(
    n_classes,
    weight_column=None,
    label_vocabulary=None,
    loss_reduction=losses.Reduction.SUM,
    loss_fn=None,
    name=None,
):
    """A head for one of n_classes > 2 classes; labels are ids, or values of label_vocabulary."""
    return _MultiClassHeadWithSoftmaxCrossEntropyLoss(
        n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name
    )


def _binary_logistic_head_with_sigmoid_cross_entropy_loss(
    weight_column=None,
    thresholds=None,
    label_vocabulary=None,
    loss_reduction=losses.Reduction.SUM,
    loss_fn=None,
    name=None,
):
    """A head for two classes; labels are in [0, 1], or values of label_vocabulary."""
    return _BinaryLogisticHeadWithSigmoidCrossEntropyLoss(
        weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name
    )


def _regression_head(
    weight_column=None,
    label_dimension=1,
    loss_reduction=losses.Reduction.SUM,
    loss_fn=None,
    inverse_link_fn=None,
    name=None,
):
    """A head for numbers [batch, label_dimension]."""
    return _RegressionHeadWithMeanSquaredErrorLoss(
        label_dimension, weight_column, loss_reduction, loss_fn, inverse_link_fn, name
    )


_regression_head_with_mean_squared_error_loss = _regression_head


def _binary_logistic_or_multi_class_head(
    n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn=None
):
    """The head of a classifier."""
    if n_classes == 2:
        return _binary_logistic_head_with_sigmoid_cross_entropy_loss(
            weight_column=weight_column,
            label_vocabulary=label_vocabulary,
            loss_reduction=loss_reduction,
            loss_fn=loss_fn,
        )
    return _multi_class_head_with_softmax_cross_entropy_loss(
        n_classes,
        weight_column=weight_column,
        label_vocabulary=label_vocabulary,
        loss_reduction=loss_reduction,
        loss_fn=loss_fn,
    )
