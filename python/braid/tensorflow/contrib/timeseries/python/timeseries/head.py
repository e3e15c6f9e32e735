"""The heads of models of time series: what Estimators train, evaluate, predict and export of them."""

import re

from braid.tensorflow.contrib.timeseries.python.timeseries import feature_keys
from braid.tensorflow.python.estimator import estimator_lib
from braid.tensorflow.python.estimator.canned import head as head_lib
from braid.tensorflow.python.estimator.canned import metric_keys
from braid.tensorflow.python.estimator.export import export_lib
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import metrics_impl
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import training_util
from braid.tensorflow.python.util import nest

_Times = feature_keys.Times.TIMES
_Values = feature_keys.Values.VALUES
_State = feature_keys.State
_Modes = estimator_lib.ModeKeys


class _NoStatePredictOutput(export_lib.PredictOutput):
    """An output whose signature has no inputs for the state."""

    def as_signature_def(self, receiver_tensors):
        inputs = {k: v for k, v in receiver_tensors.items() if not k.startswith(_State.STATE_PREFIX)}
        return super().as_signature_def(receiver_tensors=inputs)


class TimeSeriesRegressionHead(head_lib._Head):
    """The head of a model of a time series, which has the model and its state manager."""

    def __init__(self, model, state_manager, optimizer, input_statistics_generator=None, name=None):
        """A head; `input_statistics_generator` makes the statistics that the model scales its data by."""
        self.model = model
        self.state_manager = state_manager
        self.optimizer = optimizer
        self.input_statistics_generator = input_statistics_generator
        self._name = name

    @property
    def name(self):
        return self._name

    @property
    def logits_dimension(self):
        return 1

    def create_loss(self, features, mode, logits=None, labels=None):
        """The ModelOutputs of features: a model of a time series has no logits and no labels."""
        outputs = self.state_manager.define_loss(self.model, features, mode)
        summary.scalar(head_lib._summary_key(self._name, metric_keys.MetricKeys.LOSS), outputs.loss)
        return outputs

    def _train_ops(self, features):
        with variable_scope.variable_scope("model", use_resource=True):
            outputs = self.create_loss(features, _Modes.TRAIN)
        train_op = self.optimizer.minimize(outputs.loss, global_step=training_util.get_global_step())
        return estimator_lib.EstimatorSpec(loss=outputs.loss, mode=_Modes.TRAIN, train_op=train_op)

    def _evaluate_ops(self, features):
        """The EstimatorSpec of evaluation, whose metrics include the last batch's predictions and state."""
        with variable_scope.variable_scope("model", use_resource=True):
            outputs = self.create_loss(features, _Modes.EVAL)
        metrics = {key: _identity_metric_single(key, value) for key, value in outputs.predictions.items()}
        metrics[_Times] = _identity_metric_single(_Times, outputs.prediction_times)
        metrics[_State.STATE_TUPLE] = _identity_metric_nested(_State.STATE_TUPLE, outputs.end_state)
        metrics[metric_keys.MetricKeys.LOSS_MEAN] = metrics_impl.mean(outputs.loss, name="average_loss")
        return estimator_lib.EstimatorSpec(
            loss=outputs.loss,
            mode=_Modes.EVAL,
            eval_metric_ops=metrics,
            predictions=outputs.predictions,
        )

    def _predict_ops(self, features):
        with variable_scope.variable_scope("model", use_resource=True):
            prediction = self.model.predict(features=features)
        prediction[_Times] = features[_Times]
        return estimator_lib.EstimatorSpec(predictions=prediction, mode=_Modes.PREDICT)

    def _serving_ops(self, features):
        """The EstimatorSpec of an export: to predict, to filter after a state, and to filter without one."""
        with variable_scope.variable_scope("model", use_resource=True):
            predictions = self.model.predict(features=features)
        with variable_scope.variable_scope("model", reuse=True):
            filtered = self.create_loss(features, _Modes.EVAL)
        with variable_scope.variable_scope("model", reuse=True):
            stateless = {k: v for k, v in features.items() if not k.startswith(_State.STATE_PREFIX)}
            # Without the state manager: each element of the batch begins with the model's start state.
            cold = self.model.define_loss(features=stateless, mode=_Modes.EVAL)
        labels = feature_keys.SavedModelLabels
        return estimator_lib.EstimatorSpec(
            mode=_Modes.PREDICT,
            export_outputs={
                labels.PREDICT: export_lib.PredictOutput(predictions),
                labels.FILTER: export_lib.PredictOutput(state_to_dictionary(filtered.end_state)),
                labels.COLD_START_FILTER: _NoStatePredictOutput(state_to_dictionary(cold.end_state)),
            },
            predictions={},
        )

    def _convert_feature_to_tensor(self, name, value):
        if name == _Times:
            return math_ops.cast(value, dtypes.int64)
        if name == _Values:
            return math_ops.cast(value, self.model.dtype)
        if name == _State.STATE_TUPLE:
            return value  # the model knows its dtypes
        return sparse_tensor.convert_to_tensor_or_sparse_tensor(value)

    def _gather_state(self, features):
        """The features with a state that came in parts as one; and whether there were parts."""
        pattern = re.compile(f"^{_State.STATE_PREFIX}_(\\d+)$")
        parts = []
        for key in features:
            match = pattern.search(key)
            if match:
                parts.append((int(match.group(1)), key))
        if not parts:
            return features, False
        features = features.copy()
        flat = [features.pop(key) for _, key in sorted(parts)]
        features[_State.STATE_TUPLE] = nest.pack_sequence_as(self.model.get_start_state(), flat)
        return features, True

    def _check_predict_features(self, features, required=(_Times, _State.STATE_TUPLE), unchecked=()):
        """Raises ValueError for features that nothing can be predicted of."""
        for key in required:
            if key not in features:
                raise ValueError(f"Expected a '{key}' feature for prediction.")
        _check_times_shape(features[_Times])
        _check_feature_shapes_compatible_with(
            features=features,
            compatible_with_name=_Times,
            compatible_with_value=features[_Times],
            ignore={_State.STATE_TUPLE, *unchecked},
        )

    def create_estimator_spec(self, features, mode, labels=None):
        """The EstimatorSpec of features; this is a model_fn. There are no labels."""
        with ops.name_scope(self._name, "head"):
            if labels is not None and not (isinstance(labels, dict) and not labels):
                raise ValueError(
                    "The model received a `labels`, which is not supported. "
                    f"Pass '{_Times}' and '{_Values}' as features."
                )
            features = {
                name: self._convert_feature_to_tensor(name=name, value=value)
                for name, value in features.items()
            }
            statistics = None
            if self.input_statistics_generator is not None:
                statistics = self.input_statistics_generator.initialize_graph(
                    features, update_statistics=(mode == _Modes.TRAIN)
                )
            self.model.initialize_graph(input_statistics=statistics)
            features, state_came_in_parts = self._gather_state(features)
            if mode in (_Modes.TRAIN, _Modes.EVAL):
                _check_train_eval_features(features, self.model)
            elif mode == _Modes.PREDICT:
                self._check_predict_features(features)
            else:
                raise ValueError(f"Unknown mode '{mode}' passed to model_fn.")
            self.state_manager.initialize_graph(model=self.model, input_statistics=statistics)
            if mode == _Modes.TRAIN:
                return self._train_ops(features)
            if mode == _Modes.EVAL:
                return self._evaluate_ops(features)
            # A state comes in parts where a SavedModel is exported.
            return self._serving_ops(features) if state_came_in_parts else self._predict_ops(features)


