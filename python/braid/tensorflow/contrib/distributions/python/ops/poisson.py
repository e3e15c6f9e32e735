"""The Poisson distribution."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import util


__all__ = ["Poisson"]


class Poisson(distribution.ScalarDistribution):
    """Numbers of events that come `rate` times on average; `log_rate` is the logarithm."""

    _param_names = ("rate",)

    def __init__(self, rate=None, log_rate=None, validate_args=False, allow_nan_stats=True, name="Poisson"):
        parameters = dict(locals())
        if (rate is None) == (log_rate is None):
            raise ValueError("Must specify exactly one of `rate` and `log_rate`.")
        with ops.name_scope(name, values=[rate, log_rate]) as name:
            what, given = ("rate", rate) if log_rate is None else ("log_rate", log_rate)
            given = ops.convert_to_tensor(given, name=what)
            if not given.dtype.is_floating:
                raise TypeError(f"{what}.dtype ({given.dtype.name}) is a not a float-type.")
            if log_rate is None:
                checks = [check_ops.assert_positive(given)] if validate_args else []
                with ops.control_dependencies(checks):
                    self._rate = array_ops.identity(given, name="rate")
                    self._log_rate = math_ops.log(given, name="log_rate")
            else:
                self._rate, self._log_rate = math_ops.exp(given, name="rate"), given
        self._tensors = (self._rate,)
        super().__init__(
            dtype=self._rate.dtype,
            reparameterization_type=distribution.NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._rate],
            name=name,
        )

    @property
    def rate(self):
        return self._rate

    @property
    def log_rate(self):
        return self._log_rate

    def _checked(self, x):
        return util.embed_check_nonnegative_integer_form(x) if self.validate_args else x

    def _sample_n(self, n, seed=None):
        return random_ops.random_poisson(self.rate, [n], dtype=self.dtype, seed=seed)

    def _log_prob(self, x):
        x = self._checked(x)
        return x * self.log_rate - math_ops.lgamma(1.0 + x) - self.rate

    def _cdf(self, x):
        return math_ops.igammac(1.0 + self._checked(x), self.rate)

    def _log_cdf(self, x):
        return math_ops.log(self.cdf(x))

    def _mean(self):
        return array_ops.identity(self.rate)

    def _variance(self):
        return array_ops.identity(self.rate)

    def _mode(self):
        return math_ops.floor(self.rate)
