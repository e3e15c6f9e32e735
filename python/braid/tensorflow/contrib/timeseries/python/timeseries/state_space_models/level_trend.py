"""A level and its local linear trend."""

from braid.tensorflow.contrib.timeseries.python.timeseries.state_space_models import state_space_model
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import linalg_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import variable_scope


class AdderStateSpaceModel(state_space_model.StateSpaceModel):
    """The state (level, trend), of which the trend is added to the level in each step."""

    def __init__(self, use_level_noise=True, configuration=state_space_model.StateSpaceModelConfiguration()):
        """A model; with `use_level_noise`, the level has noise, too, else the trend alone."""
        self.use_level_noise = use_level_noise
        super().__init__(configuration=configuration)

    def get_prior_mean(self):
        """The level begins with the mean of the series' start."""
        if self._input_statistics is None:
            return super().get_prior_mean()
        with variable_scope.variable_scope(self._variable_scope):
            start = self._scale_data(self._input_statistics.series_start_moments.mean)
            initial = array_ops.stack([math_ops.reduce_mean(start), 0.0])
            return initial + variable_scope.get_variable(
                name="prior_state_mean",
                shape=initial.get_shape(),
                initializer=init_ops.zeros_initializer(),
                dtype=self.dtype,
                trainable=self._configuration.trainable_start_state,
            )

    def transition_to_powers(self, powers):
        """[[1, p], [0, 1]] for each power p."""
        outer = array_ops.zeros([array_ops.rank(powers), 2], dtype=dtypes.int32)
        paddings = array_ops.concat([outer, [(0, 1), (1, 0)]], axis=0)
        upper_right = array_ops.pad(powers[..., None, None], paddings=paddings)
        identities = linalg_ops.eye(num_rows=2, batch_shape=array_ops.shape(powers), dtype=self.dtype)
        return identities + math_ops.cast(upper_right, self.dtype)

    def transition_power_noise_accumulator(self, num_steps):
        """The sums of A^i B (A^i)^T, where A^i B (A^i)^T is a polynomial of i."""
        steps = math_ops.cast(num_steps, self.dtype)
        last = steps - 1
        transform = ops.convert_to_tensor(self.get_noise_transform(), self.dtype)
        covariance = math_ops.matmul(
            math_ops.matmul(transform, self.state_transition_noise_covariance), transform, adjoint_b=True
        )
        # Each is the one entry of the covariance: [1].
        a, b, c, d = array_ops.unstack(array_ops.reshape(covariance, [-1, 4]), axis=1)
        sum_of_i = last * (last + 1) / 2
        sum_of_squares = sum_of_i * (2 * last + 1) / 3
        entries = (
            steps * a + sum_of_i * (b + c) + sum_of_squares * d,
            steps * b + sum_of_i * d,
            steps * c + sum_of_i * d,
            steps * d,
        )
        rows = array_ops.stack(axis=1, values=entries)
        return array_ops.reshape(rows, array_ops.concat([array_ops.shape(steps), [2, 2]], axis=0))

    def get_state_transition(self):
        return [[1.0, 1.0], [0.0, 1.0]]

    def get_noise_transform(self):
        return [[1.0, 0.0], [0.0, 1.0]] if self.use_level_noise else [[0.0], [1.0]]

    def get_observation_model(self, times):
        """The level."""
        return constant_op.constant([1.0, 0.0], dtype=self.dtype)
