"""Linear state space models, and ensembles of them.

A state moves by state' = StateTransition state + NoiseTransform noise, and is observed as ObservationModel
state + observation noise, with noise of covariances that are learned. Subclasses define the matrices. See
kalman_filter.py for what is computed of them.
"""

import abc
import collections

import numpy

from braid.tensorflow.contrib.layers.python.layers import layers
from braid.tensorflow.contrib.timeseries.python.timeseries import math_utils
from braid.tensorflow.contrib.timeseries.python.timeseries import model
from braid.tensorflow.contrib.timeseries.python.timeseries import model_utils
from braid.tensorflow.contrib.timeseries.python.timeseries.feature_keys import TrainEvalFeatures
from braid.tensorflow.contrib.timeseries.python.timeseries.state_space_models import kalman_filter
from braid.tensorflow.python.estimator import estimator_lib
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import linalg_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import variable_scope


class StateSpaceModelConfiguration(
    collections.namedtuple(
        "StateSpaceModelConfiguration",
        [
            "num_features",
            "use_observation_noise",
            "dtype",
            "covariance_prior_fn",
            "bayesian_prior_weighting",
            "filtering_postprocessor",
            "trainable_start_state",
            "exogenous_noise_increases",
            "exogenous_noise_decreases",
            "exogenous_feature_columns",
            "exogenous_update_condition",
            "filtering_maximum_posterior_variance_ratio",
            "filtering_minimum_posterior_variance",
            "transition_covariance_initial_log_scale_bias",
            "static_unrolling_window_size_threshold",
        ],
    )
):
    """What state space models are configured by."""

    def __new__(
        cls,
        num_features=1,
        use_observation_noise=True,
        dtype=dtypes.float32,
        covariance_prior_fn=math_utils.log_noninformative_covariance_prior,
        bayesian_prior_weighting=True,
        filtering_postprocessor=None,
        trainable_start_state=False,
        exogenous_noise_increases=True,
        exogenous_noise_decreases=False,
        exogenous_feature_columns=None,
        exogenous_update_condition=None,
        filtering_maximum_posterior_variance_ratio=1e6,
        filtering_minimum_posterior_variance=0.0,
        transition_covariance_initial_log_scale_bias=-5.0,
        static_unrolling_window_size_threshold=None,
    ):
        """A configuration.

        num_features: how many values are observed at each time.
        use_observation_noise: observations have noise of their own (of an ensemble: what it says itself).
        covariance_prior_fn: a function of a covariance matrix to the logarithm of its prior.
        bayesian_prior_weighting: the prior counts once for the series, else once for a window.
        filtering_postprocessor: a FilteringStepPostprocessor.
        trainable_start_state: the mean and the covariance of the first state are learned.
        exogenous_noise_increases, exogenous_noise_decreases: exogenous features add to the state and its
          covariance; they are observations of the state.
        exogenous_update_condition: SequentialTimeSeriesModel's.
        filtering_maximum_posterior_variance_ratio, filtering_minimum_posterior_variance: limits for the
          variances of a state before it is filtered.
        transition_covariance_initial_log_scale_bias: the logarithm of the transition noise's first
          covariance, and the negative of the observation noise's.
        static_unrolling_window_size_threshold: SequentialTimeSeriesModel's.
        """
        return super().__new__(
            cls,
            num_features,
            use_observation_noise,
            dtype,
            covariance_prior_fn,
            bayesian_prior_weighting,
            filtering_postprocessor,
            trainable_start_state,
            exogenous_noise_increases,
            exogenous_noise_decreases,
            [] if exogenous_feature_columns is None else exogenous_feature_columns,
            exogenous_update_condition,
            filtering_maximum_posterior_variance_ratio,
            filtering_minimum_posterior_variance,
            transition_covariance_initial_log_scale_bias,
            static_unrolling_window_size_threshold,
        )


