"""Heads of model functions of tf.contrib.learn: losses, predictions and metrics of classes and regressions.

A head gets logits, and gives ModelFnOps. The mean of the loss is a metric of every estimator.
"""

from braid.tensorflow.contrib.learn.python.learn.estimators import constants, estimators
from braid.tensorflow.contrib.learn.python.learn.estimators import metric_key as metric_keys
from braid.tensorflow.contrib.learn.python.learn.estimators import model_fn
from braid.tensorflow.contrib.learn.python.learn.estimators import prediction_key as prediction_keys
from braid.tensorflow.python.framework import dtypes, ops, sparse_tensor
from braid.tensorflow.python.ops import (
    array_ops,
    math_ops,
    metrics,
    nn,
    string_ops,
    variable_scope,
    weights_broadcast_ops,
)
from braid.tensorflow.python.summary import summary

_Metric = metric_keys.MetricKey
_Prediction = prediction_keys.PredictionKey


def _weights_of(features, name):
    """The weights of the examples, with a dimension more if they are a vector; None: all weigh 1."""
    if not name:
        return None
    if name not in features:
        raise ValueError(f"Weights {name} missing from features.")
    weights = math_ops.cast(features[name], dtypes.float32)
    return array_ops.reshape(weights, (-1, 1)) if weights.shape.ndims == 1 else weights


def _weighted(loss, weights):
    """The mean of a loss for training, and the weighted mean for reports."""
    if weights is None:
        mean = math_ops.reduce_mean(loss, name="loss")
        return mean, mean
    weights = weights_broadcast_ops.broadcast_weights(weights, loss)
    weighted = math_ops.multiply(loss, weights, name="weighted_loss")
    return (
        math_ops.reduce_mean(weighted, name="loss"),
        math_ops.div(
            math_ops.reduce_sum(weighted), math_ops.reduce_sum(weights), name="weighted_average_loss"
        ),
    )


def _custom_loss(loss_fn, labels, logits, weights):
    """A program's loss, which knows of the weights itself where there are some."""
    loss = loss_fn(labels, logits) if weights is None else loss_fn(labels, logits, weights)
    mean = math_ops.reduce_mean(loss, name="loss")
    return mean, mean


def _as_matrix(values):
    values = ops.convert_to_tensor(values)
    return array_ops.expand_dims(values, axis=1) if values.shape.ndims == 1 else values


class Head:
    """What is above the logits of a model. See multi_class_head and regression_head."""

    _SCOPE = None

    def __init__(self, problem_type, logits_dimension, label_name, weight_column_name, head_name):
        self._problem_type = problem_type
        self._logits_dimension = logits_dimension
        self._label_name = label_name
        self._weight_column_name = weight_column_name
        self._head_name = head_name

    @property
    def logits_dimension(self):
        return self._logits_dimension

    @property
    def label_name(self):
        return self._label_name

    @property
    def weight_column_name(self):
        return self._weight_column_name

    @property
    def head_name(self):
        return self._head_name

    def _key(self, name):
        return f"{name}/{self._head_name}" if self._head_name else name

    def _labels(self, labels):
        labels = labels[self._label_name] if isinstance(labels, dict) else labels
        if isinstance(labels, sparse_tensor.SparseTensor):
            raise ValueError("SparseTensor is not supported.")
        return ops.convert_to_tensor(labels)

    def _logits(self, logits, logits_input):
        if logits is None and logits_input is None:
            raise ValueError("Neither logits nor logits_input supplied.")
        if logits is not None and logits_input is not None:
            raise ValueError("Both logits and logits_input supplied.")
        if logits is None:
            from braid.tensorflow.contrib import layers

            return layers.linear(logits_input, self.logits_dimension, scope="logits")
        logits = ops.convert_to_tensor(logits)
        size = logits.shape.dims[-1].value if logits.shape.ndims else None
        if size is not None and size != self.logits_dimension:
            raise ValueError(
                f"Got logits with shape {logits.shape}, expected {self.logits_dimension} columns."
            )
        return logits

    def create_model_fn_ops(
        self, features, mode, labels=None, train_op_fn=None, logits=None, logits_input=None, scope=None
    ):
        """The ModelFnOps of a mode.

        Args:
          features: a dict, in which the weights are looked for.
          mode: of ModeKeys.
          labels: a tensor, or a dict of them; None with INFER.
          train_op_fn: a function from the loss to the operation that trains; for TRAIN.
          logits: [examples, logits_dimension]; or logits_input, of which a linear layer makes them.
          scope: the variable scope; None: one named after the head.
        """
        if mode not in (model_fn.ModeKeys.TRAIN, model_fn.ModeKeys.EVAL, model_fn.ModeKeys.INFER):
            raise ValueError(f"mode={mode} unrecognized.")
        with variable_scope.variable_scope(scope, default_name=self.head_name or self._SCOPE):
            logits = self._logits(logits, logits_input)
            with ops.name_scope(None, "predictions", (logits,)):
                predictions = self._predictions(logits)
            alternatives = {self._head_name: (self._problem_type, self._outputs(predictions))}
            loss = train_op = metric_ops = None
            if mode != model_fn.ModeKeys.INFER and labels is not None:
                labels = self._labels(labels)
                weights = _weights_of(features, self._weight_column_name)
                loss, average = self._loss(labels, logits, weights)
                with ops.name_scope(""):
                    summary.scalar(self._key(_Metric.LOSS), array_ops.identity(average))
                if mode == model_fn.ModeKeys.TRAIN:
                    if train_op_fn is None:
                        raise ValueError("train_op_fn can not be None in TRAIN mode")
                    with ops.name_scope(None, "train_op", (loss, labels)):
                        train_op = train_op_fn(loss)
                else:
                    loss = average
                with ops.name_scope("metrics"):
                    metric_ops = {
                        self._key(k): v for k, v in self._metrics(predictions, labels, weights).items()
                    }
                    if self._head_name:
                        metric_ops[self._key(_Metric.LOSS)] = metrics.mean(average)
            return estimators.ModelFnOps(
                mode=mode,
                predictions=predictions,
                loss=loss,
                train_op=train_op,
                eval_metric_ops=metric_ops,
                output_alternatives=alternatives,
                training_chief_hooks=[],
                training_hooks=[],
            )

    def _outputs(self, predictions):
        return predictions


