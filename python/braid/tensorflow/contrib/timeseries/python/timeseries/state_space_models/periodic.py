"""Cycles of values."""

import numpy

from braid.tensorflow.contrib.timeseries.python.timeseries.state_space_models import state_space_model
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops


def _as_last_dimension(vector, tensor, size):
    """A vector [size] with as many dimensions of 1 before as a tensor has."""
    ones = array_ops.ones([array_ops.rank(tensor)], dtype=dtypes.int32)
    return array_ops.reshape(vector, array_ops.concat([ones, [size]], axis=0))


class CycleStateSpaceModel(state_space_model.StateSpaceModel):
    """A cycle of p values, of which a step observes the next one.

    The state has p - 1 of them; the last is the negative sum of the others. Noise comes to one value in each
    step.
    """

    def __init__(self, periodicity, configuration=state_space_model.StateSpaceModelConfiguration()):
        self._periodicity = periodicity
        super().__init__(configuration=configuration)

    def get_state_transition(self):
        return self.transition_to_powers(array_ops.ones([], dtype=dtypes.int32))

    def get_noise_transform(self):
        """Noise of the first value; transition_power_noise_accumulator depends on it."""
        first = array_ops.ones([1], dtype=self.dtype)
        return array_ops.pad(first, paddings=[(0, self._periodicity - 2)])[..., None]

    def transition_to_powers(self, powers):
        """Entry (i, j) is 1 where (i - j) % p = power % p, and -1 where (i + 1) % p = power % p."""
        powers %= self._periodicity
        size = self._periodicity - 1
        index = _as_last_dimension(math_ops.range(size, dtype=powers.dtype), powers, size)
        is_negative = math_ops.equal(index + 1, powers[..., None])
        shape = array_ops.shape(is_negative)
        minus_ones = -array_ops.ones(shape, dtype=self.dtype)
        negative = array_ops.where(is_negative, minus_ones, array_ops.zeros(shape, dtype=self.dtype))
        difference = index[..., None] - index[..., None, :]
        is_one = math_ops.equal(difference % self._periodicity, powers[..., None, None])
        ones = array_ops.ones(array_ops.shape(is_one), dtype=self.dtype)
        zeros = array_ops.zeros(array_ops.shape(is_one), dtype=self.dtype)
        positive = array_ops.where(is_one, ones, zeros)
        return math_ops.cast(positive + negative[..., None], self.dtype)

    def transition_power_noise_accumulator(self, num_steps, noise_addition_coefficient=1):
        """The noise of numbers of steps [...]: [..., p - 1, p - 1].

        Value k of the cycle got c_k: as many times noise as it was the first in the steps. A state is the
        difference of neighbours in the cycle: c_j + c_(j + 1) on the diagonal, and -c between neighbours.
        noise_addition_coefficient is a factor of the noise.
        """
        noise = array_ops.squeeze(self.state_transition_noise_covariance, axis=[-1, -2])
        index = _as_last_dimension(
            math_ops.range(self._periodicity, dtype=num_steps.dtype), num_steps, self._periodicity
        )
        # How many steps until a value would be the first again; then the division has no remainder.
        until = (index - (num_steps[..., None] - 1)) % self._periodicity
        factor = ops.convert_to_tensor(noise_addition_coefficient, self.dtype)[..., None] * noise
        times_first = (num_steps[..., None] + until) // self._periodicity
        added = factor * math_ops.cast(times_first, dtype=self.dtype)
        matrix = array_ops.matrix_diag(added)
        upper = array_ops.concat(
            [array_ops.zeros_like(matrix[..., :-1, 0:1]), -matrix[..., :-1, 0:-2]], axis=-1
        )
        lower = array_ops.concat(
            [array_ops.zeros_like(matrix[..., 0:1, :-1]), -matrix[..., 0:-2, :-1]], axis=-2
        )
        rotated = array_ops.concat([added[..., -1:], added[..., :-2]], axis=-1)
        return array_ops.matrix_diag(added[..., :-1] + rotated) + lower + upper

    def get_observation_model(self, times):
        """The first value."""
        first = array_ops.ones([1], dtype=self.dtype)
        others = array_ops.zeros([self._periodicity - 2], dtype=self.dtype)
        return array_ops.concat([first, others], axis=0)


