"""The Estimators of time series."""

import functools

from braid.tensorflow.contrib.timeseries.python.timeseries import ar_model
from braid.tensorflow.contrib.timeseries.python.timeseries import feature_keys
from braid.tensorflow.contrib.timeseries.python.timeseries import head as ts_head_lib
from braid.tensorflow.contrib.timeseries.python.timeseries import math_utils
from braid.tensorflow.contrib.timeseries.python.timeseries import state_management
from braid.tensorflow.contrib.timeseries.python.timeseries.state_space_models import state_space_model
from braid.tensorflow.contrib.timeseries.python.timeseries.state_space_models import structural_ensemble
from braid.tensorflow.contrib.timeseries.python.timeseries.state_space_models.filtering_postprocessor import (
    StateInterpolatingAnomalyDetector,
)
from braid.tensorflow.python.estimator import estimator_lib
from braid.tensorflow.python.estimator.canned import optimizers
from braid.tensorflow.python.estimator.export import export_lib
from braid.tensorflow.python.feature_column import feature_column_lib as feature_column
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import parsing_ops
from braid.tensorflow.python.training import training as train
from braid.tensorflow.python.util import nest

_TIMES = feature_keys.TrainEvalFeatures.TIMES
_VALUES = feature_keys.TrainEvalFeatures.VALUES


class TimeSeriesRegressor(estimator_lib.Estimator):
    """The Estimator of a TimeSeriesModel."""

    def __init__(
        self,
        model,
        state_manager=None,
        optimizer=None,
        model_dir=None,
        config=None,
        head_type=ts_head_lib.TimeSeriesRegressionHead,
    ):
        """An Estimator of a model.

        state_manager: None: FilteringOnlyStateManager for an ARModel, PassthroughStateManager for others.
        optimizer: None: Adam with a learning rate of 0.02.
        head_type: TimeSeriesRegressionHead or a class derived from it, as OneShotPredictionHead.
        """
        if state_manager is None:
            if isinstance(model, ar_model.ARModel):
                state_manager = state_management.FilteringOnlyStateManager()
            else:
                state_manager = state_management.PassthroughStateManager()
        self._model = model
        head = head_type(
            model=model,
            state_manager=state_manager,
            optimizer=train.AdamOptimizer(0.02) if optimizer is None else optimizer,
            input_statistics_generator=math_utils.InputStatisticsFromMiniBatch(
                dtype=model.dtype, num_features=model.num_features
            ),
        )
        super().__init__(model_fn=head.create_estimator_spec, model_dir=model_dir, config=config)

    def _model_start_state_placeholders(self, batch_size_tensor, static_batch_size=None):
        """Placeholders for the parts of a state, whose defaults are zeros."""

        def zeros(tensor):
            return tensor_util.constant_value(array_ops.zeros_like(tensor))

        with ops.Graph().as_default():
            self._model.initialize_graph()
            start_state = nest.map_structure(zeros, self._model.get_start_state())
        placeholders = {}
        for name, state in ts_head_lib.state_to_dictionary(start_state).items():
            ones = array_ops.ones(len(state.shape), dtype=dtypes.int32)
            multiples = array_ops.concat([batch_size_tensor[None], ones], axis=0)
            placeholders[name] = array_ops.placeholder_with_default(
                input=array_ops.tile(state[None, ...], multiples=multiples),
                name=name,
                shape=tensor_shape.TensorShape((static_batch_size,)).concatenate(state.shape),
            )
        return placeholders

    def build_one_shot_parsing_serving_input_receiver_fn(
        self,
        filtering_length,
        prediction_length,
        default_batch_size=None,
        values_input_dtype=None,
        truncate_values=False,
    ):
        """An input receiver of Examples, a series in each, to export a model with a OneShotPredictionHead.

        filtering_length, prediction_length: how many values come, and how many are predicted. Times and
          exogenous features are of both; with `truncate_values` there are values of both, too, and the last
          are not used.
        default_batch_size: None: any.
        values_input_dtype: the dtype of the values in the Examples, float32 for None.
        """
        length = filtering_length + prediction_length
        values_length = length if truncate_values else filtering_length
        values_dtype = dtypes.float32 if values_input_dtype is None else values_input_dtype

        def spec_of_series(key, spec):
            """The spec of a feature of all times, of the spec of one time."""
            if isinstance(spec, parsing_ops.FixedLenFeature):
                times = values_length if key == _VALUES else length
                return spec._replace(shape=(times,) + tuple(spec.shape))
            if spec.dtype == dtypes.string:
                return parsing_ops.FixedLenFeature(shape=(length,), dtype=dtypes.string)
            raise ValueError(f"VarLenFeatures not supported, got {spec} for key {key}")

        def _serving_input_receiver_fn():
            columns = list(self._model.exogenous_feature_columns)
            columns.append(feature_column.numeric_column(key=_TIMES, dtype=dtypes.int64))
            columns.append(
                feature_column.numeric_column(
                    key=_VALUES, dtype=values_dtype, shape=(self._model.num_features,)
                )
            )
            specs = feature_column.make_parse_example_spec(columns)
            examples = array_ops.placeholder(shape=[default_batch_size], dtype=dtypes.string, name="input")
            features = parsing_ops.parse_example(
                serialized=examples,
                features={key: spec_of_series(key, spec) for key, spec in specs.items()},
            )
            features[_TIMES] = array_ops.squeeze(features[_TIMES], axis=-1)
            values = math_ops.cast(features[_VALUES], dtype=self._model.dtype)
            features[_VALUES] = values[:, :filtering_length]
            features.update(
                self._model_start_state_placeholders(
                    batch_size_tensor=array_ops.shape(features[_TIMES])[0],
                    static_batch_size=default_batch_size,
                )
            )
            return export_lib.ServingInputReceiver(features, {"examples": examples})

        return _serving_input_receiver_fn

    def _exogenous_shapes(self):
        """The shapes (with a dimension of batches) and dtypes of the columns' features, by their keys."""
        with ops.Graph().as_default():
            specs = feature_column.make_parse_example_spec(self._model.exogenous_feature_columns)
            serialized = array_ops.placeholder(shape=[None], dtype=dtypes.string)
            features = parsing_ops.parse_example(serialized=serialized, features=specs)
            return {key: (value.get_shape(), value.dtype) for key, value in features.items()}

    def build_raw_serving_input_receiver_fn(self, default_batch_size=None, default_series_length=None):
        """An input receiver of tensors, for export_saved_model; saved_model_utils feeds them.

        Sizes of batches and of series that are None are any.
        """
        prefix = [default_batch_size, default_series_length]

        def _serving_input_receiver_fn():
            times = array_ops.placeholder(name=_TIMES, dtype=dtypes.int64, shape=prefix)
            no_values = array_ops.zeros(
                shape=[default_batch_size or 0, default_series_length or 0, self._model.num_features],
                dtype=self._model.dtype,
            )
            placeholders = {
                _TIMES: times,
                _VALUES: array_ops.placeholder_with_default(
                    name=_VALUES, input=no_values, shape=(*prefix, self._model.num_features)
                ),
            }
            if self._model.exogenous_feature_columns:
                for key, (shape, dtype) in self._exogenous_shapes().items():
                    shape = shape.with_rank_at_least(1).as_list()
                    placeholders[key] = array_ops.placeholder(dtype=dtype, name=key, shape=prefix + shape[1:])
            placeholders.update(
                self._model_start_state_placeholders(
                    array_ops.shape(times)[0], static_batch_size=default_batch_size
                )
            )
            return export_lib.ServingInputReceiver(placeholders, placeholders)

        return _serving_input_receiver_fn


