"""The Cauchy distribution."""

import math

import numpy as np

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import util


__all__ = ["Cauchy"]


class LocationScale(distribution.ScalarDistribution):
    """Numbers loc + scale * z, where z has a distribution without parameters.

    A subclass has those of _z_... that its methods need.
    """

    _param_names = ("loc", "scale")

    def __init__(self, loc, scale, parameters, validate_args, allow_nan_stats, name):
        with ops.name_scope(name, values=[loc, scale]) as name:
            self._loc = array_ops.identity(ops.convert_to_tensor(loc), name="loc")
            self._scale = util.positive_parameter(scale, "scale", validate_args, dtype=self._loc.dtype)
            check_ops.assert_same_float_dtype([self._loc, self._scale])
        self._tensors = (self._loc, self._scale)
        super().__init__(
            dtype=self._scale.dtype,
            reparameterization_type=distribution.FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._loc, self._scale],
            name=name,
        )

    @property
    def loc(self):
        return self._loc

    @property
    def scale(self):
        return self._scale

    def _z(self, x):
        return (x - self.loc) / self.scale

    def _sample_n(self, n, seed=None):
        least = np.finfo(self.dtype.as_numpy_dtype).tiny
        uniform = random_ops.random_uniform(
            self._shape_of_samples(n), minval=least, maxval=1.0, seed=seed, dtype=self.dtype
        )
        return self._quantile(uniform)

    def _quantile(self, p):
        return self.loc + self.scale * self._z_quantile(p)

    def _mean_shifted(self, z):
        """The same multiple of the scale for all."""
        return self._broadcast(self.loc + self.scale * z)


class Cauchy(LocationScale):
    """Density 1 / (pi * scale * (1 + z^2)), with z = (x - loc) / scale. It has no mean."""

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Cauchy"):
        super().__init__(loc, scale, dict(locals()), validate_args, allow_nan_stats, name)

    def _z_quantile(self, p):
        return math_ops.tan(math.pi * (p - 0.5))

    def _log_prob(self, x):
        return -math_ops.log1p(math_ops.square(self._z(x))) - math.log(math.pi) - math_ops.log(self.scale)

    def _cdf(self, x):
        return math_ops.atan(self._z(x)) / math.pi + 0.5

    def _log_cdf(self, x):
        return math_ops.log1p(2 / math.pi * math_ops.atan(self._z(x))) - math.log(2)

    def _entropy(self):
        return math.log(4 * math.pi) + math_ops.log(self._broadcast(self.scale))

    def _mode(self):
        return self._broadcast(self.loc)

    def _undefined(self, what):
        if not self.allow_nan_stats:
            raise ValueError(f"`{what}` is undefined for Cauchy distribution.")
        return array_ops.fill(self.batch_shape_tensor(), self.dtype.as_numpy_dtype(np.nan))

    def _mean(self):
        return self._undefined("mean")

    def _stddev(self):
        return self._undefined("stddev")
