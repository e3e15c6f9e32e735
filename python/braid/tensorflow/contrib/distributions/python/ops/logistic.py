"""The logistic distribution."""

import math

import numpy as np

from braid.tensorflow.contrib.distributions.python.ops import cauchy
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops


__all__ = ["Logistic"]


class Logistic(cauchy.LocationScale):
    """Its cumulative probability is sigmoid(z), with z = (x - loc) / scale."""

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Logistic"):
        super().__init__(loc, scale, dict(locals()), validate_args, allow_nan_stats, name)

    def _of_uniform(self, uniform):
        sampled = math_ops.log(uniform) - math_ops.log1p(-1.0 * uniform)
        return sampled * self.scale + self.loc

    @property
    def _least_uniform(self):
        return np.finfo(self.dtype.as_numpy_dtype).tiny  # whose logarithm is finite

    def _quantile(self, p):
        return self.loc + self.scale * (math_ops.log(p) - math_ops.log1p(-p))

    def _log_prob(self, x):
        z = self._z(x)
        return -z - 2.0 * nn_ops.softplus(-z) - math_ops.log(self.scale)

    def _log_cdf(self, x):
        return -nn_ops.softplus(-self._z(x))

    def _cdf(self, x):
        return math_ops.sigmoid(self._z(x))

    def _log_survival_function(self, x):
        return -nn_ops.softplus(self._z(x))

    def _survival_function(self, x):
        return math_ops.sigmoid(-self._z(x))

    def _entropy(self):
        return 2 + math_ops.log(self.scale * array_ops.ones_like(self.loc))

    def _mean(self):
        return self.loc * array_ops.ones_like(self.scale)

    def _stddev(self):
        return self.scale * array_ops.ones_like(self.loc) * math.pi / math.sqrt(3)

    def _mode(self):
        return self._mean()
