"""What is done after each step of filtering: guarding the state against anomalies."""

import abc

from braid.tensorflow.contrib.timeseries.python.timeseries import math_utils
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util import nest


class FilteringStepPostprocessor(metaclass=abc.ABCMeta):
    """The interface of what is done after a step of filtering."""

    @abc.abstractmethod
    def process_filtering_step(self, current_times, current_values, predicted_state, filtered_state, outputs):
        """The state and the outputs after a step.

        predicted_state, filtered_state: without and with what was observed: current_values [batch, k] at
        current_times [batch].
        """

    @property
    @abc.abstractmethod
    def output_names(self):
        """The keys of outputs that it adds."""
        return []


def cauchy_alternative_to_gaussian(current_times, current_values, outputs):
    """The log densities [batch] of values under Cauchy distributions of the predicted means and entropies."""
    densities = math_utils.cauchy_log_prob(
        loc=outputs["mean"],
        scale=math_utils.entropy_matched_cauchy_scale(outputs["covariance"]),
        x=current_values,
    )
    return math_ops.reduce_sum(densities, axis=1)


def _interpolate_state_linear(first_state, second_state, first_responsibility):
    """first_responsibility [batch] of one state, and the rest of another one."""
    result = []
    for first, second in zip(nest.flatten(first_state), nest.flatten(second_state)):
        assert first.dtype == second.dtype
        if first.dtype.is_floating:
            ones = array_ops.ones([array_ops.rank(first) - 1], dtype=dtypes.int32)
            shape = array_ops.concat([array_ops.shape(first_responsibility), ones], 0)
            weight = array_ops.reshape(first_responsibility, shape)
            mixed = weight * first + (1.0 - weight) * second
            mixed.set_shape(first.get_shape())
        else:
            # Integers are times, the same in both.
            with ops.control_dependencies([check_ops.assert_equal(first, second)]):
                mixed = array_ops.identity(first)
        result.append(mixed)
    return nest.pack_sequence_as(first_state, result)


class StateInterpolatingAnomalyDetector(FilteringStepPostprocessor):
    """A detector that takes from an observation as much as it is probable that it is no anomaly.

    By Bayes' theorem, the odds of an anomaly are p(data | anomaly) p(anomaly) over p(data | none) p(none).
    The model's responsibility is a sigmoid of their negative logarithm: the state is interpolated by it
    between the predicted and the filtered one, and the log likelihood between those of both cases.
    """

    output_names = ["anomaly_score"]

    def __init__(
        self,
        anomaly_log_likelihood=cauchy_alternative_to_gaussian,
        anomaly_prior_probability=0.01,
        responsibility_scaling=1.0,
    ):
        """A detector.

        anomaly_log_likelihood: a function of current_times, current_values and outputs to log densities
          [batch].
        responsibility_scaling: a factor of the logarithm of the odds: the smaller, the smoother.
        """
        self._anomaly_log_likelihood = anomaly_log_likelihood
        self._responsibility_scaling = responsibility_scaling
        self._anomaly_prior_probability = anomaly_prior_probability

    def process_filtering_step(self, current_times, current_values, predicted_state, filtered_state, outputs):
        """The interpolated state, and the outputs with "anomaly_score", the log odds, and a new loss."""
        anomaly = self._anomaly_log_likelihood(
            current_times=current_times, current_values=current_values, outputs=outputs
        )
        prior = ops.convert_to_tensor(self._anomaly_prior_probability, dtype=current_values.dtype)
        with_anomaly = anomaly + math_ops.log(prior)
        without_anomaly = outputs["log_likelihood"] + math_ops.log(1.0 - prior)
        log_odds = with_anomaly - without_anomaly
        responsibility = math_ops.sigmoid(-self._responsibility_scaling * log_odds)
        state = _interpolate_state_linear(filtered_state, predicted_state, responsibility)
        likelihood = responsibility * without_anomaly + (1.0 - responsibility) * with_anomaly
        outputs["loss"] = -likelihood
        outputs["anomaly_score"] = log_odds
        return state, outputs