class _RegressionHead(Head):
    _SCOPE = "regression_head"

    def __init__(self, link_fn, **kwargs):
        super().__init__(problem_type=constants.ProblemType.LINEAR_REGRESSION, **kwargs)
        self._link_fn = link_fn

    def _loss(self, labels, logits, weights):
        logits, labels = _as_matrix(logits), _as_matrix(labels)
        logits.shape.assert_is_compatible_with(labels.shape)
        return _weighted(math_ops.squared_difference(logits, math_ops.cast(labels, dtypes.float32)), weights)

    def _predictions(self, logits):
        if self.logits_dimension == 1:
            logits = array_ops.squeeze(logits, axis=(1,), name=_Prediction.SCORES)
        return {_Prediction.SCORES: self._link_fn(logits)}

    def _metrics(self, predictions, labels, weights):
        return {}


class _ClassesHead(Head):
    def _outputs(self, predictions):
        """What a server gives: the probabilities with the names of the classes."""
        probabilities = predictions[_Prediction.PROBABILITIES]
        batch_size, count = array_ops.shape(probabilities)[0], array_ops.shape(probabilities)[1]
        classes = array_ops.tile(array_ops.expand_dims(math_ops.range(count), axis=0), [batch_size, 1])
        return {
            _Prediction.PROBABILITIES: probabilities,
            _Prediction.CLASSES: string_ops.as_string(classes, name="classes_tensor"),
        }


def _mean_of_class(values, weights, class_id):
    """How often values are that class."""
    is_class = math_ops.equal(math_ops.cast(values, dtypes.int32), class_id)
    return metrics.mean(math_ops.cast(is_class, dtypes.float32), weights)


class _BinaryHead(_ClassesHead):
    _SCOPE = "binary_logistic_head"

    def __init__(self, loss_fn, thresholds, **kwargs):
        super().__init__(problem_type=constants.ProblemType.LOGISTIC_REGRESSION, logits_dimension=1, **kwargs)
        self._loss_fn = loss_fn
        self._thresholds = thresholds or (0.5,)

    def _loss(self, labels, logits, weights):
        if self._loss_fn:
            return _custom_loss(self._loss_fn, labels, logits, weights)
        labels = _as_matrix(math_ops.cast(labels, dtypes.float32))
        return _weighted(nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits), weights)

    def _predictions(self, logits):
        both = array_ops.concat((array_ops.zeros_like(logits), logits), 1)
        return {
            _Prediction.LOGITS: logits,
            _Prediction.LOGISTIC: math_ops.sigmoid(logits, name=_Prediction.LOGISTIC),
            _Prediction.PROBABILITIES: nn.softmax(both, name=_Prediction.PROBABILITIES),
            _Prediction.CLASSES: math_ops.argmax(both, 1, name=_Prediction.CLASSES),
        }

    def _metrics(self, predictions, labels, weights):
        logistic = predictions[_Prediction.LOGISTIC]
        matrix = _as_matrix(labels)
        found = {
            _Metric.ACCURACY: metrics.accuracy(labels, predictions[_Prediction.CLASSES], weights),
            _Metric.PREDICTION_MEAN: metrics.mean(logistic, weights),
            _Metric.LABEL_MEAN: metrics.mean(math_ops.cast(matrix, dtypes.float32), weights),
            _Metric.ACCURACY_BASELINE: metrics.mean(math_ops.cast(matrix, dtypes.float32), weights),
            _Metric.AUC: metrics.auc(math_ops.cast(matrix, dtypes.bool), logistic, weights),
            _Metric.AUC_PR: metrics.auc(math_ops.cast(matrix, dtypes.bool), logistic, weights, curve="PR"),
        }
        for threshold in self._thresholds:
            is_one = math_ops.cast(math_ops.greater_equal(logistic, threshold), dtypes.float32)
            found[_Metric.ACCURACY_MEAN % threshold] = metrics.accuracy(matrix, is_one, weights)
            for key, metric in (
                (_Metric.PRECISION_MEAN, metrics.precision_at_thresholds),
                (_Metric.RECALL_MEAN, metrics.recall_at_thresholds),
            ):
                value, update = metric(matrix, logistic, (threshold,), weights)
                found[key % threshold] = array_ops.squeeze(value), array_ops.squeeze(update)
        return found


