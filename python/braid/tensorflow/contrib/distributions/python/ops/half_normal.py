"""The absolute values of normal numbers."""

import math

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import special_math
from braid.tensorflow.python.ops.distributions import util


__all__ = ["HalfNormal"]


class HalfNormal(distribution.ScalarDistribution):
    """|x|, for x that are normal with mean 0 and standard deviation `scale`."""

    _param_names = ("scale",)

    def __init__(self, scale, validate_args=False, allow_nan_stats=True, name="HalfNormal"):
        parameters = dict(locals())
        with ops.name_scope(name, values=[scale]) as name:
            with util.positive(validate_args, scale):
                self._scale = array_ops.identity(scale, name="scale")
        self._tensors = (self._scale,)
        super().__init__(
            dtype=self._scale.dtype,
            reparameterization_type=distribution.FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._scale],
            name=name,
        )

    @property
    def scale(self):
        return self._scale

    def _sample_n(self, n, seed=None):
        shape = self._shape_of_samples(n)
        normal = random_ops.random_normal(shape, mean=0.0, stddev=1.0, dtype=self.dtype, seed=seed)
        return math_ops.abs(normal * self.scale)

    def _prob(self, x):
        factor = math.sqrt(2) / self.scale / math.sqrt(math.pi)
        density = factor * math_ops.exp(-0.5 * (x / self.scale) ** 2)
        return density * math_ops.cast(x >= 0, self.dtype)

    def _cdf(self, x):
        return math_ops.erf(nn_ops.relu(x) / self.scale / math.sqrt(2))

    def _quantile(self, p):
        return math.sqrt(2) * self.scale * special_math.erfinv(p)

    def _entropy(self):
        return 0.5 * math_ops.log(math.pi * self.scale**2.0 / 2.0) + 0.5

    def _mean(self):
        return self.scale * math.sqrt(2) / math.sqrt(math.pi)

    def _mode(self):
        return array_ops.zeros(self.batch_shape_tensor(), self.dtype)

    def _variance(self):
        return self.scale**2.0 * (1.0 - 2.0 / math.pi)
