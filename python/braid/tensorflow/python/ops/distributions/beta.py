"""The beta distribution."""

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


_POSITIVE = "Concentration parameter must be positive."


@tf_export(v1=["distributions.Beta"])
class Beta(distribution.ScalarDistribution):
    """Numbers between 0 and 1 with a density of x ** (concentration1 - 1) * (1 - x) ** (concentration0 -
    1)."""

    _param_names = ("concentration1", "concentration0")

    def __init__(
        self,
        concentration1=None,
        concentration0=None,
        validate_args=False,
        allow_nan_stats=True,
        name="Beta",
    ):
        parameters = dict(locals())
        with ops.name_scope(name, values=[concentration1, concentration0]) as name:
            self._concentration1 = util.positive_parameter(
                concentration1, "concentration1", validate_args, message=_POSITIVE
            )
            self._concentration0 = util.positive_parameter(
                concentration0, "concentration0", validate_args, message=_POSITIVE
            )
            util.same_float_dtype(self._concentration1, self._concentration0)
            self._total_concentration = self._concentration1 + self._concentration0
        self._tensors = (self._total_concentration,)
        super().__init__(
            dtype=self._total_concentration.dtype,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            reparameterization_type=distribution.FULLY_REPARAMETERIZED,
            parameters=parameters,
            graph_parents=[self._concentration1, self._concentration0, self._total_concentration],
            name=name,
        )

    @property
    def concentration1(self):
        return self._concentration1

    @property
    def concentration0(self):
        return self._concentration0

    @property
    def total_concentration(self):
        return self._total_concentration

    def _sample_n(self, n, seed=None):
        total = self.total_concentration
        a = array_ops.ones_like(total, dtype=self.dtype) * self.concentration1
        b = array_ops.ones_like(total, dtype=self.dtype) * self.concentration0
        other = util.gen_new_seed(seed, "beta")
        gamma1 = random_ops.random_gamma(shape=[n], alpha=a, dtype=self.dtype, seed=seed)
        gamma0 = random_ops.random_gamma(shape=[n], alpha=b, dtype=self.dtype, seed=other)
        return gamma1 / (gamma1 + gamma0)

    def _log_normalization(self):
        lgammas = math_ops.lgamma(self.concentration1) + math_ops.lgamma(self.concentration0)
        return lgammas - math_ops.lgamma(self.total_concentration)

    def _log_prob(self, x):
        x = self._checked(x)
        power = gen_math_ops.xlogy(self.concentration1 - 1.0, x)
        unnormalized = power + (self.concentration0 - 1.0) * math_ops.log1p(-x)
        return unnormalized - self._log_normalization()

    def _checked(self, x):
        """A sample, which is checked in the step if arguments are validated."""
        if not self.validate_args:
            return x
        above = check_ops.assert_positive(x, message="sample must be positive")
        one = array_ops.ones([], self.dtype)
        below = check_ops.assert_less(x, one, message="sample must be less than `1`.")
        return control_flow_ops.with_dependencies([above, below], x)

    def _cdf(self, x):
        return math_ops.betainc(self.concentration1, self.concentration0, x)

    def _log_cdf(self, x):
        return math_ops.log(self._cdf(x))

    def _entropy(self):
        a, b, total = self.concentration1, self.concentration0, self.total_concentration
        return (
            self._log_normalization()
            - (a - 1.0) * math_ops.digamma(a)
            - (b - 1.0) * math_ops.digamma(b)
            + (total - 2.0) * math_ops.digamma(total)
        )

    def _mean(self):
        return self.concentration1 / self.total_concentration

    def _variance(self):
        return self._mean() * (1.0 - self._mean()) / (1.0 + self.total_concentration)

    def _mode(self):
        mode = (self.concentration1 - 1.0) / (self.total_concentration - 2.0)
        both = (self.concentration1, "concentration1"), (self.concentration0, "concentration0")

        def checks():
            return [
                check_ops.assert_less(
                    array_ops.ones([], self.dtype), value, message="Mode undefined for %s <= 1." % name
                )
                for value, name in both
            ]

        is_defined = lambda: math_ops.logical_and(*[value > 1.0 for value, _ in both])
        return self._defined_or_nan(is_defined, mode, checks)


class BetaWithSoftplusConcentration(Beta):
    """Beta whose parameters are the softplus of those given."""

    def __init__(
        self,
        concentration1,
        concentration0,
        validate_args=False,
        allow_nan_stats=True,
        name="BetaWithSoftplusConcentration",
    ):
        parameters = dict(locals())
        with ops.name_scope(name, values=[concentration1, concentration0]) as name:
            concentration1 = nn_ops.softplus(concentration1, name="softplus_concentration1")
            concentration0 = nn_ops.softplus(concentration0, name="softplus_concentration0")
            super().__init__(concentration1, concentration0, validate_args, allow_nan_stats, name)
        self._set_parameters(parameters)


@kullback_leibler.RegisterKL(Beta, Beta)
def _kl_beta_beta(d1, d2, name=None):
    with ops.name_scope(name, "kl_beta_beta", values=[d1.total_concentration, d2.total_concentration]):
        total1, total2 = d1.total_concentration, d2.total_concentration
        normalizations = d2._log_normalization(), d1._log_normalization()
        return (
            (normalizations[0] - normalizations[1])
            - math_ops.digamma(d1.concentration1) * (d2.concentration1 - d1.concentration1)
            - math_ops.digamma(d1.concentration0) * (d2.concentration0 - d1.concentration0)
            + math_ops.digamma(total1) * (total2 - total1)
        )
