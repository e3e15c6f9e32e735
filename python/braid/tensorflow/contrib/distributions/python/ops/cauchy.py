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
            with util.positive(validate_args, scale):
                self._loc = array_ops.identity(loc, name="loc")
                self._scale = array_ops.identity(scale, name="scale")
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

    _least_uniform = 0.0  # of which samples are the quantiles

    def _z(self, x):
        with ops.name_scope("standardize", values=[x]):
            return (x - self.loc) / self.scale

    def _sample_n(self, n, seed=None):
        uniform = random_ops.random_uniform(
            self._shape_of_samples(n), minval=self._least_uniform, maxval=1.0, dtype=self.dtype, seed=seed
        )
        return self._of_uniform(uniform)

    def _of_uniform(self, uniform):
        return self._quantile(uniform)


class Cauchy(LocationScale):
    """Density 1 / (pi * scale * (1 + z^2)), with z = (x - loc) / scale. It has no mean."""

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Cauchy"):
        super().__init__(loc, scale, dict(locals()), validate_args, allow_nan_stats, name)

    def _quantile(self, p):
        return self.loc + self.scale * math_ops.tan(math.pi * (p - 0.5))

    def _log_prob(self, x):
        unnormalized = -math_ops.log1p(math_ops.square(self._z(x)))
        return unnormalized - (math.log(math.pi) + math_ops.log(self.scale))

    def _cdf(self, x):
        return math_ops.atan(self._z(x)) / math.pi + 0.5

    def _log_cdf(self, x):
        return math_ops.log1p(2 / math.pi * math_ops.atan(self._z(x))) - math.log(2)

    def _entropy(self):
        return (math.log(4 * math.pi) + math_ops.log(self.scale)) * array_ops.ones_like(self.loc)

    def _mode(self):
        return self.loc * array_ops.ones_like(self.scale)

    def _undefined(self, what):
        if not self.allow_nan_stats:
            raise ValueError(f"`{what}` is undefined for Cauchy distribution.")
        return array_ops.fill(self.batch_shape_tensor(), self.dtype.as_numpy_dtype(np.nan))

    def _mean(self):
        return self._undefined("mean")

    def _stddev(self):
        return self._undefined("stddev")