class OneShotPredictionHead(TimeSeriesRegressionHead):
    """A head that exports one signature without a state.

    It takes values [batch, filtered, n] and times [batch, filtered + predicted] (and exogenous features for
    all of them), filters the first from the start state, and predicts the others.
    """

    def _check_predict_features(self, features):
        super()._check_predict_features(
            features, required=(_Times, _Values, _State.STATE_TUPLE), unchecked=(_Values,)
        )

    def _evaluate_ops(self, features):
        spec = super()._evaluate_ops(features)
        del spec.eval_metric_ops[_State.STATE_TUPLE]
        return spec

    def _serving_ops(self, features):
        with variable_scope.variable_scope("model", use_resource=True):
            filtered = array_ops.shape(features[_Values])[1]
            filtering, prediction = {}, {}
            for key, value in features.items():
                if key == _Values:
                    filtering[key] = value
                elif key != _State.STATE_TUPLE:
                    filtering[key] = value[:, :filtered]
                    prediction[key] = value[:, filtered:]
            outputs = self.model.define_loss(features=filtering, mode=_Modes.EVAL)
            prediction[_State.STATE_TUPLE] = outputs.end_state
        with variable_scope.variable_scope("model", reuse=True):
            predictions = self.model.predict(features=prediction)
        return estimator_lib.EstimatorSpec(
            mode=_Modes.PREDICT,
            export_outputs={feature_keys.SavedModelLabels.PREDICT: _NoStatePredictOutput(predictions)},
            predictions={},
        )


