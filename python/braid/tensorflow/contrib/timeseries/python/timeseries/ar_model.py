"""Autoregressive models: a window of the past, and the times, predict a window of what follows."""

from braid.tensorflow.contrib.rnn.python.ops import lstm_ops
from braid.tensorflow.contrib.timeseries.python.timeseries import math_utils
from braid.tensorflow.contrib.timeseries.python.timeseries import model
from braid.tensorflow.contrib.timeseries.python.timeseries import model_utils
from braid.tensorflow.contrib.timeseries.python.timeseries.feature_keys import PredictionFeatures
from braid.tensorflow.contrib.timeseries.python.timeseries.feature_keys import TrainEvalFeatures
from braid.tensorflow.python.estimator import estimator_lib
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras.engine import sequential
from braid.tensorflow.python.keras.engine import training
from braid.tensorflow.python.keras.layers import core
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import tensor_array_ops
from braid.tensorflow.python.ops import variable_scope


class FlatPredictionModel(training.Model):
    """Dense layers over both windows, flattened: a prediction model of ARModel."""

    def __init__(self, num_features, input_window_size, output_window_size, hidden_layer_sizes=None):
        """A linear model, or one with hidden layers of these sizes."""
        super().__init__()
        self._input_flatten = core.Flatten()
        self._output_flatten = core.Flatten()
        self._hidden_layers = None
        if hidden_layer_sizes:
            self._hidden_layers = sequential.Sequential(
                [core.Dense(size, activation=nn_ops.relu) for size in hidden_layer_sizes]
            )
        outputs = num_features * output_window_size
        self._mean_transform = core.Dense(outputs, name="predicted_mean")
        self._covariance_transform = core.Dense(outputs, name="log_sigma_square")
        self._prediction_shape = [-1, output_window_size, num_features]

    def call(self, input_window_features, output_window_features):
        """ "mean" and "covariance" (variances) [batch, output window, features]."""
        # A layer has no last dimension of what is reshaped from nothing: an empty window is left out.
        if input_window_features.shape.dims[1].value == 0:
            activation = self._output_flatten(output_window_features)
        elif output_window_features.shape.dims[2].value == 0:
            activation = self._input_flatten(input_window_features)
        else:
            windows = [
                self._input_flatten(input_window_features),
                self._output_flatten(output_window_features),
            ]
            activation = array_ops.concat(windows, axis=1)
        if self._hidden_layers:
            activation = self._hidden_layers(activation)
        mean = array_ops.reshape(self._mean_transform(activation), self._prediction_shape)
        variance = math_ops.exp(self._covariance_transform(activation))
        return {"mean": mean, "covariance": array_ops.reshape(variance, self._prediction_shape)}


class LSTMPredictionModel(training.Model):
    """An LSTM over the input window, whose last state begins another one over the output window."""

    def __init__(self, num_features, input_window_size, output_window_size, num_units=128):
        super().__init__()
        self._encoder = lstm_ops.LSTMBlockFusedCell(num_units=num_units, name="encoder")
        self._decoder = lstm_ops.LSTMBlockFusedCell(num_units=num_units, name="decoder")
        self._mean_transform = core.Dense(num_features, name="mean_transform")
        self._covariance_transform = core.Dense(num_features, name="covariance_transform")

    def call(self, input_window_features, output_window_features):
        """ "mean" and "covariance" (variances) [batch, output window, features]."""
        time_major = [1, 0, 2]
        inputs = array_ops.transpose(input_window_features, time_major)
        outputs = array_ops.transpose(output_window_features, time_major)
        _, state = self._encoder(inputs, dtype=self.dtype)
        decoded, _ = self._decoder(outputs, dtype=self.dtype, initial_state=state)
        decoded = array_ops.transpose(decoded, time_major)
        mean = self._mean_transform(decoded)
        return {"mean": mean, "covariance": math_ops.exp(self._covariance_transform(decoded))}


