"""ExportOutputs: the outputs of a model, and the signatures for serving that are made of them."""

import abc

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.saved_model import signature_def_utils
from braid.tensorflow.python.util.tf_export import estimator_export


@estimator_export("estimator.export.ExportOutput")
class ExportOutput(metaclass=abc.ABCMeta):
    """Outputs that a model exports as a signature."""

    _SEPARATOR_CHAR = "/"

    @abc.abstractmethod
    def as_signature_def(self, receiver_tensors):
        """A SignatureDef whose inputs are `receiver_tensors`, a dict."""

    def _check_output_key(self, key, error_label):
        if isinstance(key, tuple):
            key = self._SEPARATOR_CHAR.join(key)
        if not isinstance(key, str):
            raise ValueError(f"{error_label} output key must be a string; got {key}.")
        return key

    def _wrap_and_check_outputs(self, outputs, single_output_default_name, error_label=None):
        if not isinstance(outputs, dict):
            outputs = {single_output_default_name: outputs}
        error_label = error_label or single_output_default_name
        checked = {}
        for key, value in outputs.items():
            key = self._check_output_key(key, error_label)
            if not isinstance(value, ops.Tensor):
                raise ValueError(f"{error_label} output value must be a Tensor; got {value}.")
            checked[key] = value
        return checked


def _float(value, what):
    if value is None:
        return
    if not isinstance(value, ops.Tensor) or not value.dtype.is_floating:
        raise ValueError(f"{what} must be a float32 Tensor; got {value}")


def _examples(receiver_tensors, what):
    if len(receiver_tensors) != 1:
        raise ValueError(
            f"{what} signatures can only accept a single tensor input of type tf.string. Please check "
            "to make sure that you have structured the serving_input_receiver_fn so that it creates a "
            "single string placeholder. If your model function expects multiple inputs, then use "
            "`tf.io.parse_example()` to parse the string into multiple tensors."
        )
    ((_, examples),) = receiver_tensors.items()
    if dtypes.as_dtype(examples.dtype) != dtypes.string:
        raise ValueError(
            f"{what} signatures can only accept a single tensor input of type tf.string. "
            f"\nReceived: {receiver_tensors}"
        )
    return examples


@estimator_export("estimator.export.ClassificationOutput")
class ClassificationOutput(ExportOutput):
    """Scores (floats [batch, classes]) and the names of the classes (strings); one may be None."""

    def __init__(self, scores=None, classes=None):
        if scores is not None:
            _float(scores, "Classification scores")
        if classes is not None and not (
            isinstance(classes, ops.Tensor) and dtypes.as_dtype(classes.dtype) == dtypes.string
        ):
            raise ValueError(f"Classification classes must be a string Tensor; got {classes}")
        if scores is None and classes is None:
            raise ValueError("At least one of scores and classes must be set.")
        self._scores, self._classes = scores, classes

    @property
    def scores(self):
        return self._scores

    @property
    def classes(self):
        return self._classes

    def as_signature_def(self, receiver_tensors):
        examples = _examples(receiver_tensors, "Classification")
        return signature_def_utils.classification_signature_def(examples, self.classes, self.scores)


@estimator_export("estimator.export.RegressionOutput")
class RegressionOutput(ExportOutput):
    """A regressed value, floats [batch] or [batch, 1]."""

    def __init__(self, value):
        _float(value, "Regression output value")
        self._value = value

    @property
    def value(self):
        return self._value

    def as_signature_def(self, receiver_tensors):
        return signature_def_utils.regression_signature_def(
            _examples(receiver_tensors, "Regression"), self.value
        )


@estimator_export("estimator.export.PredictOutput")
class PredictOutput(ExportOutput):
    """Any outputs, a tensor or a dict of them."""

    _SINGLE_OUTPUT_DEFAULT_NAME = "output"

    def __init__(self, outputs):
        self._outputs = self._wrap_and_check_outputs(outputs, self._SINGLE_OUTPUT_DEFAULT_NAME, "Prediction")

    @property
    def outputs(self):
        return self._outputs

    def as_signature_def(self, receiver_tensors):
        return signature_def_utils.predict_signature_def(receiver_tensors, self.outputs)


class _SupervisedOutput(ExportOutput):
    """Loss, predictions and metrics of training or evaluation."""

    LOSS_NAME = "loss"
    PREDICTIONS_NAME = "predictions"
    METRICS_NAME = "metrics"
    METRIC_VALUE_SUFFIX = "value"
    METRIC_UPDATE_SUFFIX = "update_op"

    def __init__(self, loss=None, predictions=None, metrics=None):
        self._loss = self._predictions = self._metrics = None
        if loss is not None:
            loss = self._wrap_and_check_outputs(loss, self.LOSS_NAME)
            self._loss = self._prefixed(loss, self.LOSS_NAME)
        if predictions is not None:
            predictions = self._wrap_and_check_outputs(predictions, self.PREDICTIONS_NAME)
            self._predictions = self._prefixed(predictions, self.PREDICTIONS_NAME)
        if metrics is not None:
            self._metrics = self._metric_outputs(metrics)

    def _prefixed(self, outputs, name):
        result = {}
        for key, value in outputs.items():
            key = name if key in (name, None) else key
            result[key if key.startswith(name) else name + self._SEPARATOR_CHAR + key] = value
        return result

    def _metric_outputs(self, metrics):
        if not isinstance(metrics, dict):
            metrics = {self.METRICS_NAME: metrics}
        outputs = {}
        for key, pair in metrics.items():
            value, update = pair if isinstance(pair, tuple) else (pair.result(), pair.updates[0])
            key = self._check_output_key(key, self.METRICS_NAME)
            if not hasattr(value, "dtype"):
                raise ValueError(f"{key} output value must be a Tensor; got {value}.")
            named = key.startswith(self.METRICS_NAME)
            prefix = "" if named else self.METRICS_NAME + self._SEPARATOR_CHAR
            outputs[prefix + key + self._SEPARATOR_CHAR + self.METRIC_VALUE_SUFFIX] = value
            if isinstance(update, ops.Operation):
                from braid.tensorflow.python.framework import constant_op

                with ops.control_dependencies([update]):
                    update = constant_op.constant([], name="metric_op_wrapper")
            outputs[prefix + key + self._SEPARATOR_CHAR + self.METRIC_UPDATE_SUFFIX] = update
        return outputs

    @property
    def loss(self):
        return self._loss

    @property
    def predictions(self):
        return self._predictions

    @property
    def metrics(self):
        return self._metrics

    @abc.abstractmethod
    def _get_signature_def_fn(self):
        """The function that makes the SignatureDef."""

    def as_signature_def(self, receiver_tensors):
        return self._get_signature_def_fn()(receiver_tensors, self.loss, self.predictions, self.metrics)


class TrainOutput(_SupervisedOutput):
    """The outputs of a training graph."""

    def _get_signature_def_fn(self):
        return signature_def_utils.supervised_train_signature_def


class EvalOutput(_SupervisedOutput):
    """The outputs of an evaluation graph."""

    def _get_signature_def_fn(self):
        return signature_def_utils.supervised_eval_signature_def
