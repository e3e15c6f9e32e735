"""Distributions that take further arguments."""

import functools

from braid.tensorflow.python.ops.distributions import distribution


__all__ = ["ConditionalDistribution"]


class ConditionalDistribution(distribution.Distribution):
    """Keyword arguments of its methods go to _sample_n, _log_prob, ..."""

    def sample(self, sample_shape=(), seed=None, name="sample", **condition_kwargs):
        return self._call_sample_n(sample_shape, seed, name, **condition_kwargs)

    def _given(self, condition_kwargs, method, *args, **kwargs):
        """Calls a method of the class above, which calls the _methods with the arguments."""
        names = ("_log_prob", "_prob", "_log_cdf", "_cdf", "_log_survival_function", "_survival_function")
        kept = {name: getattr(self, name) for name in names}
        try:
            for name, function in kept.items():
                setattr(self, name, functools.partial(function, **condition_kwargs))
            return method(*args, **kwargs)
        finally:
            for name in names:
                delattr(self, name)

    def log_prob(self, value, name="log_prob", **condition_kwargs):
        return self._given(condition_kwargs, super().log_prob, value, name)

    def prob(self, value, name="prob", **condition_kwargs):
        return self._given(condition_kwargs, super().prob, value, name)

    def log_cdf(self, value, name="log_cdf", **condition_kwargs):
        return self._given(condition_kwargs, super().log_cdf, value, name)

    def cdf(self, value, name="cdf", **condition_kwargs):
        return self._given(condition_kwargs, super().cdf, value, name)

    def log_survival_function(self, value, name="log_survival_function", **condition_kwargs):
        return self._given(condition_kwargs, super().log_survival_function, value, name)

    def survival_function(self, value, name="survival_function", **condition_kwargs):
        return self._given(condition_kwargs, super().survival_function, value, name)
