"""The binomial distribution."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import util


__all__ = ["Binomial"]


class Binomial(distribution.ScalarDistribution):
    """How many of `total_count` draws succeed, each with the probability `probs` (or of the log-odds
    `logits`)."""

    def __init__(
        self,
        total_count,
        logits=None,
        probs=None,
        validate_args=False,
        allow_nan_stats=True,
        name="Binomial",
    ):
        parameters = dict(locals())
        with ops.name_scope(name, values=[total_count, logits, probs]) as name:
            total_count = ops.convert_to_tensor(total_count, name="total_count")
            if validate_args:
                checks = [
                    check_ops.assert_non_negative(total_count, message="total_count must be non-negative."),
                    util.assert_integer_form(
                        total_count, message="total_count cannot contain fractional components."
                    ),
                ]
                total_count = control_flow_ops.with_dependencies(checks, total_count)
            self._total_count = total_count
            self._logits, self._probs = util.get_logits_and_probs(
                logits=logits, probs=probs, validate_args=validate_args, name=name
            )
        self._tensors = (self._total_count, self._probs)
        super().__init__(
            dtype=self._probs.dtype,
            reparameterization_type=distribution.NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._total_count, self._logits, self._probs],
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

    def _checked(self, counts):
        if not self.validate_args:
            return counts
        counts = util.embed_check_nonnegative_integer_form(counts)
        message = "counts are not less than or equal to n."
        check = check_ops.assert_less_equal(counts, self.total_count, message=message)
        return control_flow_ops.with_dependencies([check], counts)

    def _sample_n(self, n, seed=None):
        raise NotImplementedError(
            "Binomial.sample: TensorFlow 1.15 has none; use the first count of tf.distributions.Multinomial"
        )

    def _log_prob(self, counts):
        counts = self._checked(counts)
        failures = self.total_count - counts
        chosen = (
            math_ops.lgamma(1.0 + self.total_count)
            - math_ops.lgamma(1.0 + failures)
            - math_ops.lgamma(1.0 + counts)
        )
        return counts * math_ops.log(self.probs) + failures * math_ops.log1p(-self.probs) + chosen

    def _cdf(self, counts):
        counts = self._checked(counts)
        like = array_ops.zeros_like(counts + self.total_count + self.probs)
        failures = self.total_count - counts + like
        are_all = math_ops.equal(failures, 0.0)
        safe = array_ops.where_v2(are_all, array_ops.ones_like(failures), failures)
        below = math_ops.betainc(safe, counts + 1.0 + like, 1.0 - self.probs + like)
        return array_ops.where_v2(are_all, array_ops.ones_like(below), below)

    def _mean(self):
        return self.total_count * self.probs

    def _variance(self):
        return self._mean() * (1.0 - self.probs)

    def _mode(self):
        return math_ops.floor((1.0 + self.total_count) * self.probs)
