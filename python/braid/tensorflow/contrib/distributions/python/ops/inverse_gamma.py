"""The inverses of gamma numbers."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import util


__all__ = ["InverseGamma", "InverseGammaWithSoftplusConcentrationRate"]


class InverseGamma(distribution.ScalarDistribution):
    """1 / x, for x of a gamma distribution."""

    _param_names = ("concentration", "rate")

    def __init__(self, concentration, rate, validate_args=False, allow_nan_stats=True, name="InverseGamma"):
        parameters = dict(locals())
        with ops.name_scope(name, values=[concentration, rate]) as name:
            self._concentration = util.positive_parameter(concentration, "concentration", validate_args)
            self._rate = util.positive_parameter(rate, "rate", validate_args, dtype=self._concentration.dtype)
        self._tensors = (self._concentration, self._rate)
        super().__init__(
            dtype=self._concentration.dtype,
            reparameterization_type=distribution.FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
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

    def _checked(self, x):
        if not self.validate_args:
            return x
        return control_flow_ops.with_dependencies([check_ops.assert_positive(x)], x)

    def _sample_n(self, n, seed=None):
        drawn = random_ops.random_gamma(
            [n], alpha=self.concentration, beta=self.rate, dtype=self.dtype, seed=seed
        )
        return 1.0 / drawn

    def _log_prob(self, x):
        x = self._checked(x)
        normalization = math_ops.lgamma(self.concentration) - self.concentration * math_ops.log(self.rate)
        return -(1.0 + self.concentration) * math_ops.log(x) - self.rate / x - normalization

    def _cdf(self, x):
        return math_ops.igammac(self._broadcast(self.concentration), self.rate / self._checked(x))

    def _entropy(self):
        return (
            self.concentration
            + math_ops.log(self.rate)
            + math_ops.lgamma(self.concentration)
            - (1.0 + self.concentration) * math_ops.digamma(self.concentration)
        )

    def _where_above(self, least, value, what):
        checks = lambda: [
            check_ops.assert_less(
                constant_op.constant(least, self.dtype),
                self.concentration,
                message=f"{what} undefined when any concentration <= {least}",
            )
        ]
        return self._defined_or_nan(self._broadcast(self.concentration) > least, value, checks)

    def _mean(self):
        return self._where_above(1.0, self.rate / (self.concentration - 1.0), "mean")

    def _variance(self):
        over = self.concentration - 1.0
        variance = math_ops.square(self.rate) / math_ops.square(over) / (self.concentration - 2.0)
        return self._where_above(2.0, variance, "variance")

    def _mode(self):
        return self.rate / (1.0 + self.concentration)


class InverseGammaWithSoftplusConcentrationRate(InverseGamma):
    """InverseGamma whose parameters are the softplus of those given."""

    def __init__(
        self,
        concentration,
        rate,
        validate_args=False,
        allow_nan_stats=True,
        name="InverseGammaWithSoftplusConcentrationRate",
    ):
        parameters = dict(locals())
        with ops.name_scope(name, values=[concentration, rate]) as name:
            super().__init__(
                concentration=nn_ops.softplus(concentration, name="softplus_concentration"),
                rate=nn_ops.softplus(rate, name="softplus_rate"),
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                name=name,
            )
        self._parameters = {k: v for k, v in parameters.items() if k not in ("self", "__class__")}