def _check_times_shape(times):
    if not times.get_shape().is_compatible_with([None, None]):
        raise ValueError(
            f"Expected shape (batch dimension, window size) for feature '{_Times}' "
            f"(got shape {times.get_shape()})"
        )


def _check_feature_shapes_compatible_with(features, compatible_with_name, compatible_with_value, ignore=None):
    """Raises ValueError for features whose first two dimensions are not those of the times."""
    for name, value in features.items():
        if ignore is not None and name in ignore:
            continue
        shape = value.get_shape()
        if shape.ndims is None:
            continue
        if shape.ndims < 2:
            raise ValueError(
                "Features must have shape (batch dimension, window size, ...) "
                f"(got rank {shape.ndims} for feature '{name}')"
            )
        if not shape[:2].is_compatible_with(compatible_with_value.get_shape()):
            raise ValueError(
                "Features must have shape (batch dimension, window size, ...) where batch dimension and "
                f"window size match the '{compatible_with_name}' feature (got shape {shape} for feature "
                f"'{name}' but shape {compatible_with_value.get_shape()} for feature "
                f"'{compatible_with_name}')"
            )


def _check_train_eval_features(features, model):
    """Raises ValueError for features that a model cannot be trained with."""
    for key in (_Times, _Values):
        if key not in features:
            raise ValueError(f"Expected a '{key}' feature for training/evaluation.")
    times = features[_Times]
    _check_times_shape(times)
    if not features[_Values].get_shape().is_compatible_with([None, None, model.num_features]):
        raise ValueError(
            f"Expected shape (batch dimension, window size, {model.num_features}) for feature '{_Values}', "
            f"since the model was configured with num_features={model.num_features} "
            f"(got shape {times.get_shape()})"
        )
    _check_feature_shapes_compatible_with(
        features=features,
        compatible_with_name=_Times,
        compatible_with_value=times,
        ignore={_State.STATE_TUPLE},
    )


def _identity_metric_single(name, input_tensor):
    """A metric that is the tensor of the last update, whatever its shape."""
    variable = variable_scope.variable(
        name=f"{name}_identity_metric",
        initial_value=array_ops.zeros([], dtype=input_tensor.dtype),
        collections=[ops.GraphKeys.LOCAL_VARIABLES],
        validate_shape=False,
    )
    update = state_ops.assign(variable, input_tensor, validate_shape=False)
    variable.set_shape(input_tensor.get_shape())
    return variable.value(), update


def _identity_metric_nested(name, input_tensors):
    """A metric of nested tensors."""
    metrics = [
        _identity_metric_single(f"{name}_{number}", tensor)
        for number, tensor in enumerate(nest.flatten(input_tensors))
    ]
    values = nest.pack_sequence_as(input_tensors, [value for value, _ in metrics])
    return values, control_flow_ops.group(*[update for _, update in metrics])


def state_to_dictionary(state_tuple):
    """The tensors of a state by the names that they have in SavedModels."""
    return {f"{_State.STATE_PREFIX}_{n:02d}": value for n, value in enumerate(nest.flatten(state_tuple))}
