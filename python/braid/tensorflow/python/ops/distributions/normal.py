"""The normal distribution."""

import math

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import kullback_leibler
from braid.tensorflow.python.ops.distributions import special_math
from braid.tensorflow.python.ops.distributions import util
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["distributions.Normal"])
class Normal(distribution.ScalarDistribution):
    """Gauss's distribution with the mean `loc` and the standard deviation `scale`."""

    _param_names = ("loc", "scale")

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Normal"):
        parameters = dict(locals())
        with ops.name_scope(name, values=[loc, scale]) as name:
            with util.positive(validate_args, scale):
                self._loc = array_ops.identity(loc, name="loc")
                self._scale = array_ops.identity(scale, name="scale")
            util.same_float_dtype(self._loc, self._scale)
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

    def _sample_n(self, n, seed=None):
        shape = self._shape_of_samples(n)
        sampled = random_ops.random_normal(shape=shape, mean=0.0, stddev=1.0, dtype=self.dtype, seed=seed)
        return sampled * self.scale + self.loc

    def _z(self, x):
        with ops.name_scope("standardize", values=[x]):
            return (x - self.loc) / self.scale

    def _log_prob(self, x):
        unnormalized = -0.5 * math_ops.square(self._z(x))
        return unnormalized - (0.5 * math.log(2.0 * math.pi) + math_ops.log(self.scale))

    def _log_cdf(self, x):
        return special_math.log_ndtr(self._z(x))

    def _cdf(self, x):
        return special_math.ndtr(self._z(x))

    def _log_survival_function(self, x):
        return special_math.log_ndtr(-self._z(x))

    def _survival_function(self, x):
        return special_math.ndtr(-self._z(x))

    def _quantile(self, p):
        z = special_math.ndtri(p)
        with ops.name_scope("reconstruct", values=[z]):
            return z * self.scale + self.loc

    def _entropy(self):
        return 0.5 * math.log(2.0 * math.pi * math.e) + math_ops.log(self._stddev())

    def _mean(self):
        return self.loc * array_ops.ones_like(self.scale)

    def _stddev(self):
        return self.scale * array_ops.ones_like(self.loc)

    def _mode(self):
        return self._mean()


class NormalWithSoftplusScale(Normal):
    """Normal whose standard deviation is the softplus of `scale`."""

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="NormalWithSoftplusScale"):
        parameters = dict(locals())
        with ops.name_scope(name, values=[scale]) as name:
            scale = nn_ops.softplus(scale, name="softplus_scale")
            super().__init__(loc, scale, validate_args, allow_nan_stats, name)
        self._set_parameters(parameters)


@kullback_leibler.RegisterKL(Normal, Normal)
def _kl_normal_normal(n_a, n_b, name=None):
    with ops.name_scope(name, "kl_normal_normal", [n_a.loc, n_b.loc]):
        one, two, half = (ops.convert_to_tensor(x, dtype=n_a.dtype) for x in (1.0, 2.0, 0.5))
        variances = math_ops.square(n_a.scale), math_ops.square(n_b.scale)
        ratio = variances[0] / variances[1]
        distance = math_ops.squared_difference(n_a.loc, n_b.loc) / (two * variances[1])
        return distance + half * (ratio - one - math_ops.log(ratio))