class StateSpaceModel(model.SequentialTimeSeriesModel):
    """A linear state space model. Its state is a mean [n], a covariance [n, n] and the time they are of.

    A subclass has get_state_transition, get_noise_transform and get_observation_model. It may know powers of
    the transition, and their sums, in other ways than by multiplication.
    """

    def __init__(self, configuration):
        self._configuration = configuration
        postprocessor = configuration.filtering_postprocessor
        names = [] if postprocessor is None else postprocessor.output_names
        super().__init__(
            train_output_names=["mean", "covariance", "log_likelihood"] + names,
            predict_output_names=["mean", "covariance"],
            num_features=configuration.num_features,
            normalize_features=True,
            dtype=configuration.dtype,
            exogenous_feature_columns=configuration.exogenous_feature_columns,
            exogenous_update_condition=configuration.exogenous_update_condition,
            static_unrolling_window_size_threshold=configuration.static_unrolling_window_size_threshold,
        )
        self._kalman_filter = None
        self.prior_state_mean = None
        self.prior_state_var = None
        self.state_transition_noise_covariance = None
        self._total_observation_count = None
        self._observation_noise_covariance = None
        # The model's variables are in the scope in which it is made, whoever makes them later.
        self._variable_scope = variable_scope.get_variable_scope()

    # ---- The definition of a model ----

    @abc.abstractmethod
    def get_state_transition(self):
        """The matrix of a step: [n, n]."""

    @abc.abstractmethod
    def get_noise_transform(self):
        """What noise does to a state: [n, m]."""

    @abc.abstractmethod
    def get_observation_model(self, times):
        """What is observed of a state at times [batch]: [n], [features, n] or [batch, features, n]."""

    def get_broadcasted_observation_model(self, times):
        """What is observed of a state at times [batch]: [batch, features, n]."""
        matrix = ops.convert_to_tensor(self.get_observation_model(times), dtype=self.dtype)
        rank = matrix.get_shape().with_rank_at_least(1).with_rank_at_most(3).ndims
        if rank is None:
            has_all = control_flow_ops.Assert(
                math_ops.equal(array_ops.rank(matrix), 3), [array_ops.shape(matrix)]
            )
            with ops.control_dependencies([has_all]):
                return array_ops.identity(matrix)
        if rank == 1:
            row = array_ops.reshape(tensor=matrix, shape=[1, 1, -1])
            matrix = array_ops.tile(row, [array_ops.shape(times)[0], self.num_features, 1])
        elif rank == 2:
            one = array_ops.expand_dims(matrix, axis=0)
            matrix = array_ops.tile(one, [array_ops.shape(times)[0], 1, 1])
        matrix.get_shape().assert_has_rank(3)
        return matrix

    def transition_to_powers(self, powers):
        """The transition to integer powers [...]: [..., n, n]."""
        transition = ops.convert_to_tensor(self.get_state_transition(), dtype=self.dtype)
        return math_utils.matrix_to_powers(transition, powers)

    def transition_power_noise_accumulator(self, num_steps):
        """The covariance of the noise that numbers of steps [...] add up to: [..., n, n]."""
        transform = ops.convert_to_tensor(self.get_noise_transform(), self.dtype)
        covariance = math_ops.matmul(
            math_ops.matmul(transform, self.state_transition_noise_covariance),
            transform,
            transpose_b=True,
        )
        sums = math_utils.power_sums_tensor(
            math_ops.reduce_max(num_steps) + 1,
            ops.convert_to_tensor(self.get_state_transition(), dtype=self.dtype),
            covariance,
        )
        return array_ops.gather(sums, indices=num_steps)

    # ---- Steps ----

    def _window_initializer(self, times, state):
        """Computes the powers of the transition for all gaps between the times of the windows, once each."""
        _, _, state_times = state
        times = ops.convert_to_tensor(times)
        state_times = ops.convert_to_tensor(state_times)
        within = array_ops.reshape(times[:, 1:] - times[:, :-1], [-1])
        before = math_ops.maximum(times[:, 0] - state_times, 0)
        gaps, _ = array_ops.unique(array_ops.concat([within, before], axis=0))
        self._window_power_sums = self.transition_power_noise_accumulator(gaps)
        self._window_transition_powers = self.transition_to_powers(gaps)
        self._window_gap_sizes = gaps

    def _lookup_window_caches(self, caches, indices):
        """What caches of the window have for gaps [batch]."""
        gaps = math_ops.cast(indices, self._window_gap_sizes.dtype)
        # The number of a gap is that under which unique puts it behind the known ones.
        _, ids = array_ops.unique(array_ops.concat([self._window_gap_sizes, gaps], axis=0))
        found = []
        for cache in caches:
            matrices = array_ops.gather(cache, ids[-array_ops.shape(indices)[0] :])
            matrices.set_shape(indices.get_shape().concatenate(matrices.get_shape()[-2:]))
            found.append(matrices)
        return found

    def _cached_transition_powers_and_sums(self, num_steps):
        return self._lookup_window_caches(
            caches=[self._window_transition_powers, self._window_power_sums], indices=num_steps
        )

    def _imputation_step(self, current_times, state):
        mean, covariance, previous_times = state
        steps = math_ops.maximum(current_times - previous_times, 0)
        transitions, noise = self._cached_transition_powers_and_sums(steps)
        return (
            self._kalman_filter.predict_state_mean(mean, transitions),
            self._kalman_filter.predict_state_var(covariance, transitions, noise),
            previous_times + steps,
        )

    def _filtering_step(self, current_times, current_values, state, predictions):
        mean, covariance, state_times = state
        observation_model = self.get_broadcasted_observation_model(current_times)
        is_current = control_flow_ops.Assert(
            math_ops.reduce_all(math_ops.equal(current_times, state_times)),
            ["Attempted to perform filtering without imputation/prediction"],
        )
        with ops.control_dependencies([is_current]):
            covariance = math_utils.clip_covariance(
                covariance,
                self._configuration.filtering_maximum_posterior_variance_ratio,
                self._configuration.filtering_minimum_posterior_variance,
            )
            mean, covariance, log_density = self._kalman_filter.do_filter(
                estimated_state=mean,
                estimated_state_covariance=covariance,
                predicted_observation=predictions["mean"],
                predicted_observation_covariance=predictions["covariance"],
                observation=current_values,
                observation_model=observation_model,
                observation_noise=self._observation_noise_covariance,
            )
        filtered = (mean, covariance, current_times)
        log_density.set_shape(current_times.get_shape())
        predictions["loss"] = -log_density
        predictions["log_likelihood"] = log_density
        if self._configuration.filtering_postprocessor is None:
            return filtered, predictions
        return self._configuration.filtering_postprocessor.process_filtering_step(
            current_times=current_times,
            current_values=current_values,
            predicted_state=state,
            filtered_state=filtered,
            outputs=predictions,
        )

    def _scale_back_predictions(self, predictions):
        predictions["mean"] = self._scale_back_data(predictions["mean"])
        predictions["covariance"] = self._scale_back_variance(predictions["covariance"])
        return predictions

    def _prediction_step(self, current_times, state):
        mean, covariance, state_times = state
        is_advanced = control_flow_ops.Assert(
            math_ops.reduce_all(math_ops.less_equal(current_times, state_times)),
            ["Attempted to predict without imputation"],
        )
        with ops.control_dependencies([is_advanced]):
            observed, observed_covariance = self._kalman_filter.observed_from_state(
                state_mean=mean,
                state_var=covariance,
                observation_model=self.get_broadcasted_observation_model(current_times),
                observation_noise=self._observation_noise_covariance,
            )
        batch, k = current_times.get_shape(), self.num_features
        observed.set_shape(batch.concatenate((k,)))
        observed_covariance.set_shape(batch.concatenate((k, k)))
        return (mean, covariance, current_times), {"mean": observed, "covariance": observed_covariance}

    def _exogenous_noise_decreasing(self, current_times, exogenous_values, state):
        """The state after an observation of all of it, which is learned of the exogenous values."""
        mean, covariance, state_times = state
        transition = ops.convert_to_tensor(self.get_state_transition(), dtype=self.dtype)
        size = tensor_shape.dimension_value(transition.shape[0])
        observation_model = linalg_ops.eye(
            size, batch_shape=array_ops.shape(exogenous_values)[:-1], dtype=self.dtype
        )
        with variable_scope.variable_scope("exogenous_noise_decreasing_covariance"):
            noise = math_utils.transform_to_covariance_matrices(exogenous_values, size)
        with variable_scope.variable_scope("exogenous_noise_decreasing_observation"):
            observation = layers.fully_connected(exogenous_values, size, activation_fn=None)
        mean, covariance = self._kalman_filter.posterior_from_prior_state(
            prior_state=mean,
            prior_state_var=covariance,
            observation=observation,
            observation_model=observation_model,
            predicted_observations=(mean, noise + covariance),
            observation_noise=noise,
        )
        return mean, covariance, state_times

    def _exogenous_noise_increasing(self, current_times, exogenous_values, state):
        """The state with an addition, which is learned of the exogenous values."""
        mean, covariance, state_times = state
        with variable_scope.variable_scope("exogenous_noise_increasing_mean"):
            size = tensor_shape.dimension_value(mean.shape[1])
            addition = layers.fully_connected(exogenous_values, size, activation_fn=None)
        with variable_scope.variable_scope("exogenous_noise_increasing_covariance"):
            size = tensor_shape.dimension_value(covariance.shape[1])
            noise = math_utils.transform_to_covariance_matrices(exogenous_values, size)
        return mean + addition, covariance + noise, state_times

    def _exogenous_input_step(self, current_times, current_exogenous_regressors, state):
        if self._configuration.exogenous_noise_decreases:
            state = self._exogenous_noise_decreasing(current_times, current_exogenous_regressors, state)
        if self._configuration.exogenous_noise_increases:
            state = self._exogenous_noise_increasing(current_times, current_exogenous_regressors, state)
        return state

    def _loss_additions(self, times, values, mode):
        """The negative log prior of the noise covariances, divided by the number of observations."""
        if mode != estimator_lib.ModeKeys.TRAIN:
            return array_ops.zeros([], dtype=self.dtype)
        if self._input_statistics is not None and self._configuration.bayesian_prior_weighting:
            count = self._input_statistics.total_observation_count
        else:
            count = array_ops.shape(times)[1]
        weight = 1.0 / math_ops.cast(count, self.dtype)
        prior = self._configuration.covariance_prior_fn
        total = ops.convert_to_tensor(prior(self.state_transition_noise_covariance), dtype=self.dtype)
        if self._configuration.use_observation_noise and self._observation_noise_covariance is not None:
            total += ops.convert_to_tensor(prior(self._observation_noise_covariance), dtype=self.dtype)
        return -weight * total

    # ---- Parameters ----

    def _variable_observation_transition_tradeoff_log(self):
        bias = self._configuration.transition_covariance_initial_log_scale_bias
        return variable_scope.get_variable(
            name="observation_transition_tradeoff_log_scale",
            initializer=constant_op.constant(-bias, dtype=self.dtype),
            dtype=self.dtype,
        )

    def _define_parameters(self, observation_transition_tradeoff_log=None):
        """Makes the variables that are not of the start state; members of an ensemble share the tradeoff."""
        with variable_scope.variable_scope(self._variable_scope):
            if observation_transition_tradeoff_log is None:
                observation_transition_tradeoff_log = self._variable_observation_transition_tradeoff_log()
            self._observation_transition_tradeoff_log_scale = observation_transition_tradeoff_log
            self.state_transition_noise_covariance = self.get_state_transition_noise_covariance()

    def _set_input_statistics(self, input_statistics=None):
        super().initialize_graph(input_statistics=input_statistics)

    def initialize_graph(self, input_statistics=None):
        self._set_input_statistics(input_statistics=input_statistics)
        self._define_parameters()
        with variable_scope.variable_scope(self._variable_scope):
            self._observation_noise_covariance = ops.convert_to_tensor(
                self.get_observation_noise_covariance(), dtype=self.dtype
            )
        self._kalman_filter = kalman_filter.KalmanFilter(dtype=self.dtype)
        self.prior_state_mean, self.prior_state_var = self._make_priors()

    def _make_priors(self):
        covariance = self.get_prior_covariance()
        return self.get_prior_mean(), covariance

    def get_prior_covariance(self):
        """The covariance [n, n] of the state before the series."""
        with variable_scope.variable_scope(self._variable_scope):
            size = ops.convert_to_tensor(self.get_state_transition()).get_shape().dims[0].value
            if not self._configuration.trainable_start_state:
                return linalg_ops.eye(size, dtype=self.dtype)
            covariance = math_utils.variable_covariance_matrix(size, "prior_state_var", dtype=self.dtype)
            if self._input_statistics is None:
                return covariance
            # The start of a series may vary more than the whole.
            scaled = self._scale_variance(self._input_statistics.series_start_moments.variance)
            return covariance * math_ops.maximum(math_ops.reduce_max(scaled), 1.0)

    def get_prior_mean(self):
        """The mean [n] of the state before the series."""
        with variable_scope.variable_scope(self._variable_scope):
            transition = ops.convert_to_tensor(self.get_state_transition(), dtype=self.dtype)
            return variable_scope.get_variable(
                name="prior_state_mean",
                shape=[transition.get_shape().dims[0].value],
                dtype=self.dtype,
                trainable=self._configuration.trainable_start_state,
            )

    def get_state_transition_noise_covariance(self, minimum_initial_variance=1e-5):
        """The covariance [m, m] of the noise of a step, which begins by the variance of the series' start."""
        transform = ops.convert_to_tensor(self.get_noise_transform(), dtype=self.dtype)
        size = transform.get_shape().dims[1].value
        scale = 0.0
        if self._input_statistics is not None:
            variance = self._scale_variance(self._input_statistics.series_start_moments.variance)
            variance = math_ops.reduce_mean(variance)
            count = math_ops.cast(self._input_statistics.total_observation_count, self.dtype)
            scale = math_ops.log(math_ops.maximum(variance / count, minimum_initial_variance))
        scale -= self._observation_transition_tradeoff_log_scale
        return math_utils.variable_covariance_matrix(
            size, "state_transition_noise", dtype=self.dtype, initial_overall_scale_log=scale
        )

    def get_observation_noise_covariance(self, minimum_initial_variance=1e-5):
        """The covariance [features, features] of the noise of observations, or zeros."""
        if not self._configuration.use_observation_noise:
            return array_ops.zeros(
                shape=[self.num_features, self.num_features],
                name="observation_noise_covariance",
                dtype=self.dtype,
            )
        variance = None
        if self._input_statistics is not None:
            variance = self._scale_variance(self._input_statistics.series_start_moments.variance)
            variance = math_ops.maximum(variance, minimum_initial_variance)
        return math_utils.variable_covariance_matrix(
            size=self.num_features,
            dtype=self.dtype,
            name="observation_noise_covariance",
            initial_diagonal_values=variance,
            initial_overall_scale_log=self._observation_transition_tradeoff_log_scale,
        )

    def get_start_state(self):
        if self._input_statistics is not None:
            start_time = self._input_statistics.start_time
        else:
            start_time = array_ops.zeros([], dtype=dtypes.int64)
        return self.prior_state_mean, self.prior_state_var, start_time - 1

    def get_features_for_timesteps(self, timesteps):
        """No features [n, 0] for times [n]."""
        return array_ops.zeros([array_ops.shape(timesteps)[0], 0], dtype=self.dtype)

    # ---- Series that the model makes ----

    def _check_univariate(self):
        if self.num_features != 1:
            raise NotImplementedError(
                "Generation for multivariate state space models is not currently implemented."
            )

    def random_model_parameters(self, seed=None):
        """Parameters for `generate`: a dictionary of tensors to arrays."""
        self._check_univariate()
        if seed:
            numpy.random.seed(seed)
        transform = ops.convert_to_tensor(self.get_noise_transform())
        state_size, noise_size = transform.get_shape().as_list()
        transition_variances = 1.0 / numpy.random.gamma(shape=10.0, scale=10.0, size=[noise_size])
        mean = numpy.random.normal(size=[state_size])
        parameters = {}
        if self.prior_state_mean is not None:
            parameters[self.prior_state_mean] = mean
        if self.state_transition_noise_covariance is not None:
            parameters[self.state_transition_noise_covariance] = numpy.diag(transition_variances)
        if self.prior_state_var is not None:
            parameters[self.prior_state_var] = numpy.zeros([state_size, state_size])
        if self._configuration.use_observation_noise:
            variance = 1.0 / numpy.random.gamma(shape=4, scale=4)
            parameters[self._observation_noise_covariance] = [[variance]]
        return parameters

    def generate(
        self,
        number_of_series,
        series_length,
        model_parameters=None,
        seed=None,
        add_observation_noise=None,
    ):
        """Samples of series of one feature, by numpy.random, in the default session."""
        if seed is not None:
            numpy.random.seed(seed)
        self._check_univariate()
        if add_observation_noise is None:
            add_observation_noise = self._configuration.use_observation_noise
        parameters = model_parameters or {}
        transition = ops.convert_to_tensor(self.get_state_transition(), dtype=self.dtype)
        transition = transition.eval(feed_dict=parameters)
        transform = ops.convert_to_tensor(self.get_noise_transform()).eval(feed_dict=parameters)
        value_of = model_utils.parameter_switch(parameters)
        noise_deviations = numpy.sqrt(numpy.diag(value_of(self.state_transition_noise_covariance)))
        if add_observation_noise:
            deviation = numpy.sqrt(value_of(self._observation_noise_covariance)[0][0])
        state = numpy.tile(value_of(self.prior_state_mean)[None, :], [number_of_series, 1])
        noise_shape = [number_of_series, transform.shape[1]]
        values = numpy.zeros([number_of_series, series_length])
        observation_models = self.get_broadcasted_observation_model(times=math_ops.range(series_length))
        for step, matrix in enumerate(observation_models.eval(feed_dict=parameters)):
            state = numpy.dot(state, transition.T)
            noise = numpy.random.normal(
                loc=numpy.zeros(noise_shape), scale=numpy.broadcast_to(noise_deviations, noise_shape)
            )
            state += numpy.dot(noise, transform.T)
            mean = numpy.dot(state, matrix[0].T)
            if add_observation_noise:
                mean = numpy.random.normal(loc=mean, scale=deviation)
            values[:, step] = mean
        times = numpy.tile(numpy.arange(series_length)[None, :], [number_of_series, 1])
        return {TrainEvalFeatures.TIMES: times, TrainEvalFeatures.VALUES: values[..., None]}