class ARModel(model.TimeSeriesModel):
    """A model that predicts `output_window_size` values of `input_window_size` values before them.

    The prediction model also sees features of the times: for each periodicity and each of its buckets,
    where in the bucket the time is (from 0 to 1), or 0 where it is in another. Without an input window, it
    sees the times alone.
    """

    SQUARED_LOSS = "squared_loss"
    NORMAL_LIKELIHOOD_LOSS = "normal_likelihood_loss"

    def __init__(
        self,
        periodicities,
        input_window_size,
        output_window_size,
        num_features,
        prediction_model_factory=FlatPredictionModel,
        num_time_buckets=10,
        loss=NORMAL_LIKELIHOOD_LOSS,
        exogenous_feature_columns=None,
    ):
        """An autoregressive model.

        periodicities: one period or several, in the unit of the times; or None.
        prediction_model_factory: a function of num_features, input_window_size and output_window_size to a
          Keras model, which takes the features of both windows and returns "mean" and "covariance".
        num_time_buckets: into how many buckets a period is divided.
        loss: NORMAL_LIKELIHOOD_LOSS, or SQUARED_LOSS, with which no variances are learned.
        """
        self._model_factory = prediction_model_factory
        self.input_window_size = input_window_size
        self.output_window_size = output_window_size
        self.window_size = input_window_size + output_window_size
        self.loss = loss
        super().__init__(num_features=num_features, exogenous_feature_columns=exogenous_feature_columns)
        self.exogenous_size = 0
        if exogenous_feature_columns is not None:
            self.exogenous_size = self._get_exogenous_embedding_shape()[-1]
        assert num_time_buckets > 0
        self._buckets = int(num_time_buckets)
        if not periodicities:
            periodicities = []
        elif not isinstance(periodicities, (list, tuple)):
            periodicities = [periodicities]
        self._periodicities = [int(period) for period in periodicities]
        assert all(period > 0 for period in self._periodicities)
        assert self._periodicities or self.input_window_size
        assert output_window_size > 0

    def initialize_graph(self, input_statistics=None):
        super().initialize_graph(input_statistics=input_statistics)
        # The slash leaves the scopes around it out: the model is called in a loop's scope, too, where its
        # variables have the same names.
        self._model_scope = variable_scope.variable_scope("model/", use_resource=True)
        self._model_instance = self._model_factory(
            num_features=self.num_features,
            input_window_size=self.input_window_size,
            output_window_size=self.output_window_size,
        )

    def get_start_state(self):
        """The last input window: its times, values and exogenous features."""
        size = self.input_window_size
        return (
            array_ops.zeros([size], dtype=dtypes.int64),
            array_ops.zeros([size, self.num_features], dtype=self.dtype),
            array_ops.zeros([size, self.exogenous_size], dtype=self.dtype),
        )

    def random_model_parameters(self, seed=None):
        """None: series are not generated of these models."""

    def generate(self, number_of_series, series_length, model_parameters=None, seed=None):
        """None: series are not generated of these models."""

    def _predicted_covariance_op(self, activations, num_values):
        """Variances [batch, output window, num_values] of the last of `activations` (tensor and size)."""
        activation, size = activations[-1]
        if self.loss != ARModel.NORMAL_LIKELIHOOD_LOSS:
            window = constant_op.constant(self.output_window_size)
            values = constant_op.constant(num_values)
            shape = array_ops.stack([array_ops.shape(activation)[0], window, values])
            return array_ops.ones(shape=shape, dtype=activation.dtype)
        logarithm = model_utils.fully_connected(
            activation,
            size,
            self.output_window_size * num_values,
            name="log_sigma_square",
            activation=None,
        )
        return array_ops.reshape(math_ops.exp(logarithm), [-1, self.output_window_size, num_values])

    def _predicted_mean_op(self, activations):
        """Means [batch, output window, features] of the last of `activations` (tensor and size)."""
        activation, size = activations[-1]
        mean = model_utils.fully_connected(
            activation,
            size,
            self.output_window_size * self.num_features,
            name="predicted_mean",
            activation=None,
        )
        return array_ops.reshape(mean, [-1, self.output_window_size, self.num_features])

    def prediction_ops(self, times, values, exogenous_regressors):
        """The predictions for windows: times [batch, window], values [batch, input window, features]."""
        times.get_shape().assert_is_compatible_with([None, self.window_size])
        batch_size = array_ops.shape(times)[0]
        if self.input_window_size:
            values.get_shape().assert_is_compatible_with([None, self.input_window_size, self.num_features])
        if exogenous_regressors is not None:
            exogenous_regressors.get_shape().assert_is_compatible_with(
                [None, self.window_size, self.exogenous_size]
            )
        sizes = (self.input_window_size, self.output_window_size)
        inputs, input_size = [], 0
        outputs, output_size = [], 0
        if self._periodicities:
            _, time_features = self._compute_time_features(times)
            count = self._buckets * len(self._periodicities)
            time_features = array_ops.reshape(time_features, [batch_size, self.window_size, count])
            before, behind = array_ops.split(time_features, sizes, axis=1)
            inputs.append(before)
            outputs.append(behind)
            input_size += count
            output_size += count
        if self.input_window_size:
            window = array_ops.slice(values, [0, 0, 0], [-1, self.input_window_size, -1])
            shape = [batch_size, self.input_window_size, self.num_features]
            inputs.append(array_ops.reshape(window, shape))
            input_size += self.num_features
        if self.exogenous_size:
            before, behind = array_ops.split(exogenous_regressors, sizes, axis=1)
            inputs.append(before)
            outputs.append(behind)
            input_size += self.exogenous_size
            output_size += self.exogenous_size
        assert inputs
        input_features = array_ops.concat(inputs, axis=2)
        if outputs:
            output_features = array_ops.concat(outputs, axis=2)
        else:
            output_features = array_ops.zeros([batch_size, self.output_window_size, 0], dtype=self.dtype)
        static_batch_size = times.get_shape().dims[0].value
        input_features.set_shape([static_batch_size, self.input_window_size, input_size])
        output_features.set_shape([static_batch_size, self.output_window_size, output_size])
        return self._output_window_predictions(input_features, output_features)

    def _output_window_predictions(self, input_window_features, output_window_features):
        with self._model_scope:
            predictions = self._model_instance(input_window_features, output_window_features)
            for prediction in predictions.values():
                prediction.set_shape([None, self.output_window_size, self.num_features])
            return predictions

    def loss_op(self, targets, prediction_ops):
        """The loss of a value, of targets and predictions [batch, output window, features]."""
        mean = prediction_ops["mean"]
        if self.loss == ARModel.NORMAL_LIKELIHOOD_LOSS:
            sigma = math_ops.sqrt(math_ops.maximum(prediction_ops["covariance"], 1e-5))
            total = -math_ops.reduce_sum(math_utils.normal_log_prob(targets, sigma, mean))
        else:
            assert self.loss == ARModel.SQUARED_LOSS, self.loss
            total = math_ops.reduce_sum(math_ops.squared_difference(mean, targets))
        return total / math_ops.cast(math_ops.reduce_prod(array_ops.shape(targets)), total.dtype)

    def _process_exogenous_features(self, times, features):
        """What the columns make of the features: [batch, window, exogenous_size], which may be 0."""
        embedded = super()._process_exogenous_features(times=times, features=features)
        if embedded is not None:
            return embedded
        assert self.exogenous_size == 0
        return array_ops.zeros(array_ops.concat([array_ops.shape(times), constant_op.constant([0])], axis=0))

    def predict(self, features):
        """Predicts one output window after the other, with the means of those before as the input.

        features: PredictionFeatures and exogenous features [batch, steps, ...]. The state may have more
        times than the input window.
        """
        if not self._graph_initialized:
            self.initialize_graph()
        times = math_ops.cast(ops.convert_to_tensor(features[PredictionFeatures.TIMES]), dtypes.int32)
        regressors = self._process_exogenous_features(
            times=times,
            features=model.without(
                features,
                TrainEvalFeatures.TIMES,
                TrainEvalFeatures.VALUES,
                PredictionFeatures.STATE_TUPLE,
            ),
        )
        as_many = check_ops.assert_equal(array_ops.shape(times)[1], array_ops.shape(regressors)[1])
        with ops.control_dependencies([as_many]):
            regressors = array_ops.identity(regressors)
        batch_size = array_ops.shape(times)[0]
        steps = array_ops.shape(times)[1]
        input_size, output_size = self.input_window_size, self.output_window_size
        iterations = (steps + output_size - 1) // output_size
        # The last window may reach behind the last step.
        padding = iterations * output_size - steps
        times = array_ops.pad(times, [[0, 0], [0, padding]])
        regressors = array_ops.pad(regressors, [[0, 0], [0, padding], [0, 0]])
        state_times, state_values, state_regressors = features[PredictionFeatures.STATE_TUPLE]
        state_times = math_ops.cast(ops.convert_to_tensor(state_times), dtypes.int32)
        state_values = ops.convert_to_tensor(state_values, dtype=self.dtype)
        state_regressors = ops.convert_to_tensor(state_regressors, dtype=self.dtype)

        first_times = times[:, :output_size]
        first_regressors = regressors[:, :output_size, :]
        first_values = 0
        if input_size > 0:
            first_times = array_ops.concat([state_times[:, -input_size:], first_times], 1)
            values_size = array_ops.shape(state_values)[1]
            times_size = array_ops.shape(state_times)[1]
            checks = [
                check_ops.assert_greater_equal(values_size, input_size),
                check_ops.assert_equal(values_size, times_size),
            ]
            with ops.control_dependencies(checks):
                first_values = state_values[:, -input_size:, :]
                first_regressors = array_ops.concat(
                    [state_regressors[:, -input_size:, :], first_regressors[:, :output_size, :]], axis=1
                )

        def next_window(tensor, following, offset):
            """The window [input + output] whose output begins at `offset` of `following`."""
            if input_size and output_size < input_size:
                return array_ops.concat(
                    [tensor[:, -input_size:], following[:, offset : offset + output_size]], axis=1
                )
            return following[:, offset - input_size : offset + output_size]

        def body(iteration, window_times, window_values, window_regressors, means, variances):
            predictions = self.prediction_ops(window_times, window_values, window_regressors)
            mean = predictions["mean"]
            # After the last window there is none: it is sliced again and not used.
            offset = output_size * math_ops.minimum(iteration + 1, iterations - 1)
            new_values = window_values
            if input_size and output_size < input_size:
                new_values = array_ops.concat([window_values[:, output_size:, :], mean], 1)
            elif input_size:
                new_values = mean[:, -input_size:, :]
            new_regressors = next_window(window_regressors, regressors, offset)
            new_times = next_window(window_times, times, offset)
            new_times.set_shape(first_times.get_shape())
            new_regressors.set_shape(first_regressors.get_shape())
            means = means.write(iteration, mean)
            if isinstance(variances, tensor_array_ops.TensorArray):
                variances = variances.write(iteration, predictions["covariance"])
            return iteration + 1, new_times, new_values, new_regressors, means, variances

        def array():
            return tensor_array_ops.TensorArray(dtype=self.dtype, size=iterations)

        has_variances = self.loss != ARModel.SQUARED_LOSS
        variances = array() if has_variances else 0.0
        _, _, _, _, means, variances = control_flow_ops.while_loop(
            lambda iteration, *_: math_ops.less(iteration, iterations),
            body,
            [0, first_times, first_values, first_regressors, array(), variances],
        )

        def joined(windows):
            length = iterations * output_size
            values = array_ops.transpose(windows.stack(), [1, 0, 2, 3])
            values = array_ops.reshape(values, array_ops.stack([batch_size, length, -1]))
            return values[:, :steps, :]

        mean = joined(means)
        variance = joined(variances) if has_variances else array_ops.ones_like(mean)
        return {
            "mean": self._scale_back_data(mean),
            "covariance": self._scale_back_variance(variance),
        }

    def _process_window(self, features, mode, exogenous_regressors):
        """The ModelOutputs of one window."""
        times = math_ops.cast(features[TrainEvalFeatures.TIMES], dtypes.int64)
        original_values = math_ops.cast(features[TrainEvalFeatures.VALUES], dtype=self.dtype)
        exogenous_regressors = math_ops.cast(exogenous_regressors, dtype=self.dtype)
        if not times.get_shape().is_compatible_with([None, self.window_size]):
            raise ValueError(
                f"ARModel with input_window_size={self.input_window_size} and "
                f"output_window_size={self.output_window_size} expects feature '{TrainEvalFeatures.TIMES}' "
                f"to have shape (batch_size, {self.window_size}) (for any batch_size), but got shape "
                f"{times.get_shape()}. If you are using RandomWindowInputFn, set "
                f"window_size={self.window_size} or adjust the input_window_size and output_window_size "
                "arguments to ARModel."
            )
        values = self._scale_data(original_values)
        inputs = values[:, : self.input_window_size, :] if self.input_window_size > 0 else None
        predictions = self.prediction_ops(times, inputs, exogenous_regressors)
        mean = predictions["mean"]
        targets = array_ops.slice(values, [0, self.input_window_size, 0], [-1, -1, -1])
        targets.get_shape().assert_is_compatible_with(mean.get_shape())
        if mode == estimator_lib.ModeKeys.EVAL and self.loss == ARModel.SQUARED_LOSS:
            # An evaluation's squares are on the scale of the series.
            unscaled = {"mean": self._scale_back_data(mean)}
            loss = self.loss_op(self._scale_back_data(targets), unscaled)
        else:
            loss = self.loss_op(targets, predictions)
        mean = self._scale_back_data(mean)
        variance = self._scale_back_variance(predictions["covariance"])
        return model.ModelOutputs(
            loss=loss,
            end_state=(
                times[:, -self.input_window_size :],
                values[:, -self.input_window_size :, :],
                exogenous_regressors[:, -self.input_window_size :, :],
            ),
            predictions={
                "mean": mean,
                "covariance": variance,
                "observed": original_values[:, -self.output_window_size :],
            },
            prediction_times=times[:, -self.output_window_size :],
        )

    def get_batch_loss(self, features, mode, state):
        """The ModelOutputs: of one window for training; for evaluation of as many as there are."""
        features = {name: ops.convert_to_tensor(value) for name, value in features.items()}
        regressors = self._process_exogenous_features(
            times=features[TrainEvalFeatures.TIMES],
            features=model.without(
                features,
                TrainEvalFeatures.TIMES,
                TrainEvalFeatures.VALUES,
                PredictionFeatures.STATE_TUPLE,
            ),
        )
        if mode == estimator_lib.ModeKeys.TRAIN:
            return self._process_window(features, mode=mode, exogenous_regressors=regressors)
        if mode == estimator_lib.ModeKeys.EVAL:
            return self._process_windows(features, regressors, state)
        raise ValueError(f"Unknown mode '{mode}' passed to get_batch_loss.")

    def _process_windows(self, features, regressors, state):
        """The ModelOutputs of all output windows of longer ones; what is too much is left out in front."""
        times = features[TrainEvalFeatures.TIMES]
        times.get_shape().assert_has_rank(2)
        static_size = times.get_shape().dims[1].value
        if static_size is not None and static_size < self.window_size:
            raise ValueError(
                "ARModel requires a window of at least input_window_size + output_window_size to evaluate "
                f"on (input_window_size={self.input_window_size}, "
                f"output_window_size={self.output_window_size}, and got shape {times.get_shape()} for "
                f"feature '{TrainEvalFeatures.TIMES}' (batch size, window size))."
            )
        iterations = (array_ops.shape(times)[1] - self.input_window_size) // self.output_window_size
        predicted = iterations * self.output_window_size
        used = predicted + self.input_window_size
        features = {name: value[:, -used:] for name, value in features.items()}

        def body(iteration, losses, means, variances):
            start = iteration * self.output_window_size
            end = start + self.window_size
            outputs = self._process_window(
                features={name: value[:, start:end] for name, value in features.items()},
                mode=estimator_lib.ModeKeys.EVAL,
                exogenous_regressors=regressors[:, start:end],
            )
            assert set(outputs.predictions) == {"mean", "covariance", "observed"}
            return (
                iteration + 1,
                losses.write(iteration, outputs.loss),
                means.write(iteration, outputs.predictions["mean"]),
                variances.write(iteration, outputs.predictions["covariance"]),
            )

        arrays = [tensor_array_ops.TensorArray(dtype=self.dtype, size=iterations) for _ in range(3)]
        _, losses, means, variances = control_flow_ops.while_loop(
            lambda iteration, *_: iteration < iterations, body, [0, *arrays]
        )
        values = math_ops.cast(features[TrainEvalFeatures.VALUES], dtype=self.dtype)
        shape = [array_ops.shape(times)[0], self.output_window_size * iterations, self.num_features]

        def joined(array):
            return array_ops.reshape(array_ops.transpose(array.stack(), [1, 0, 2, 3]), shape)

        return model.ModelOutputs(
            loss=math_ops.reduce_mean(losses.stack(), axis=0),
            end_state=self._following_state(state, times, values, regressors),
            predictions={
                "mean": joined(means),
                "covariance": joined(variances),
                "observed": values[:, -predicted:],
            },
            prediction_times=times[:, -predicted:],
        )

    def _following_state(self, state, times, values, regressors):
        """The last input window of the state and what was observed after it."""
        size = self.input_window_size
        if size == 0:
            return tuple(state)
        new_times, new_values, new_regressors = state
        new_times = array_ops.concat([new_times, math_ops.cast(times, dtype=dtypes.int64)], axis=1)
        new_times = new_times[:, -size:]
        new_times.set_shape((None, size))
        new_values = array_ops.concat([new_values, self._scale_data(values)], axis=1)[:, -size:, :]
        new_values.set_shape((None, size, self.num_features))
        new_regressors = array_ops.concat([new_regressors, regressors], axis=1)[:, -size:, :]
        new_regressors.set_shape((None, size, self.exogenous_size))
        return new_times, new_values, new_regressors

    def _compute_time_features(self, time):
        """How many periods passed, and the buckets: [batch, n, periodicities, 1] and [..., buckets]."""
        batch_size = array_ops.shape(time)[0]
        count = len(self._periodicities)
        periods = constant_op.constant(self._periodicities, shape=[1, 1, count, 1], dtype=time.dtype)
        time = array_ops.reshape(time, [batch_size, -1, 1, 1])
        passed = time / self._periodicities
        phase = math_ops.cast(time % periods, self.dtype) * self._buckets
        phase /= math_ops.cast(periods, self.dtype)
        buckets = array_ops.reshape(math_ops.range(self._buckets, dtype=self.dtype), [1, 1, 1, self._buckets])
        within = nn_ops.relu(phase - buckets)
        return passed, array_ops.where_v2(within < 1.0, within, array_ops.zeros_like(within))


