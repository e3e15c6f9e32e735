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


def _lbeta(a, b):
    return math_ops.lgamma(a) + math_ops.lgamma(b) - math_ops.lgamma(a + b)


@tf_export(v1=["distributions.Beta"])
class Beta(distribution.ScalarDistribution):
    """Numbers between 0 and 1 with a density of x ** (concentration1 - 1) * (1 - x) ** (concentration0 -
    1)."""

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
                concentration0, "concentration0", validate_args, self._concentration1.dtype, _POSITIVE
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
        a, b = self._broadcast(self.concentration1), self._broadcast(self.concentration0)
        other = util.gen_new_seed(seed, "beta")
        gamma1 = random_ops.random_gamma(shape=[n], alpha=a, dtype=self.dtype, seed=seed)
        gamma0 = random_ops.random_gamma(shape=[n], alpha=b, dtype=self.dtype, seed=other)
        return gamma1 / (gamma1 + gamma0)

    def _log_prob(self, x):
        a, b = self.concentration1, self.concentration0
        x = self._checked(x)
        return gen_math_ops.xlogy(a - 1.0, x) + math_ops.xlog1py(b - 1.0, -x) - _lbeta(a, b)

    def _checked(self, x):
        """A sample, which is checked in the step if arguments are validated."""
        checks = []
        if self.validate_args:
            one = array_ops.ones([], self.dtype)
            checks = [
                check_ops.assert_positive(x, message="sample must be positive"),
                check_ops.assert_less(x, one, message="sample must be less than `1`."),
            ]
        return control_flow_ops.with_dependencies(checks, x)

    def _cdf(self, x):
        x = self._checked(x)
        ones = array_ops.ones_like(x + self.total_concentration)
        return math_ops.betainc(self.concentration1 * ones, self.concentration0 * ones, x * ones)

    def _entropy(self):
        a, b, total = self.concentration1, self.concentration0, self.total_concentration
        return (
            _lbeta(a, b)
            - (a - 1.0) * math_ops.digamma(a)
            - (b - 1.0) * math_ops.digamma(b)
            + (total - 2.0) * math_ops.digamma(total)
        )

    def _mean(self):
        return self.concentration1 / self.total_concentration

    def _variance(self):
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + self.total_concentration)

    def _mode(self):
        mode = (self.concentration1 - 1.0) / (self.total_concentration - 2.0)
        a, b = self.concentration1, self.concentration0

        def checks():
            one = array_ops.ones([], self.dtype)
            return [
                check_ops.assert_less(one, a, message="Mode undefined for concentration1 <= 1."),
                check_ops.assert_less(one, b, message="Mode undefined for concentration0 <= 1."),
            ]

        return self._defined_or_nan(math_ops.logical_and(a > 1.0, b > 1.0), mode, checks)


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
        super().__init__(
            nn_ops.softplus(concentration1),
            nn_ops.softplus(concentration0),
            validate_args,
            allow_nan_stats,
            name,
        )


@kullback_leibler.RegisterKL(Beta, Beta)
def _kl_beta_beta(d1, d2, name=None):
    with ops.name_scope(name, "kl_beta_beta", values=[d1.total_concentration, d2.total_concentration]):
        a1, b1, a2, b2 = d1.concentration1, d1.concentration0, d2.concentration1, d2.concentration0
        return (
            _lbeta(a2, b2)
            - _lbeta(a1, b1)
            - (a2 - a1) * math_ops.digamma(a1)
            - (b2 - b1) * math_ops.digamma(b1)
            + (a2 - a1 + b2 - b1) * math_ops.digamma(a1 + b1)
        )
