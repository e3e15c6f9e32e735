"""The gamma distribution."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gen_math_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import kullback_leibler
from braid.tensorflow.python.ops.distributions import util
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["distributions.Gamma"])
class Gamma(distribution.ScalarDistribution):
    """The gamma distribution of the form `concentration` and the inverse scale `rate`."""

    _param_names = ("concentration", "rate")

    def __init__(self, concentration, rate, validate_args=False, allow_nan_stats=True, name="Gamma"):
        parameters = dict(locals())
        with ops.name_scope(name, values=[concentration, rate]) as name:
            with util.positive(validate_args, concentration, rate):
                self._concentration = array_ops.identity(concentration, name="concentration")
                self._rate = array_ops.identity(rate, name="rate")
            util.same_float_dtype(self._concentration, self._rate)
        self._tensors = (self._concentration, self._rate)
        super().__init__(
            dtype=self._concentration.dtype,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            reparameterization_type=distribution.FULLY_REPARAMETERIZED,
            parameters=parameters,
            graph_parents=[self._concentration, self._rate],
            name=name,
        )

    @property
    def concentration(self):
        return self._concentration

    @property
    def rate(self):
        return self._rate

    def _sample_n(self, n, seed=None):
        return random_ops.random_gamma(
            shape=[n], alpha=self.concentration, beta=self.rate, dtype=self.dtype, seed=seed
        )

    def _log_prob(self, x):
        x = self._checked(x)
        unnormalized = gen_math_ops.xlogy(self.concentration - 1.0, x) - self.rate * x
        normalization = math_ops.lgamma(self.concentration) - self.concentration * math_ops.log(self.rate)
        return unnormalized - normalization

    def _checked(self, x):
        """A sample, which is checked in the step if arguments are validated."""
        check_ops.assert_same_float_dtype([x], dtype=self.dtype)
        if not self.validate_args:
            return x
        return control_flow_ops.with_dependencies([check_ops.assert_positive(x)], x)

    def _cdf(self, x):
        return math_ops.igamma(self.concentration, self.rate * self._checked(x))

    def _entropy(self):
        a = self.concentration
        return a - math_ops.log(self.rate) + math_ops.lgamma(a) + (1.0 - a) * math_ops.digamma(a)

    def _mean(self):
        return self.concentration / self.rate

    def _variance(self):
        return self.concentration / math_ops.square(self.rate)

    def _stddev(self):
        return math_ops.sqrt(self.concentration) / self.rate

    def _mode(self):
        mode = (self.concentration - 1.0) / self.rate
        message = "mode not defined when any concentration <= 1"
        return self._defined_or_nan(
            lambda: self.concentration > 1.0,
            mode,
            lambda: [
                check_ops.assert_less(array_ops.ones([], self.dtype), self.concentration, message=message)
            ],
        )


class GammaWithSoftplusConcentrationRate(Gamma):
    """Gamma whose parameters are the softplus of those given."""

    def __init__(
        self,
        concentration,
        rate,
        validate_args=False,
        allow_nan_stats=True,
        name="GammaWithSoftplusConcentrationRate",
    ):
        parameters = dict(locals())
        with ops.name_scope(name, values=[concentration, rate]) as name:
            concentration = nn_ops.softplus(concentration, name="softplus_concentration")
            rate = nn_ops.softplus(rate, name="softplus_rate")
            super().__init__(concentration, rate, validate_args, allow_nan_stats, name)
        self._set_parameters(parameters)


@kullback_leibler.RegisterKL(Gamma, Gamma)
def _kl_gamma_gamma(g0, g1, name=None):
    with ops.name_scope(name, "kl_gamma_gamma", values=[g0.concentration, g1.concentration]):
        a0, a1 = g0.concentration, g1.concentration
        return (
            (a0 - a1) * math_ops.digamma(a0)
            + math_ops.lgamma(a1)
            - math_ops.lgamma(a0)
            + a1 * math_ops.log(g0.rate)
            - a1 * math_ops.log(g1.rate)
            + a0 * (g1.rate / g0.rate - 1.0)
        )
