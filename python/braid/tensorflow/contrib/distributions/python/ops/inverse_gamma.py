"""The inverses of gamma numbers."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
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
            with util.positive(validate_args, concentration, rate):
                self._concentration = array_ops.identity(concentration, name="concentration")
                self._rate = array_ops.identity(rate, name="rate")
            util.same_float_dtype(self._concentration, self._rate)
        self._tensors = (self._concentration, self._rate)
        super().__init__(
            dtype=self._concentration.dtype,
            reparameterization_type=distribution.NOT_REPARAMETERIZED,
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
        check_ops.assert_same_float_dtype(tensors=[x], dtype=self.dtype)
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
        unnormalized = -(1.0 + self.concentration) * math_ops.log(x) - self.rate / x
        normalization = math_ops.lgamma(self.concentration) - self.concentration * math_ops.log(self.rate)
        return unnormalized - normalization

    def _cdf(self, x):
        return math_ops.igammac(self.concentration, self.rate / self._checked(x))

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
                message=f"{what} undefined when any concentration <= {least:g}",
            )
        ]
        return self._defined_or_nan(lambda: self.concentration > least, value, checks)

    def _mean(self):
        return self._where_above(1.0, self.rate / (self.concentration - 1.0), "mean")

    def _variance(self):
        over = math_ops.square(self.rate) / math_ops.squared_difference(self.concentration, 1.0)
        variance = over / (self.concentration - 2.0)
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
        self._set_parameters(parameters)
