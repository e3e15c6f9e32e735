"""The uniform distribution."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import util
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["distributions.Uniform"])
class Uniform(distribution.ScalarDistribution):
    """All numbers from `low` to before `high`, as likely."""

    _param_names = ("low", "high")

    def __init__(self, low=0.0, high=1.0, validate_args=False, allow_nan_stats=True, name="Uniform"):
        parameters = dict(locals())
        with ops.name_scope(name, values=[low, high]) as name:
            checks = []
            if validate_args:
                checks = [check_ops.assert_less(low, high, message="uniform not defined when low >= high.")]
            with ops.control_dependencies(checks):
                self._low = array_ops.identity(low, name="low")
                self._high = array_ops.identity(high, name="high")
            util.same_float_dtype(self._low, self._high)
        self._tensors = (self._low, self._high)
        super().__init__(
            dtype=self._low.dtype,
            reparameterization_type=distribution.FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._low, self._high],
            name=name,
        )

    @property
    def low(self):
        return self._low

    @property
    def high(self):
        return self._high

    def range(self, name="range"):
        """high - low"""
        with self._name_scope(name):
            return self.high - self.low

    def _sample_n(self, n, seed=None):
        samples = random_ops.random_uniform(shape=self._shape_of_samples(n), dtype=self.dtype, seed=seed)
        return self.low + self.range() * samples

    def _prob(self, x):
        x = self._broadcast(x)
        is_nan = math_ops.is_nan(x)
        is_out = math_ops.logical_or(x < self.low, x >= self.high)
        zeros = array_ops.zeros_like(x)
        inside = array_ops.where_v2(is_out, zeros, array_ops.ones_like(x) / self.range())
        return array_ops.where_v2(is_nan, x, inside)

    def _cdf(self, x):
        shape = array_ops.broadcast_dynamic_shape(array_ops.shape(x), self.batch_shape_tensor())
        zeros, ones = array_ops.zeros(shape, dtype=self.dtype), array_ops.ones(shape, dtype=self.dtype)
        values = x * ones
        inside = array_ops.where_v2(x < self.low, zeros, (values - self.low) / self.range())
        return array_ops.where_v2(x >= self.high, ones, inside)

    def _entropy(self):
        return math_ops.log(self.range())

    def _mean(self):
        return (self.low + self.high) / 2.0

    def _variance(self):
        return math_ops.square(self.range()) / 12.0

    def _stddev(self):
        return self.range() / 12.0**0.5
