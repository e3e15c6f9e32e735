"""Probabilities in place of a vector with a 1 (Jang et al. 2016, Maddison et al. 2016)."""

import numpy as np

from braid.tensorflow.contrib.distributions.python.ops import bijectors
from braid.tensorflow.contrib.distributions.python.ops import onehot_categorical
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import transformed_distribution
from braid.tensorflow.python.ops.distributions import util


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
        self._temperature = temperature
        self._set(logits, probs, dtype, kind, parameters, validate_args, allow_nan_stats, name)

    def _prepare(self, dtype, given_dtype, validate_args):
        temperature = self._temperature
        if given_dtype is None and not validate_args:
            temperature = math_ops.cast(temperature, dtype)
        with util.positive(validate_args, temperature):
            self._temperature = array_ops.identity(temperature, name="temperature")
            self._temperature_2d = array_ops.reshape(temperature, [-1, 1], name="temperature_2d")
        return dtype

    def _other_parents(self):
        return [self._temperature]

    @property
    def temperature(self):
        return self._temperature

    def _sample_n(self, n, seed=None):
        shape = self._shape_of(n)
        rows = self._rows(self.logits * array_ops.ones(shape, dtype=self.dtype))
        uniform = random_ops.random_uniform(
            shape=array_ops.shape(rows),
            minval=np.finfo(self.dtype.as_numpy_dtype).tiny,  # whose logarithm is finite
            maxval=1.0,
            dtype=self.dtype,
            seed=seed,
        )
        gumbel = -math_ops.log(-math_ops.log(uniform))
        noisy = math_ops.div(gumbel + rows, self._temperature_2d)
        return array_ops.reshape(nn_ops.log_softmax(noisy), shape)

    def _log_prob(self, x):
        x, logits = self._broadcast_to_each_other(self._checked(x))
        shape = array_ops.shape(math_ops.reduce_sum(logits, axis=[-1]))
        logits = self._rows(logits)
        x = self._rows(x)
        k = math_ops.cast(self.event_size, x.dtype)
        normalization = math_ops.lgamma(k) + (k - 1.0) * math_ops.log(self.temperature)
        logs = nn_ops.log_softmax(logits - x * self._temperature_2d)
        return array_ops.reshape(normalization + math_ops.reduce_sum(logs, [-1]), shape)


class RelaxedOneHotCategorical(transformed_distribution.TransformedDistribution):
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
        logs = ExpRelaxedOneHotCategorical(
            temperature,
            logits=logits,
            probs=probs,
            dtype=dtype,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
        )
        super().__init__(logs, bijectors.Exp(), validate_args=validate_args, name=name)
