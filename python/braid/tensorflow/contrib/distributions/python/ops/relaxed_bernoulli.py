"""Numbers between 0 and 1 in place of either (Maddison et al. 2016)."""

from braid.tensorflow.contrib.distributions.python.ops import bijectors
from braid.tensorflow.contrib.distributions.python.ops import logistic
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops.distributions import transformed_distribution
from braid.tensorflow.python.ops.distributions import util


__all__ = ["RelaxedBernoulli"]


class RelaxedBernoulli(transformed_distribution.TransformedDistribution):
    """Numbers near 0 or 1, the more so the lower the temperature; near 1 with the probability `probs` (or of
    the log-odds `logits`)."""

    def __init__(
        self,
        temperature,
        logits=None,
        probs=None,
        validate_args=False,
        allow_nan_stats=True,
        name="RelaxedBernoulli",
    ):
        parameters = dict(locals())
        with ops.name_scope(name, values=[temperature, logits, probs]) as name:
            checks = [check_ops.assert_positive(temperature)] if validate_args else []
            with ops.control_dependencies(checks):
                self._temperature = array_ops.identity(temperature, name="temperature")
            self._logits, self._probs = util.get_logits_and_probs(
                logits=logits, probs=probs, validate_args=validate_args
            )
            super().__init__(
                distribution=logistic.Logistic(
                    self._logits / self._temperature,
                    1.0 / self._temperature,
                    validate_args=validate_args,
                    allow_nan_stats=allow_nan_stats,
                    name=name + "/Logistic",
                ),
                bijector=bijectors.Sigmoid(validate_args=validate_args),
                validate_args=validate_args,
                name=name,
            )
        self._set_parameters(parameters)

    @property
    def temperature(self):
        return self._temperature

    @property
    def logits(self):
        return self._logits

    @property
    def probs(self):
        return self._probs
