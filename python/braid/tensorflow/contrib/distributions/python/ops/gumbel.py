"""Gumbel's distribution."""

import math

import numpy as np

from braid.tensorflow.contrib.distributions.python.ops import cauchy
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops


class _Gumbel(cauchy.LocationScale):
    """Its cumulative probability is exp(-exp(-z)), with z = (x - loc) / scale."""

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Gumbel"):
        super().__init__(loc, scale, dict(locals()), validate_args, allow_nan_stats, name)

    def _of_uniform(self, uniform):
        sampled = -math_ops.log(-math_ops.log(uniform))
        return sampled * self.scale + self.loc

    @property
    def _least_uniform(self):
        return np.finfo(self.dtype.as_numpy_dtype).tiny  # whose logarithm is finite

    def _quantile(self, p):
        return self.loc - self.scale * math_ops.log(-math_ops.log(p))

    def _log_prob(self, x):
        z = self._z(x)
        return -z - math_ops.exp(-z) - math_ops.log(self.scale)

    def _log_cdf(self, x):
        return -math_ops.exp(-self._z(x))

    def _cdf(self, x):
        return math_ops.exp(-math_ops.exp(-self._z(x)))

    def _entropy(self):
        return 1 + math_ops.log(self.scale * array_ops.ones_like(self.loc)) + np.euler_gamma

    def _mean(self):
        return self.loc + self.scale * np.euler_gamma

    def _stddev(self):
        return self.scale * array_ops.ones_like(self.loc) * math.pi / math.sqrt(6)

    def _mode(self):
        return self.loc * array_ops.ones_like(self.scale)
