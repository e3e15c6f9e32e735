"""Kumaraswamy's distribution."""

from braid.tensorflow.contrib.distributions.python.ops import bijectors
from braid.tensorflow.contrib.distributions.python.ops import distribution_util
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import special_math_ops
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import transformed_distribution
from braid.tensorflow.python.ops.distributions import uniform


__all__ = ["Kumaraswamy"]


class Kumaraswamy(transformed_distribution.TransformedDistribution):
    """Numbers from 0 to 1 with the density a * b * x^(a - 1) * (1 - x^a)^(b - 1), for a = concentration1 and
    b = concentration0."""

    def __init__(
        self,
        concentration1=None,
        concentration0=None,
        validate_args=False,
        allow_nan_stats=True,
        name="Kumaraswamy",
    ):
        with ops.name_scope(name, values=[concentration1, concentration0]) as name:
            one = ops.convert_to_tensor(concentration1, name="concentration1")
            zero = ops.convert_to_tensor(concentration0, name="concentration0")
        base = uniform.Uniform(
            low=array_ops.zeros([], dtype=one.dtype),
            high=array_ops.ones([], dtype=one.dtype),
            allow_nan_stats=allow_nan_stats,
        )
        super().__init__(
            distribution=base,
            bijector=bijectors.Kumaraswamy(one, zero, validate_args=validate_args),
            batch_shape=distribution_util.get_broadcast_shape(one, zero),
            name=name,
        )
        self._reparameterization_type = distribution.FULLY_REPARAMETERIZED

    @property
    def concentration1(self):
        return self.bijector.concentration1

    @property
    def concentration0(self):
        return self.bijector.concentration0

    def _moment(self, n):
        total = self.concentration1 + self.concentration0
        a = array_ops.ones_like(total, dtype=self.dtype) * self.concentration1
        b = array_ops.ones_like(total, dtype=self.dtype) * self.concentration0
        both = array_ops.stack([1 + n / a, b], -1)
        return math_ops.exp(math_ops.log(b) + special_math_ops.lbeta(both))

    def _entropy(self):
        a, b = self.concentration1, self.concentration0
        of_a, of_b = 1 - 1.0 / a, 1 - 1.0 / b
        one = array_ops.ones([], dtype=b.dtype)
        harmonic = math_ops.digamma(b + one) - math_ops.digamma(one)
        return of_a + of_b * harmonic + math_ops.log(a) + math_ops.log(b)

    def _mean(self):
        return self._moment(1)

    def _variance(self):
        return self._moment(2) - math_ops.square(self._moment(1))

    def _mode(self):
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)) ** (1.0 / a)
        message = "Mode undefined for concentration{} <= 1."
        checks = lambda: [
            check_ops.assert_less(array_ops.ones([], x.dtype), x, message=message.format(i))
            for x, i in ((a, 1), (b, 0))
        ]
        return self._defined_or_nan(lambda: math_ops.logical_and(a > 1.0, b > 1.0), mode, checks)