class _MultiClassHead(_ClassesHead):
    _SCOPE = "multi_class_head"

    def __init__(self, loss_fn, metric_class_ids, **kwargs):
        super().__init__(problem_type=constants.ProblemType.CLASSIFICATION, **kwargs)
        self._loss_fn = loss_fn
        self._metric_class_ids = tuple(metric_class_ids or ())
        for class_id in self._metric_class_ids:
            if not 0 <= class_id < self.logits_dimension:
                raise ValueError(f"Class ID {class_id} not in [0, {self.logits_dimension}).")

    def _loss(self, labels, logits, weights):
        if self._loss_fn:
            return _custom_loss(self._loss_fn, labels, logits, weights)
        if not labels.dtype.is_integer:
            raise ValueError(f"Labels dtype should be integer Instead got {labels.dtype}.")
        is_matrix = labels.shape.ndims == 2
        classes = array_ops.squeeze(labels, axis=(1,)) if is_matrix else labels
        loss = nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=logits)
        return _weighted(array_ops.expand_dims(loss, axis=1) if is_matrix else loss, weights)

    def _predictions(self, logits):
        return {
            _Prediction.LOGITS: logits,
            _Prediction.PROBABILITIES: nn.softmax(logits, name=_Prediction.PROBABILITIES),
            _Prediction.CLASSES: math_ops.argmax(logits, 1, name=_Prediction.CLASSES),
        }

    def _metrics(self, predictions, labels, weights):
        classes = predictions[_Prediction.CLASSES]
        found = {_Metric.ACCURACY: metrics.accuracy(labels, classes, weights)}
        for i in self._metric_class_ids:
            found[_Metric.CLASS_PREDICTION_MEAN % i] = _mean_of_class(classes, weights, i)
            found[_Metric.CLASS_LABEL_MEAN % i] = _mean_of_class(labels, weights, i)
            for key, name in (
                (_Metric.CLASS_PROBABILITY_MEAN, _Prediction.PROBABILITIES),
                (_Metric.CLASS_LOGITS_MEAN, _Prediction.LOGITS),
            ):
                found[key % i] = metrics.mean(predictions[name][:, i : i + 1], weights)
        return found


def _refuse_centered_bias(enable_centered_bias):
    if enable_centered_bias:
        raise NotImplementedError(
            "tf.contrib.learn heads: enable_centered_bias=True: add a bias to the logits"
        )


def regression_head(
    label_name=None,
    weight_column_name=None,
    label_dimension=1,
    enable_centered_bias=False,
    head_name=None,
    link_fn=None,
):
    """A Head for regressions by the mean squared error.

    Args:
      label_name: of the labels in a dict.
      weight_column_name: of the feature that is the examples' weight.
      label_dimension: numbers of a label.
      head_name: follows the names of metrics.
      link_fn: a function from logits to predictions.
    """
    _refuse_centered_bias(enable_centered_bias)
    return _RegressionHead(
        link_fn=link_fn or array_ops.identity,
        logits_dimension=label_dimension,
        label_name=label_name,
        weight_column_name=weight_column_name,
        head_name=head_name,
    )


def multi_class_head(
    n_classes,
    label_name=None,
    weight_column_name=None,
    enable_centered_bias=False,
    head_name=None,
    thresholds=None,
    metric_class_ids=None,
    loss_fn=None,
    label_keys=None,
):
    """A Head for classes: by the softmax cross entropy, and for two of them by the sigmoid cross entropy.

    Args:
      n_classes: at least 2.
      label_name: of the labels in a dict.
      weight_column_name: of the feature that is the examples' weight.
      head_name: follows the names of metrics.
      thresholds: of metrics of two classes.
      metric_class_ids: of more than two classes, those that have metrics of their own.
      loss_fn: (labels, logits, weights=None) -> the weighted loss, a scalar.
    """
    _refuse_centered_bias(enable_centered_bias)
    if label_keys:
        raise NotImplementedError("tf.contrib.learn heads: label_keys: give numbers as labels")
    if n_classes is None or n_classes < 2:
        raise ValueError(f"n_classes must be > 1 for classification: {n_classes}.")
    kwargs = dict(label_name=label_name, weight_column_name=weight_column_name, head_name=head_name)
    if n_classes == 2:
        if metric_class_ids:
            raise ValueError("metric_class_ids invalid for n_classes==2.")
        return _BinaryHead(loss_fn, thresholds, **kwargs)
    return _MultiClassHead(loss_fn, metric_class_ids, logits_dimension=n_classes, **kwargs)
