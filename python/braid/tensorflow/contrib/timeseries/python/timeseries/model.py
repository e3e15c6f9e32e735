"""The interface of models of time series, and those that go over a window step by step."""

import abc
import collections

from braid.tensorflow.contrib.timeseries.python.timeseries import math_utils
from braid.tensorflow.contrib.timeseries.python.timeseries.feature_keys import PredictionFeatures
from braid.tensorflow.contrib.timeseries.python.timeseries.feature_keys import TrainEvalFeatures
from braid.tensorflow.python.feature_column import feature_column_lib as feature_column
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import parsing_ops
from braid.tensorflow.python.ops import tensor_array_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.util import nest

ModelOutputs = collections.namedtuple(
    "ModelOutputs",
    [
        "loss",  # a scalar
        "end_state",  # the state after the data: nested tensors [batch, ...]
        "predictions",  # a dictionary of tensors [batch, window, ...]
        "prediction_times",  # the times that they are of: [batch, window]
    ],
)


def without(features, *keys):
    """The features but for those of the keys: the exogenous ones, for the right keys."""
    return {key: value for key, value in features.items() if key not in keys}


class TimeSeriesModel(metaclass=abc.ABCMeta):
    """A generative model of a time series."""

    def __init__(self, num_features, exogenous_feature_columns=None, dtype=dtypes.float32):
        """A model of `num_features` values at each time.

        exogenous_feature_columns: columns of features that are known of each time and are not predicted.
        """
        self._exogenous_feature_columns = exogenous_feature_columns or []
        self.num_features = num_features
        self.dtype = dtype
        self._input_statistics = None
        self._graph_initialized = False
        self._stats_means = None
        self._stats_sigmas = None

    @property
    def exogenous_feature_columns(self):
        """The columns of features that are not predicted."""
        return self._exogenous_feature_columns

    def generate(self, number_of_series, series_length, model_parameters=None, seed=None):
        """Samples of series, as a dictionary of times and values. model_parameters replace the learned."""
        raise NotImplementedError("This model does not support generation.")

    def initialize_graph(self, input_statistics=None):
        """Begins the model in the default graph, with the InputStatistics that it scales the data by."""
        self._graph_initialized = True
        self._input_statistics = input_statistics
        if input_statistics:
            self._stats_means, variances = input_statistics.overall_feature_moments
            self._stats_sigmas = math_ops.sqrt(variances)

    def _scale_data(self, data):
        """Values of the series, on the model's scale."""
        if self._input_statistics is None:
            return data
        return (data - self._stats_means) / self._stats_sigmas

    def _scale_variance(self, variance):
        if self._input_statistics is None:
            return variance
        return variance / self._input_statistics.overall_feature_moments.variance

    def _scale_back_data(self, data):
        """Values of the model, on the scale of the series."""
        if self._input_statistics is None:
            return data
        return data * self._stats_sigmas + self._stats_means

    def _scale_back_variance(self, variance):
        if self._input_statistics is None:
            return variance
        return variance * self._input_statistics.overall_feature_moments.variance

    def _check_graph_initialized(self):
        if not self._graph_initialized:
            raise ValueError(
                "TimeSeriesModels require initialize_graph() to be called before use. This defines variables "
                "and ops in the default graph, and allows Tensor-valued input statistics to be specified."
            )

    def define_loss(self, features, mode):
        """The ModelOutputs of windows that all begin with the start state."""
        self._check_graph_initialized()
        start_state = math_utils.replicate_state(
            start_state=self.get_start_state(),
            batch_size=array_ops.shape(features[TrainEvalFeatures.TIMES])[0],
        )
        return self.get_batch_loss(features=features, mode=mode, state=start_state)

    @abc.abstractmethod
    def get_start_state(self):
        """The state before the series: nested tensors, without a dimension of batches."""

    @abc.abstractmethod
    def get_batch_loss(self, features, mode, state):
        """The ModelOutputs of windows that begin with `state` (tensors [batch, ...])."""

    @abc.abstractmethod
    def predict(self, features):
        """Predictions for the times of PredictionFeatures, after their state."""

    def _get_exogenous_embedding_shape(self):
        """The shape of what the columns make of one time."""
        if not self._exogenous_feature_columns:
            return (0,)
        with ops.Graph().as_default():
            serialized = array_ops.placeholder(shape=[None], dtype=dtypes.string)
            spec = feature_column.make_parse_example_spec(self._exogenous_feature_columns)
            embedded = feature_column.input_layer(
                features=parsing_ops.parse_example(serialized=serialized, features=spec),
                feature_columns=self._exogenous_feature_columns,
            )
            return embedded.get_shape().as_list()[1:]

    def _process_exogenous_features(self, times, features):
        """What the columns make of features [batch, window, ...]: [batch, window, n], or None."""
        if not self._exogenous_feature_columns:
            return None
        rows = {}
        for name, tensor in features.items():
            if tensor.get_shape().ndims is None:
                raise ValueError(
                    "Features with unknown rank are not supported. "
                    f"Got shape {tensor.get_shape()} for feature {name}."
                )
            shape = array_ops.shape(tensor)
            tensor = array_ops.reshape(tensor, array_ops.concat([[shape[0] * shape[1]], shape[2:]], axis=0))
            if tensor.get_shape().ndims == 1 and tensor.dtype != dtypes.string:
                tensor = tensor[:, None]
            rows[name] = tensor
        embedded = feature_column.input_layer(
            features=rows, feature_columns=self._exogenous_feature_columns, trainable=True
        )
        regressors = array_ops.reshape(
            embedded, array_ops.concat([array_ops.shape(times), array_ops.shape(embedded)[1:]], axis=0)
        )
        regressors.set_shape(times.get_shape().concatenate(embedded.get_shape()[1:]))
        return math_ops.cast(regressors, dtype=self.dtype)


