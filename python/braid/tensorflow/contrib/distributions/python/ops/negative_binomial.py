"""The negative binomial distribution."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import util


__all__ = ["NegativeBinomial"]


class NegativeBinomial(distribution.ScalarDistribution):
    """How many draws succeed, with the probability `probs` (or of the log-odds `logits`), before
    `total_count` have failed."""

    def __init__(
        self,
        total_count,
        logits=None,
        probs=None,
        validate_args=False,
        allow_nan_stats=True,
        name="NegativeBinomial",
    ):
        parameters = dict(locals())
        with ops.name_scope(name, values=[total_count, logits, probs]) as name:
            self._logits, self._probs = util.get_logits_and_probs(
                logits, probs, validate_args=validate_args, name=name
            )
            with util.positive(validate_args, total_count):
                self._total_count = array_ops.identity(total_count)
        self._tensors = (self._total_count, self._probs)
        super().__init__(
            dtype=self._probs.dtype,
            reparameterization_type=distribution.NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._total_count, self._probs, self._logits],
            name=name,
        )

    @property
    def total_count(self):
        return self._total_count

    @property
    def logits(self):
        return self._logits

    @property
    def probs(self):
        return self._probs

    def _checked(self, x):
        return util.embed_check_nonnegative_integer_form(x) if self.validate_args else x

    def _sample_n(self, n, seed=None):
        beta = math_ops.exp(-self.logits)
        rate = random_ops.random_gamma([n], self.total_count, beta, dtype=self.dtype, seed=seed)
        other = util.gen_new_seed(seed, "negative_binom")
        return random_ops.random_poisson(rate, shape=[], dtype=self.dtype, seed=other)

    def _log_prob(self, x):
        checked = self._checked(x)
        failures = self.total_count * math_ops.log_sigmoid(-self.logits)
        unnormalized = failures + checked * math_ops.log_sigmoid(self.logits)
        x = self._checked(x)
        normalization = (
            -math_ops.lgamma(self.total_count + x)
            + math_ops.lgamma(1.0 + x)
            + math_ops.lgamma(self.total_count)
        )
        return unnormalized - normalization

    def _cdf(self, x):
        x = self._checked(x)
        return math_ops.betainc(self.total_count, 1.0 + x, math_ops.sigmoid(-self.logits))

    def _mean(self):
        return self.total_count * math_ops.exp(self.logits)

    def _variance(self):
        return self._mean() / math_ops.sigmoid(-self.logits)

    def _mode(self):
        total = self.total_count
        more = array_ops.where_v2(1.0 < total, total - 1.0, array_ops.zeros_like(total))
        return math_ops.floor(more * math_ops.exp(self.logits))
