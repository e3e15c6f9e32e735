"""Laplace's distribution."""

import math

import numpy as np

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import special_math
from braid.tensorflow.python.ops.distributions import util
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["distributions.Laplace"])
class Laplace(distribution.ScalarDistribution):
    """The density falls exponentially on both sides of `loc`, by e in the distance `scale`."""

    _param_names = ("loc", "scale")

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Laplace"):
        parameters = dict(locals())
        with ops.name_scope(name, values=[loc, scale]) as name:
            with util.positive(validate_args, scale):
                self._loc = array_ops.identity(loc, name="loc")
                self._scale = array_ops.identity(scale, name="scale")
            util.same_float_dtype(self._loc, self._scale)
        self._tensors = (self._loc, self._scale)
        super().__init__(
            dtype=self._loc.dtype,
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
        above = np.nextafter(self.dtype.as_numpy_dtype(-1.0), self.dtype.as_numpy_dtype(0.0))
        uniform = random_ops.random_uniform(
            self._shape_of_samples(n), minval=above, maxval=1.0, dtype=self.dtype, seed=seed
        )
        return self.loc - self.scale * math_ops.sign(uniform) * math_ops.log1p(-math_ops.abs(uniform))

    def _log_prob(self, x):
        return -math_ops.abs(self._z(x)) - (math.log(2.0) + math_ops.log(self.scale))

    def _log_cdf(self, x):
        return special_math.log_cdf_laplace(self._z(x))

    def _log_survival_function(self, x):
        return special_math.log_cdf_laplace(-self._z(x))

    def _cdf(self, x):
        z = self._z(x)
        return 0.5 + 0.5 * math_ops.sign(z) * (1.0 - math_ops.exp(-math_ops.abs(z)))

    def _entropy(self):
        scale = self.scale + array_ops.zeros_like(self.loc)
        return math.log(2.0) + 1.0 + math_ops.log(scale)

    def _mean(self):
        return self.loc + array_ops.zeros_like(self.scale)

    def _stddev(self):
        return math.sqrt(2.0) * self.scale + array_ops.zeros_like(self.loc)

    def _mode(self):
        return self._mean()


class LaplaceWithSoftplusScale(Laplace):
    """Laplace whose scale is the softplus of the one given."""

    def __init__(
        self, loc, scale, validate_args=False, allow_nan_stats=True, name="LaplaceWithSoftplusScale"
    ):
        parameters = dict(locals())
        with ops.name_scope(name, values=[loc, scale]) as name:
            scale = nn_ops.softplus(scale, name="softplus_scale")
            super().__init__(loc, scale, validate_args, allow_nan_stats, name)
        self._set_parameters(parameters)
