"""The logistic distribution."""

import math

from braid.tensorflow.contrib.distributions.python.ops import cauchy
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops


__all__ = ["Logistic"]


class Logistic(cauchy.LocationScale):
    """Its cumulative probability is sigmoid(z), with z = (x - loc) / scale."""

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Logistic"):
        super().__init__(loc, scale, dict(locals()), validate_args, allow_nan_stats, name)

    def _z_quantile(self, p):
        return math_ops.log(p) - math_ops.log1p(-p)

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
        return 2 + math_ops.log(self._broadcast(self.scale))

    def _mean(self):
        return self._broadcast(self.loc)

    def _stddev(self):
        return self._broadcast(self.scale) * math.pi / math.sqrt(3)

    def _mode(self):
        return self._mean()
