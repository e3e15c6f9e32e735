"""Probabilities in place of a vector with a 1 (Jang et al. 2016, Maddison et al. 2016)."""

from braid.tensorflow.contrib.distributions.python.ops import onehot_categorical
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops.distributions import distribution


class ExpRelaxedOneHotCategorical(onehot_categorical.VectorOfClasses):
    """The logarithms of RelaxedOneHotCategorical."""

    def __init__(
        self,
        temperature,
        logits=None,
        probs=None,
        dtype=None,
        validate_args=False,
        allow_nan_stats=True,
        name="ExpRelaxedOneHotCategorical",
    ):
        parameters = dict(locals())
        kind = distribution.FULLY_REPARAMETERIZED
        self._set(logits, probs, dtype, kind, parameters, validate_args, allow_nan_stats, name)
        temperature = ops.convert_to_tensor(temperature, dtype=self._logits.dtype, name="temperature")
        self._temperature = temperature

    @property
    def temperature(self):
        return self._temperature

    def _column(self):
        return array_ops.expand_dims(self._temperature, -1)

    def _sample_n(self, n, seed=None):
        least = self.dtype.as_numpy_dtype(1e-37 if self.dtype == dtypes.float32 else 1e-300)
        uniform = random_ops.random_uniform(
            self._shape_of(n), minval=least, maxval=1.0, seed=seed, dtype=self.dtype
        )
        gumbel = -math_ops.log(-math_ops.log(uniform))
        return nn_ops.log_softmax((gumbel + self._logits) / self._column())

    def _log_prob(self, x):
        k = math_ops.cast(self.event_size, x.dtype)
        normalization = math_ops.lgamma(k) + (k - 1.0) * math_ops.log(self._temperature)
        unnormalized = nn_ops.log_softmax(self._logits - x * self._column())
        return math_ops.reduce_sum(unnormalized, axis=[-1]) + normalization


class RelaxedOneHotCategorical(ExpRelaxedOneHotCategorical):
    """Vectors of probabilities near those with a single 1, the more so the lower the temperature."""

    def __init__(
        self,
        temperature,
        logits=None,
        probs=None,
        dtype=None,
        validate_args=False,
        allow_nan_stats=True,
        name="RelaxedOneHotCategorical",
    ):
        super().__init__(temperature, logits, probs, dtype, validate_args, allow_nan_stats, name)

    def _sample_n(self, n, seed=None):
        return math_ops.exp(super()._sample_n(n, seed))

    def _log_prob(self, x):
        logs = math_ops.log(x)
        return super()._log_prob(logs) - math_ops.reduce_sum(logs, -1)
