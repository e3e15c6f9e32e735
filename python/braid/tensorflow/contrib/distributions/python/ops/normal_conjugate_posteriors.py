"""The posterior of a normal mean, of normal numbers with a known standard deviation."""

from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import normal


__all__ = ["normal_conjugates_known_scale_posterior", "normal_conjugates_known_scale_predictive"]


def normal_conjugates_known_scale_posterior(prior, scale, s, n):
    """The Normal of the mean of numbers: `prior` before, then after `n` with the sum `s`.

    `scale`: the numbers' standard deviation.
    """
    if not isinstance(prior, normal.Normal):
        raise TypeError("Expected prior to be an instance of type Normal")
    if s.dtype != prior.dtype:
        raise TypeError(f"Observation sum s.dtype does not match prior dtype: {s.dtype} vs. {prior.dtype}")
    n = math_ops.cast(n, prior.dtype)
    of_prior, of_numbers = math_ops.square(prior.scale), math_ops.square(scale)
    variance = 1.0 / (1.0 / of_prior + n / of_numbers)
    mean = (prior.loc / of_prior + s / of_numbers) * variance
    return normal.Normal(loc=mean, scale=math_ops.sqrt(variance))


def normal_conjugates_known_scale_predictive(prior, scale, s, n):
    """The Normal of the next number."""
    posterior = normal_conjugates_known_scale_posterior(prior, scale, s, n)
    variance = math_ops.square(posterior.scale) + math_ops.square(scale)
    return normal.Normal(loc=posterior.loc, scale=math_ops.sqrt(variance))