class ResolutionCycleModel(CycleStateSpaceModel):
    """A cycle of n values over a period of any length, between which it interpolates smoothly.

    Its transition is that of a CycleStateSpaceModel of n values to the power n / period. Powers are those of
    the eigenvalues, roots of unity, in pairs of conjugates: n is odd, so that the n - 1 of the state have
    partners and the matrix is real.
    """

    def __init__(
        self,
        num_latent_values,
        periodicity,
        near_integer_threshold=1e-8,
        configuration=state_space_model.StateSpaceModelConfiguration(),
    ):
        """A model of `num_latent_values` (odd) over `periodicity` steps, which may be a tensor.

        near_integer_threshold: how near to an integer a power counts as one, where the closed form divides
        0 by 0.
        """
        if num_latent_values % 2 != 1:
            raise ValueError("Only odd numbers of latent values are supported.")
        self._num_latent_values = num_latent_values
        self._true_periodicity = periodicity
        self._near_integer_threshold = near_integer_threshold
        super().__init__(periodicity=num_latent_values, configuration=configuration)

    def _close_to_integer(self, value):
        value = math_ops.cast(value, self.dtype)
        return math_ops.less(math_ops.abs(value - math_ops.round(value)), self._near_integer_threshold)

    def _count(self):
        return math_ops.cast(self._num_latent_values, self.dtype)

    def _values_per_step(self, count):
        """The power of the plain cycle's transition that a step is."""
        return count / math_ops.cast(self._true_periodicity, dtype=self.dtype)

    def transition_to_powers(self, powers):
        """Entry (i, j) is (-1)^i sin(pi p) / n times the sum of two cosecants, where p is no integer.

        They are (-1)^j / sin(pi (p - i + j) / n) and 1 / sin(pi (p - i - 1) / n). For an integer p, it is
        the limit: the plain cycle's power.
        """
        count = self._count()
        per_step = self._values_per_step(count)
        powers = math_ops.cast(powers, self.dtype) * per_step
        coefficient = (math_ops.sin(powers * numpy.pi) / count)[..., None, None]
        size = self._num_latent_values - 1
        index = _as_last_dimension(math_ops.range(size), powers, size)
        index_float = math_ops.cast(index, self.dtype)
        sign = math_ops.cast(1 - 2 * (index % 2), self.dtype)
        of_row = 1.0 / math_ops.sin(numpy.pi / count * (powers[..., None] - index_float - 1))
        difference = index_float[..., None, :] - index_float[..., None]
        of_entry = sign[..., None, :] / math_ops.sin(
            numpy.pi / count * (powers[..., None, None] + difference)
        )
        matrices = coefficient * sign[..., None] * (of_row[..., None] + of_entry)
        is_integer = self._close_to_integer(powers)
        integers = math_ops.cast(math_ops.round(powers), dtypes.int64)
        return array_ops.where(is_integer, super().transition_to_powers(integers), matrices)

    def transition_power_noise_accumulator(self, num_steps):
        """The noise of numbers of steps [...]: whole periods at once, where they are integers."""
        size = self._num_latent_values - 1
        accumulate_cycle = super().transition_power_noise_accumulator

        def whole_periods():
            per_value = math_ops.cast(self._true_periodicity, self.dtype) / self._count()
            of_period = accumulate_cycle(
                noise_addition_coefficient=per_value,
                num_steps=ops.convert_to_tensor(self._num_latent_values, dtype=num_steps.dtype),
            )
            period = math_ops.cast(self._true_periodicity, num_steps.dtype)
            periods = math_ops.cast(num_steps // period, self.dtype)
            periods = periods[..., None, None]
            ones = array_ops.ones([array_ops.rank(num_steps)], dtype=dtypes.int32)
            shape = array_ops.concat([ones, array_ops.shape(of_period)], axis=0)
            noise = periods * array_ops.reshape(of_period, shape)
            return num_steps % period, noise

        def no_periods():
            shape = array_ops.concat([array_ops.shape(num_steps), [size, size]], axis=0)
            return num_steps, array_ops.zeros(shape, dtype=self.dtype)

        remaining, accumulated = control_flow_ops.cond(
            self._whole_period_folding(), whole_periods, no_periods
        )
        sums = self._power_sum_array(math_ops.reduce_max(remaining))
        noise = array_ops.squeeze(self.state_transition_noise_covariance, axis=[-1, -2])
        return accumulated + noise * array_ops.gather(sums, indices=remaining)

    def _whole_period_folding(self):
        """Whether the period is an integer, and not less than the number of values."""
        return math_ops.logical_and(
            self._close_to_integer(self._true_periodicity),
            math_ops.greater_equal(self._true_periodicity, self._num_latent_values),
        )

    def _power_sum_array(self, max_remaining_steps):
        """The sums of A^i e e^T (A^i)^T over i < s, for s from 0 to max_remaining_steps; e is (1, 0, ...).

        The first column of A^p has the entries (-1)^i sin(pi p) / n times (csc(pi (p - i) / n) +
        csc(pi (p - i - 1) / n)). Where a cosecant has a pole, the sine is 0 and their product is n or -n.
        """
        count = self._count()
        per_step = self._values_per_step(count)
        powers = math_ops.cast(math_ops.range(max_remaining_steps), self.dtype) * per_step
        index = math_ops.range(self._num_latent_values - 1)[None, ...]
        index_float = math_ops.cast(index, self.dtype)
        distance = powers[..., None] - index_float

        def cosecant(value):
            return 1.0 / math_ops.sin(numpy.pi / count * value)

        column = cosecant(distance) + cosecant(distance - 1.0)
        products = column[..., None, :] * column[..., None]
        signs = 1 - 2 * ((index[..., None, :] + index[..., None]) % 2)
        signs = math_ops.cast(signs, self.dtype)

        def pole(value):
            """Whether a cosecant has a pole there, and its sign with the sine."""
            turns = value / count
            return self._close_to_integer(turns), math_ops.cos(turns * numpy.pi)

        is_pole, sign = pole(powers[..., None] - index_float)
        is_next_pole, next_sign = pole(powers[..., None] - index_float - 1)
        any_pole = math_ops.logical_or(is_pole, is_next_pole)
        pole_sign = array_ops.where(is_pole, sign, next_sign)
        both_poles = math_ops.logical_and(any_pole[..., None], any_pole[..., None, :])
        is_integer = self._close_to_integer(powers)
        finite = array_ops.where(is_integer, array_ops.zeros_like(products), products)
        coefficient = math_ops.sin(numpy.pi * powers) / count
        values = array_ops.where(
            both_poles,
            pole_sign[..., None] * pole_sign[..., None, :],
            finite * coefficient[..., None, None] ** 2,
        )
        return array_ops.pad(math_ops.cumsum(signs * values), [(1, 0), (0, 0), (0, 0)])
