"""The exponential distribution."""

import numpy as np

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops.distributions import gamma
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["distributions.Exponential"])
class Exponential(gamma.Gamma):
    """Waiting times with the mean 1 / rate."""

    def __init__(self, rate, validate_args=False, allow_nan_stats=True, name="Exponential"):
        parameters = dict(locals())
        with ops.name_scope(name, values=[rate]) as name:
            rate = ops.convert_to_tensor(rate, name="rate")
        super().__init__(
            concentration=array_ops.ones([], dtype=rate.dtype),
            rate=rate,
            allow_nan_stats=allow_nan_stats,
            validate_args=validate_args,
            name=name,
        )
        self._set_parameters(parameters)
        self._graph_parents += [self._rate]

    _param_names = ("rate",)

    def _log_survival_function(self, value):
        return self._log_prob(value) - math_ops.log(self._rate)

    def _sample_n(self, n, seed=None):
        least = np.finfo(self.dtype.as_numpy_dtype).tiny  # whose logarithm is finite
        sampled = random_ops.random_uniform(
            array_ops.concat([[n], array_ops.shape(self._rate)], 0),
            minval=least,
            maxval=1.0,
            seed=seed,
            dtype=self.dtype,
        )
        return -math_ops.log(sampled) / self.rate


class ExponentialWithSoftplusRate(Exponential):
    """Exponential whose rate is the softplus of the one given."""

    def __init__(self, rate, validate_args=False, allow_nan_stats=True, name="ExponentialWithSoftplusRate"):
        parameters = dict(locals())
        with ops.name_scope(name, values=[rate]) as name:
            rate = nn_ops.softplus(rate, name="softplus_rate")
            super().__init__(rate, validate_args, allow_nan_stats, name)
        self._set_parameters(parameters)
