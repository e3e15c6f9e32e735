"""The Kalman filter over batches.

A state x with mean m and covariance P moves by x' = A x + w, and is observed as z = H x + v. Here w has the
covariance that transition_noise_sums give, and v the observation noise R.
"""

from braid.tensorflow.contrib.timeseries.python.timeseries import math_utils
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import linalg_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import numerics

_UNSTABLE = (
    "This may occur due to numerically unstable filtering when there is a large difference in posterior "
    "variances, or when inferences are near-deterministic. Considering tuning the "
    "'filtering_maximum_posterior_variance_ratio' or 'filtering_minimum_posterior_variance' parameters in "
    "your StateSpaceModelConfiguration, or tuning the transition matrix."
)


class KalmanFilter:
    """The equations of a step."""

    def __init__(self, dtype=dtypes.float32, simplified_posterior_covariance_computation=False):
        """A filter.

        With `simplified_posterior_covariance_computation`, the posterior covariance is (I - K H) P, which
        is faster than Joseph's form and loses symmetry by rounding.
        """
        self._simplified_posterior_covariance_computation = simplified_posterior_covariance_computation
        self.dtype = dtype

    def do_filter(
        self,
        estimated_state,
        estimated_state_covariance,
        predicted_observation,
        predicted_observation_covariance,
        observation,
        observation_model,
        observation_noise,
    ):
        """The state [batch, n] and covariance after observations [batch, k], and their log density [batch].

        The predicted observation is that of observed_from_state; observation_model is [batch, k, n].
        """
        covariance = 0.5 * (
            predicted_observation_covariance + array_ops.matrix_transpose(predicted_observation_covariance)
        )
        covariance = numerics.verify_tensor_all_finite(
            covariance, f"Predicted observation covariance was not finite. {_UNSTABLE}"
        )
        smallest = math_ops.reduce_min(array_ops.matrix_diag_part(covariance))
        is_positive = control_flow_ops.Assert(
            smallest >= 0.0,
            [f"The predicted observation covariance has a negative diagonal entry. {_UNSTABLE}", smallest],
        )
        with ops.control_dependencies([is_positive]):
            factor = linalg_ops.cholesky(covariance)
        log_density = math_utils.mvn_tril_log_prob(
            loc=predicted_observation, scale_tril=factor, x=observation
        )
        mean, variance = self.posterior_from_prior_state(
            prior_state=estimated_state,
            prior_state_var=estimated_state_covariance,
            observation=observation,
            observation_model=observation_model,
            predicted_observations=(predicted_observation, predicted_observation_covariance),
            observation_noise=observation_noise,
        )
        return mean, variance, log_density

    def predict_state_mean(self, prior_state, transition_matrices):
        """The means [batch, n] after transitions [batch, n, n]."""
        return array_ops.squeeze(math_ops.matmul(transition_matrices, prior_state[..., None]), axis=[-1])

    def predict_state_var(self, prior_state_var, transition_matrices, transition_noise_sums):
        """The covariances [batch, n, n] after transitions and the noise that they added."""
        moved = math_ops.matmul(
            math_ops.matmul(transition_matrices, prior_state_var), transition_matrices, adjoint_b=True
        )
        return moved + transition_noise_sums

    def posterior_from_prior_state(
        self,
        prior_state,
        prior_state_var,
        observation,
        observation_model,
        predicted_observations,
        observation_noise,
    ):
        """The state and covariance after observations.

        predicted_observations: their mean [batch, k] and covariance [batch, k, k]; observation_noise: of
        all [k, k], or [batch, k, k].
        """
        observed_mean, observed_var = predicted_observations
        residual = observation - observed_mean
        # K^T, where K = P H^T S^-1, is the solution of S^T K^T = H P^T.
        gain_transposed = linalg_ops.matrix_solve(
            matrix=observed_var,
            rhs=math_ops.matmul(observation_model, prior_state_var, adjoint_b=True),
            adjoint=True,
        )
        gain_transposed.set_shape([None, None, None])  # the observation model may have no known rank
        correction = math_ops.matmul(gain_transposed, array_ops.expand_dims(residual, -1), adjoint_a=True)
        state = prior_state + array_ops.squeeze(correction, axis=[-1])
        gain_observed = math_ops.matmul(gain_transposed, observation_model, adjoint_a=True)
        size = array_ops.shape(gain_observed)[1]
        factor = linalg_ops.eye(size, dtype=gain_observed.dtype)[None] - gain_observed
        if self._simplified_posterior_covariance_computation:
            return state, math_ops.matmul(factor, prior_state_var)
        noise = ops.convert_to_tensor(observation_noise)
        # Joseph's form: (I - K H) P (I - K H)^T + K R K^T.
        reduced = math_ops.matmul(math_ops.matmul(factor, prior_state_var), factor, adjoint_b=True)

        def with_noise_of_each():
            product = math_ops.matmul(gain_transposed, noise, adjoint_a=True)
            return reduced + math_ops.matmul(product, gain_transposed)

        def with_noise_of_all():
            product = math_utils.batch_times_matrix(gain_transposed, noise, adj_x=True)
            return reduced + math_ops.matmul(product, gain_transposed)

        rank = noise.get_shape().ndims
        if rank is None:
            is_of_all = math_ops.equal(array_ops.rank(noise), 2)
            return state, control_flow_ops.cond(is_of_all, with_noise_of_all, with_noise_of_each)
        return state, with_noise_of_all() if rank == 2 else with_noise_of_each()

    def observed_from_state(self, state_mean, state_var, observation_model, observation_noise):
        """The mean [batch, k] and covariance [batch, k, k] of the observations of states."""
        mean = math_ops.matmul(array_ops.expand_dims(state_mean, 1), observation_model, adjoint_b=True)
        mean = array_ops.squeeze(mean, axis=[1])
        variance = math_ops.matmul(
            math_ops.matmul(observation_model, state_var), observation_model, adjoint_b=True
        )
        return mean, variance + observation_noise