class ARRegressor(TimeSeriesRegressor):
    """The Estimator of an autoregressive model, linear or with hidden layers."""

    def __init__(
        self,
        periodicities,
        input_window_size,
        output_window_size,
        num_features,
        exogenous_feature_columns=None,
        num_time_buckets=10,
        loss=ar_model.ARModel.NORMAL_LIKELIHOOD_LOSS,
        hidden_layer_sizes=None,
        anomaly_prior_probability=None,
        anomaly_distribution=None,
        optimizer=None,
        model_dir=None,
        config=None,
    ):
        """An Estimator of an ARModel, whose arguments these are, with a FlatPredictionModel.

        With `anomaly_prior_probability`, an AnomalyMixtureARModel. optimizer: None: Adagrad with a learning
        rate of 0.1.
        """
        if anomaly_prior_probability is None and anomaly_distribution is not None:
            raise ValueError("anomaly_prior_probability is required if anomaly_distribution is specified.")
        arguments = {
            "periodicities": periodicities,
            "input_window_size": input_window_size,
            "output_window_size": output_window_size,
            "num_features": num_features,
            "prediction_model_factory": functools.partial(
                ar_model.FlatPredictionModel, hidden_layer_sizes=hidden_layer_sizes
            ),
            "exogenous_feature_columns": exogenous_feature_columns,
            "num_time_buckets": num_time_buckets,
        }
        if anomaly_prior_probability is None:
            model = ar_model.ARModel(loss=loss, **arguments)
        elif loss != ar_model.ARModel.NORMAL_LIKELIHOOD_LOSS:
            raise ValueError(
                "AnomalyMixtureARModel only supports ar_model.ARModel.NORMAL_LIKELIHOOD_LOSS for its loss "
                "argument."
            )
        else:
            if anomaly_distribution is None:
                anomaly_distribution = ar_model.AnomalyMixtureARModel.GAUSSIAN_ANOMALY
            model = ar_model.AnomalyMixtureARModel(
                anomaly_prior_probability=anomaly_prior_probability,
                anomaly_distribution=anomaly_distribution,
                **arguments,
            )
        super().__init__(
            model=model,
            state_manager=state_management.FilteringOnlyStateManager(),
            optimizer=train.AdagradOptimizer(0.1) if optimizer is None else optimizer,
            model_dir=model_dir,
            config=config,
        )