class _StepsInGraph:
    """The part of a TensorArray's interface that a loop needs which is unrolled in the graph."""

    def __init__(self):
        self.values = []

    def write(self, _, value):
        self.values.append(value)
        return self


class SequentialTimeSeriesModel(TimeSeriesModel):
    """A model that is defined by what it does at one time, which it repeats over a window.

    At each time, the state is brought to it (_imputation_step), changed by exogenous features
    (_exogenous_input_step) and predicts (_prediction_step); filtering also changes it by what is observed
    (_filtering_step).
    """

    def __init__(
        self,
        train_output_names,
        predict_output_names,
        num_features,
        normalize_features=False,
        dtype=dtypes.float32,
        exogenous_feature_columns=None,
        exogenous_update_condition=None,
        static_unrolling_window_size_threshold=None,
    ):
        """A sequential model.

        train_output_names, predict_output_names: the keys of what _filtering_step returns beside the loss,
          and of _prediction_step's.
        normalize_features: values are scaled, and _scale_back_predictions is defined.
        exogenous_update_condition: a function of `times` [batch] and `features`, tensors [batch, ...], to
          booleans [batch]: which elements are changed by exogenous features.
        static_unrolling_window_size_threshold: the largest window whose steps are nodes of their own;
          longer ones, and all for None, are loops.
        """
        super().__init__(
            num_features=num_features, dtype=dtype, exogenous_feature_columns=exogenous_feature_columns
        )
        self._exogenous_update_condition = exogenous_update_condition
        self._train_output_names = train_output_names
        self._predict_output_names = predict_output_names
        self._normalize_features = normalize_features
        self._static_unrolling_window_size_threshold = static_unrolling_window_size_threshold

    def _scale_back_predictions(self, predictions):
        raise NotImplementedError(
            "SequentialTimeSeriesModel normalized input data (normalize_features=True), but no method was "
            "provided to transform the predictions back to the input scale."
        )

    @abc.abstractmethod
    def _filtering_step(self, current_times, current_values, state, predictions):
        """The state after an observation, and the outputs: the predictions, with "loss" [batch]."""

    @abc.abstractmethod
    def _prediction_step(self, current_times, state):
        """The state and a dictionary of predictions for times [batch] to which the state was brought."""

    @abc.abstractmethod
    def _imputation_step(self, current_times, state):
        """The state at times [batch], without what was observed since the state's own."""

    @abc.abstractmethod
    def _exogenous_input_step(self, current_times, current_exogenous_regressors, state):
        """The state after exogenous regressors [batch, n] were seen."""

    def _loss_additions(self, times, values, mode):
        """What is added to the loss of an observation: regularization."""
        return 0.0

    def _window_initializer(self, times, state):
        """Prepares the steps of a window."""

    def get_batch_loss(self, features, mode, state):
        loss, states, outputs = self.per_step_batch_loss(features, mode, state)
        last = [element[:, -1] for element in nest.flatten(states)]
        outputs["observed"] = features[TrainEvalFeatures.VALUES]
        return ModelOutputs(
            loss=loss,
            end_state=nest.pack_sequence_as(states, last),
            predictions=outputs,
            prediction_times=features[TrainEvalFeatures.TIMES],
        )

    def _apply_exogenous_update(
        self, current_times, step_number, state, raw_features, embedded_exogenous_regressors
    ):
        """The state after the exogenous features of a step, of those elements that the condition selects."""
        if embedded_exogenous_regressors is None:
            return state
        updated = self._exogenous_input_step(
            current_times=current_times,
            current_exogenous_regressors=embedded_exogenous_regressors[:, step_number, :],
            state=state,
        )
        if self._exogenous_update_condition is None:
            return updated
        exogenous = without(
            raw_features,
            PredictionFeatures.STATE_TUPLE,
            TrainEvalFeatures.TIMES,
            TrainEvalFeatures.VALUES,
        )
        current = {key: value[:, step_number] for key, value in exogenous.items()}
        selected = []
        for new, old in zip(nest.flatten(updated), nest.flatten(state)):
            condition = self._exogenous_update_condition(times=current_times, features=current)
            selected.append(array_ops.where(condition, new, old))
        return nest.pack_sequence_as(state, selected)

    def per_step_batch_loss(self, features, mode, state):
        """The loss of an observation, the states after each step, and the outputs: [batch, window, ...]."""
        self._check_graph_initialized()
        times = math_ops.cast(features[TrainEvalFeatures.TIMES], dtype=dtypes.int64)
        values = math_ops.cast(features[TrainEvalFeatures.VALUES], dtype=self.dtype)
        if self._normalize_features:
            values = self._scale_data(values)
        regressors = self._process_exogenous_features(
            times=times,
            features=without(features, TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES),
        )

        def predict_and_filter(step_number, current_times, state):
            current_values = values[:, step_number, :]
            state = self._apply_exogenous_update(
                step_number=step_number,
                current_times=current_times,
                state=state,
                raw_features=features,
                embedded_exogenous_regressors=regressors,
            )
            state, predictions = self._prediction_step(current_times=current_times, state=state)
            return self._filtering_step(
                current_times=current_times,
                current_values=current_values,
                state=state,
                predictions=predictions,
            )

        states, outputs = self._state_update_loop(
            times=times,
            state=state,
            state_update_fn=predict_and_filter,
            outputs=["loss"] + self._train_output_names,
        )
        losses = outputs.pop("loss")
        losses.set_shape(times.get_shape())
        total = math_ops.reduce_sum(losses)
        loss = total / math_ops.cast(math_ops.reduce_prod(array_ops.shape(times)), dtype=self.dtype)
        loss += self._loss_additions(times, values, mode)
        if self._normalize_features:
            outputs = self._scale_back_predictions(outputs)
        return loss, states, outputs

    def predict(self, features):
        times = ops.convert_to_tensor(features[PredictionFeatures.TIMES], dtypes.int64)
        regressors = self._process_exogenous_features(
            times=times,
            features=without(features, PredictionFeatures.TIMES, PredictionFeatures.STATE_TUPLE),
        )

        def predict_step(step_number, current_times, state):
            state = self._apply_exogenous_update(
                step_number=step_number,
                current_times=current_times,
                state=state,
                raw_features=features,
                embedded_exogenous_regressors=regressors,
            )
            return self._prediction_step(current_times=current_times, state=state)

        _, predictions = self._state_update_loop(
            times=times,
            state=features[PredictionFeatures.STATE_TUPLE],
            state_update_fn=predict_step,
            outputs=self._predict_output_names,
        )
        if self._normalize_features:
            predictions = self._scale_back_predictions(predictions)
        return predictions

    def _is_unrolled(self, window_size):
        threshold = self._static_unrolling_window_size_threshold
        return threshold is not None and window_size is not None and window_size <= threshold

    def _state_update_loop(self, times, state, state_update_fn, outputs):
        """Goes over times [batch, window]; returns the states and the outputs of all steps.

        state_update_fn: a function of step_number, current_times [batch] and state, to the state and a
        dictionary whose keys are `outputs`.
        """
        times = ops.convert_to_tensor(times, dtype=dtypes.int64)
        static_window_size = tensor_shape.dimension_value(times.shape[1])
        unrolled = self._is_unrolled(static_window_size)
        self._window_initializer(times, state)

        def step(step_number, state, state_arrays, output_arrays, reuse=False):
            with variable_scope.variable_scope("state_update_step", reuse=reuse):
                current_times = times[:, step_number]
                state = self._imputation_step(current_times=current_times, state=state)
                new_state, values = state_update_fn(
                    step_number=step_number, current_times=current_times, state=state
                )
                assert set(values) == set(outputs)
                new_outputs = [
                    array.write(step_number, values[key]) for key, array in zip(outputs, output_arrays)
                ]
                flat = nest.flatten(new_state)
                assert len(state_arrays) == len(flat)
                new_arrays = []
                for element, array, before in zip(flat, state_arrays, nest.flatten(state)):
                    element.set_shape(before.get_shape())  # a loop's variables keep their shapes
                    new_arrays.append(array.write(step_number, element))
                return step_number + 1, nest.pack_sequence_as(state, flat), new_arrays, new_outputs

        window_size = array_ops.shape(times)[1]

        def array(dtype):
            if unrolled:
                return _StepsInGraph()
            return tensor_array_ops.TensorArray(dtype=dtype, size=window_size, dynamic_size=False)

        arguments = [
            array_ops.zeros([], dtypes.int32),
            state,
            [array(element.dtype) for element in nest.flatten(state)],
            [array(self.dtype) for _ in outputs],
        ]
        if unrolled:
            for number in range(static_window_size):
                number_tensor = constant_op.constant(number, dtypes.int32)
                arguments = step(number_tensor, *arguments[1:], reuse=number > 0)
        else:
            arguments = control_flow_ops.while_loop(
                cond=lambda step_number, *_: math_ops.less(step_number, window_size),
                body=step,
                loop_vars=arguments,
            )
        _, _, state_arrays, output_arrays = arguments

        def batch_major(array):
            if unrolled:
                return array_ops.stack(array.values, axis=1)
            stacked = array.stack()
            others = math_ops.range(2, array_ops.rank(stacked))
            return array_ops.transpose(stacked, perm=array_ops.concat([[1, 0], others], 0))

        values = {key: batch_major(array) for key, array in zip(outputs, output_arrays)}
        return nest.pack_sequence_as(state, [batch_major(a) for a in state_arrays]), values
