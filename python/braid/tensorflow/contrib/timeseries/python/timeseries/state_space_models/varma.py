"""Vector autoregressive moving averages, as state space models.

The state has max(ar, ma + 1) blocks of all features. A step puts a linear combination of the blocks and new
noise into the first block and moves the others on. The autoregressive combination is a row of the
transition; the moving average is what the noise does to the blocks.
"""

from braid.tensorflow.contrib.timeseries.python.timeseries import math_utils
from braid.tensorflow.contrib.timeseries.python.timeseries.state_space_models import state_space_model
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import linalg_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import variable_scope


class VARMA(state_space_model.StateSpaceModel):
    """A vector autoregressive moving average of given orders."""

    def __init__(
        self,
        autoregressive_order,
        moving_average_order,
        configuration=state_space_model.StateSpaceModelConfiguration(),
    ):
        """A model whose values combine so many previous ones, and so many previous noises."""
        self.ar_order = autoregressive_order
        self.ma_order = moving_average_order
        self.state_num_blocks = max(autoregressive_order, moving_average_order + 1)
        super().__init__(configuration=configuration)
        self.state_dimension = self.state_num_blocks * self.num_features

    def _identity(self, blocks=1):
        return linalg_ops.eye(blocks * self.num_features, dtype=self.dtype)

    def _define_parameters(self, observation_transition_tradeoff_log=None):
        with variable_scope.variable_scope(self._variable_scope):
            self.ar_coefs = variable_scope.get_variable(
                name="ar_coefs",
                shape=[self.num_features, self.num_features, self.ar_order],
                dtype=self.dtype,
                initializer=init_ops.zeros_initializer(),
            )
            self.ma_coefs = variable_scope.get_variable(
                name="ma_coefs",
                initializer=array_ops.tile(self._identity()[None, :, :], [self.ma_order, 1, 1]),
                dtype=self.dtype,
            )
        super()._define_parameters(observation_transition_tradeoff_log=observation_transition_tradeoff_log)

    def get_state_transition(self):
        missing = self.state_num_blocks - self.ar_order
        first = array_ops.reshape(
            array_ops.pad(self.ar_coefs, [[0, 0], [0, 0], [0, missing]]),
            [self.num_features, self.state_dimension],
        )
        moved = array_ops.pad(self._identity(self.state_num_blocks - 1), [[0, 0], [0, self.num_features]])
        return array_ops.concat([first, moved], axis=0)

    def get_noise_transform(self):
        missing = self.state_num_blocks - 1 - self.ma_order
        coefficients = array_ops.reshape(
            array_ops.pad(self.ma_coefs, [[missing, 0], [0, 0], [0, 0]]),
            [(self.state_num_blocks - 1) * self.num_features, self.num_features],
            name="noise_transform",
        )
        return array_ops.concat([coefficients, self._identity()], axis=0)

    def get_observation_model(self, times):
        """The first block; and the last one, where the moving average is the longer."""
        if self.ar_order > self.ma_order or self.state_num_blocks < 2:
            others = self.num_features * (self.state_num_blocks - 1)
            return array_ops.pad(self._identity(), [[0, 0], [0, others]], name="observation_model")
        between = self.num_features * (self.state_num_blocks - 2)
        first = array_ops.pad(self._identity(), [[0, 0], [0, between]])
        return array_ops.concat([first, self._identity()], axis=1, name="observation_model")

    def get_state_transition_noise_covariance(self, minimum_initial_variance=1e-5):
        """The covariance of a step's noise, which begins with the variance of the series' start."""
        scale = 0.0
        if self._input_statistics is not None:
            variance = self._scale_variance(self._input_statistics.series_start_moments.variance)
            scale = math_ops.log(math_ops.maximum(math_ops.reduce_mean(variance), minimum_initial_variance))
        transform = ops.convert_to_tensor(self.get_noise_transform(), dtype=self.dtype)
        return math_utils.variable_covariance_matrix(
            tensor_shape.dimension_value(transform.shape[1]),
            "state_transition_noise",
            dtype=self.dtype,
            initial_overall_scale_log=scale,
        )