class LSTMAutoRegressor(TimeSeriesRegressor):
    """The Estimator of an autoregressive model of LSTMs, which exports one signature without a state."""

    def __init__(
        self,
        periodicities,
        input_window_size,
        output_window_size,
        model_dir=None,
        num_features=1,
        extra_feature_columns=None,
        num_timesteps=10,
        loss=ar_model.ARModel.NORMAL_LIKELIHOOD_LOSS,
        num_units=128,
        optimizer="Adam",
        config=None,
    ):
        """An Estimator of an ARModel with an LSTMPredictionModel of `num_units`.

        extra_feature_columns, num_timesteps: ARModel's exogenous_feature_columns and num_time_buckets.
        optimizer: an optimizer, its name, or a function that returns one; the learning rate is 0.01.
        """
        super().__init__(
            model=ar_model.ARModel(
                periodicities=periodicities,
                input_window_size=input_window_size,
                output_window_size=output_window_size,
                num_features=num_features,
                exogenous_feature_columns=extra_feature_columns,
                num_time_buckets=num_timesteps,
                loss=loss,
                prediction_model_factory=functools.partial(ar_model.LSTMPredictionModel, num_units=num_units),
            ),
            state_manager=state_management.FilteringOnlyStateManager(),
            optimizer=optimizers.get_optimizer_instance(optimizer, learning_rate=0.01),
            model_dir=model_dir,
            config=config,
            head_type=ts_head_lib.OneShotPredictionHead,
        )


class StateSpaceRegressor(TimeSeriesRegressor):
    """The Estimator of a state space model."""

    def __init__(
        self,
        model,
        state_manager=None,
        optimizer=None,
        model_dir=None,
        config=None,
        head_type=ts_head_lib.TimeSeriesRegressionHead,
    ):
        """An Estimator of a StateSpaceModel; the state manager is a ChainingStateManager for None."""
        if not isinstance(model, state_space_model.StateSpaceModel):
            raise ValueError(
                "StateSpaceRegressor only supports state space models (children of StateSpaceModel) in its "
                f"`model` argument, got {model}."
            )
        super().__init__(
            model=model,
            state_manager=state_management.ChainingStateManager() if state_manager is None else state_manager,
            optimizer=optimizer,
            model_dir=model_dir,
            config=config,
            head_type=head_type,
        )


class StructuralEnsembleRegressor(StateSpaceRegressor):
    """The Estimator of a structural model: a level with a trend, cycles, and a moving average.

    Windows may have any size. Train it with RandomWindowInputFn; evaluate it with much of the series in one
    window, as WholeDatasetInputFn has it.
    """

    def __init__(
        self,
        periodicities,
        num_features,
        cycle_num_latent_values=11,
        moving_average_order=4,
        autoregressive_order=0,
        exogenous_feature_columns=None,
        exogenous_update_condition=None,
        dtype=dtypes.float64,
        anomaly_prior_probability=None,
        optimizer=None,
        model_dir=None,
        config=None,
        head_type=ts_head_lib.TimeSeriesRegressionHead,
    ):
        """An Estimator of a MultiResolutionStructuralEnsemble.

        periodicities: one period or several, in the unit of the times.
        cycle_num_latent_values: how many values, an odd number, a period goes through: one number, or one
          for each period.
        moving_average_order, autoregressive_order: of the deviations, which are VARMA's.
        exogenous_update_condition: a function of times [batch] and features, which are tensors
          [batch, ...], to booleans: which elements the exogenous features change.
        anomaly_prior_probability: the probability of an anomaly, which leaves the state nearly as it was;
          None: there are none.
        optimizer: None: Adam with a learning rate of 0.02.
        """
        postprocessor = None
        if anomaly_prior_probability is not None:
            postprocessor = StateInterpolatingAnomalyDetector(
                anomaly_prior_probability=anomaly_prior_probability
            )
        model = structural_ensemble.MultiResolutionStructuralEnsemble(
            cycle_num_latent_values=cycle_num_latent_values,
            moving_average_order=moving_average_order,
            autoregressive_order=autoregressive_order,
            periodicities=periodicities,
            configuration=state_space_model.StateSpaceModelConfiguration(
                num_features=num_features,
                dtype=dtype,
                filtering_postprocessor=postprocessor,
                exogenous_feature_columns=exogenous_feature_columns,
                exogenous_update_condition=exogenous_update_condition,
            ),
        )
        super().__init__(
            model=model, optimizer=optimizer, model_dir=model_dir, config=config, head_type=head_type
        )