class AnomalyMixtureARModel(ARModel):
    """An ARModel of series with anomalies: values that are of another distribution with some probability."""

    GAUSSIAN_ANOMALY = "gaussian"
    CAUCHY_ANOMALY = "cauchy"

    def __init__(
        self,
        periodicities,
        anomaly_prior_probability,
        input_window_size,
        output_window_size,
        num_features,
        prediction_model_factory=FlatPredictionModel,
        anomaly_distribution=GAUSSIAN_ANOMALY,
        num_time_buckets=10,
        exogenous_feature_columns=None,
    ):
        """A model as ARModel's with the likelihood of a mixture.

        anomaly_prior_probability: the probability of an anomaly, between 0 and 1.
        anomaly_distribution: the distribution of anomalies around the prediction, whose scale is learned.
        """
        assert 0.0 < anomaly_prior_probability < 1.0
        assert anomaly_distribution in (self.GAUSSIAN_ANOMALY, self.CAUCHY_ANOMALY)
        self._anomaly_prior_probability = anomaly_prior_probability
        self._anomaly_distribution = anomaly_distribution
        super().__init__(
            periodicities=periodicities,
            num_features=num_features,
            num_time_buckets=num_time_buckets,
            input_window_size=input_window_size,
            output_window_size=output_window_size,
            loss=ARModel.NORMAL_LIKELIHOOD_LOSS,
            prediction_model_factory=prediction_model_factory,
            exogenous_feature_columns=exogenous_feature_columns,
        )

    def _create_anomaly_ops(self, times, values, prediction_ops_dict):
        logarithm = variable_scope.get_variable(
            "anomaly_log_param", shape=[], dtype=self.dtype, initializer=init_ops.zeros_initializer()
        )
        prediction_ops_dict["anomaly_params"] = math_ops.exp(logarithm)

    def prediction_ops(self, times, values, exogenous_regressors):
        predictions = super().prediction_ops(times, values, exogenous_regressors)
        self._create_anomaly_ops(times, values, predictions)
        return predictions

    def _anomaly_log_prob(self, targets, prediction_ops):
        mean, scale = prediction_ops["mean"], prediction_ops["anomaly_params"]
        if self._anomaly_distribution == self.CAUCHY_ANOMALY:
            return math_utils.cauchy_log_prob(targets, scale, mean)
        sigma = math_ops.sqrt(math_ops.maximum(scale, 1e-5))
        return math_utils.normal_log_prob(targets, sigma, mean)

    def loss_op(self, targets, prediction_ops):
        probability = self._anomaly_prior_probability
        sigma = math_ops.sqrt(math_ops.maximum(prediction_ops["covariance"], 1e-5))
        normal = math_utils.normal_log_prob(targets, sigma, prediction_ops["mean"])
        normal += math_ops.log(1 - probability)
        anomaly = self._anomaly_log_prob(targets, prediction_ops) + math_ops.log(probability)
        smaller = math_ops.minimum(normal, anomaly)
        larger = math_ops.maximum(normal, anomaly)
        mixed = larger + math_ops.log(1 + math_ops.exp(smaller - larger))
        total = -math_ops.reduce_sum(mixed)
        return total / math_ops.cast(math_ops.reduce_prod(array_ops.shape(targets)), self.dtype)