class StateSpaceEnsemble(StateSpaceModel):
    """Models whose states lie side by side in one, and whose observations are added."""

    def __init__(self, ensemble_members, configuration):
        self._ensemble_members = ensemble_members
        super().__init__(configuration=configuration)

    def _set_input_statistics(self, input_statistics=None):
        super()._set_input_statistics(input_statistics)
        for member in self._ensemble_members:
            member._set_input_statistics(input_statistics)

    def _loss_additions(self, times, values, mode):
        own = super()._loss_additions(times, values, mode)
        members = [member._loss_additions(times, values, mode) for member in self._ensemble_members]
        return own + math_ops.add_n(members)

    def _compute_blocked(self, member_fn, name):
        """What a function makes of the members, along the diagonal of a matrix."""
        with variable_scope.variable_scope(self._variable_scope):
            blocks = [member_fn(member) for member in self._ensemble_members]
            return math_utils.block_diagonal(blocks, dtype=self.dtype, name=name)

    def transition_to_powers(self, powers):
        return self._compute_blocked(
            lambda member: member.transition_to_powers(powers), name="ensemble_transition_to_powers"
        )

    def _define_parameters(self, observation_transition_tradeoff_log=None):
        with variable_scope.variable_scope(self._variable_scope):
            if observation_transition_tradeoff_log is None:
                observation_transition_tradeoff_log = self._variable_observation_transition_tradeoff_log()
            for member in self._ensemble_members:
                member._define_parameters(
                    observation_transition_tradeoff_log=observation_transition_tradeoff_log
                )
            super()._define_parameters(
                observation_transition_tradeoff_log=observation_transition_tradeoff_log
            )

    def random_model_parameters(self, seed=None):
        parameters = {}
        for number, member in enumerate(self._ensemble_members):
            parameters.update(member.random_model_parameters(seed=seed + number if seed else None))
        parameters.update(super().random_model_parameters(seed=seed))
        return parameters

    def get_prior_mean(self):
        means = [member.get_prior_mean() for member in self._ensemble_members]
        return array_ops.concat(values=means, axis=0, name="ensemble_prior_state_mean")

    def get_state_transition(self):
        return self._compute_blocked(
            lambda member: member.get_state_transition(), name="ensemble_state_transition"
        )

    def get_noise_transform(self):
        return self._compute_blocked(
            lambda member: member.get_noise_transform(), name="ensemble_noise_transform"
        )

    def get_observation_model(self, times):
        raise NotImplementedError("No un-broadcasted observation model defined for ensembles.")

    def get_broadcasted_observation_model(self, times):
        models = [
            ops.convert_to_tensor(member.get_broadcasted_observation_model(times), dtype=self.dtype)
            for member in self._ensemble_members
        ]
        return array_ops.concat(values=models, axis=2)


