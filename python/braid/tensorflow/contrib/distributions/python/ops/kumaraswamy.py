"""Kumaraswamy's distribution."""

import numpy as np

from braid.tensorflow.contrib.distributions.python.ops import bijectors
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops
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
            batch = array_ops.zeros_like(one * zero)
            base = uniform.Uniform(
                low=batch, high=batch + 1, validate_args=validate_args, allow_nan_stats=allow_nan_stats
            )
            mapping = bijectors.Kumaraswamy(one, zero, validate_args=validate_args)
            super().__init__(distribution=base, bijector=mapping, name=name)
        self._reparameterization_type = distribution.FULLY_REPARAMETERIZED

    @property
    def concentration1(self):
        return self.bijector.concentration1

    @property
    def concentration0(self):
        return self.bijector.concentration0

    def _moment(self, n):
        a, b = self.concentration1, self.concentration0
        ratio = 1 + n / a
        return math_ops.exp(
            math_ops.log(b) + math_ops.lgamma(ratio) + math_ops.lgamma(b) - math_ops.lgamma(ratio + b)
        )

    def _entropy(self):
        a, b = self.concentration1, self.concentration0
        harmonic = math_ops.digamma(b + 1) + np.euler_gamma
        return (1 - 1.0 / a) + (1 - 1.0 / b) * harmonic + math_ops.log(a) + math_ops.log(b)

    def _mean(self):
        return self._moment(1)

    def _variance(self):
        return self._moment(2) - math_ops.square(self._moment(1))

    def _mode(self):
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)) ** (1.0 / a)
        one = constant_op.constant(1.0, self.dtype)
        message = "Mode undefined for concentration{} <= 1."
        checks = lambda: [
            check_ops.assert_less(one, a, message=message.format(1)),
            check_ops.assert_less(one, b, message=message.format(0)),
        ]
        return self._defined_or_nan(math_ops.logical_and(a > 1.0, b > 1.0), mode, checks)