class StateSpaceIndependentEnsemble(StateSpaceEnsemble):
    """An ensemble whose members have independent noise, each its own."""

    def transition_power_noise_accumulator(self, num_steps):
        return self._compute_blocked(
            lambda member: member.transition_power_noise_accumulator(num_steps),
            name="ensemble_power_noise_accumulator",
        )

    def get_prior_covariance(self):
        return self._compute_blocked(
            lambda member: member.get_prior_covariance(), name="ensemble_prior_state_covariance"
        )

    def get_state_transition_noise_covariance(self, minimum_initial_variance=1e-5):
        return self._compute_blocked(
            lambda member: member.state_transition_noise_covariance,
            name="ensemble_state_transition_noise",
        )


class StateSpaceCorrelatedFeaturesEnsemble(StateSpaceEnsemble):
    """An ensemble of a member for each feature, whose noise is correlated."""

    def __init__(self, ensemble_members, configuration):
        if len(ensemble_members) != configuration.num_features:
            raise ValueError(
                "The number of members in a StateSpaceCorrelatedFeaturesEnsemble must equal the number of "
                "features in the time series."
            )
        if any(member.num_features != 1 for member in ensemble_members):
            raise ValueError("StateSpaceCorrelatedFeaturesEnsemble components must be univariate.")
        super().__init__(ensemble_members=ensemble_members, configuration=configuration)

    def transition_power_noise_accumulator(self, num_steps):
        # A single member may know the sums in a faster way.
        if len(self._ensemble_members) == 1:
            return self._ensemble_members[0].transition_power_noise_accumulator(num_steps=num_steps)
        return super().transition_power_noise_accumulator(num_steps=num_steps)

    def get_broadcasted_observation_model(self, times):
        return self._compute_blocked(
            lambda member: ops.convert_to_tensor(
                member.get_broadcasted_observation_model(times), dtype=self.dtype
            ),
            name="feature_ensemble_observation_model",
        )
