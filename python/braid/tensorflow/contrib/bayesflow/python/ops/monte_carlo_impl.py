"""Expectations of functions of random values, estimated by samples."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops

__all__ = ["expectation", "expectation_importance_sampler", "expectation_importance_sampler_logspace"]


def _get_samples(q, z, n, seed):
    with ops.name_scope("get_samples", values=[z, n]):
        if (n is None) == (z is None):
            raise ValueError(f'Must specify exactly one of arguments "n" and "z".  Found: n = {n}, z = {z}')
        return ops.convert_to_tensor(z, name="z") if n is None else q.sample(n, seed=seed)


def _log_of_mean(log_values):
    """The logarithm of the mean of the exponentials over the first dimension."""
    greatest = array_ops.stop_gradient(math_ops.reduce_max(log_values, axis=[0]))
    return math_ops.log(math_ops.reduce_mean(math_ops.exp(log_values - greatest), axis=[0])) + greatest


def expectation_importance_sampler(
    f, log_p, sampling_dist_q, z=None, n=None, seed=None, name="expectation_importance_sampler"
):
    """The mean of f under p, of which samples are drawn from q: the mean of f(z) p(z) / q(z).

    The positive and the negative part of f are added up by their logarithms, each plus 1.
    log_p: a function that gives log p. z: samples of q; without them, n are drawn.
    """
    with ops.name_scope(name, values=[z, n]):
        z = _get_samples(sampling_dist_q, z, n, seed)
        log_p_z, log_q_z, f_z = log_p(z), sampling_dist_q.log_prob(z), f(z)

        def mean(part):
            return math_ops.exp(_log_of_mean(math_ops.log(nn_ops.relu(part) + 1.0) + log_p_z - log_q_z))

        return mean(f_z) - mean(-f_z)


def expectation_importance_sampler_logspace(
    log_f, log_p, sampling_dist_q, z=None, n=None, seed=None, name="expectation_importance_sampler_logspace"
):
    """The logarithm of the mean of a positive f under p: see expectation_importance_sampler()."""
    with ops.name_scope(name, values=[z, n]):
        z = _get_samples(sampling_dist_q, z, n, seed)
        return _log_of_mean(log_f(z) + log_p(z) - sampling_dist_q.log_prob(z))


def expectation(f, samples, log_prob=None, use_reparametrization=True, axis=0, keep_dims=False, name=None):
    """The mean of f of samples over `axis`.

    use_reparametrization: gradients go through the samples; False: they are those of the score function,
    which takes log_prob, a function that gives the logarithm of the samples' probabilities.
    """
    with ops.name_scope(name, "expectation", [samples]):
        if not callable(f):
            raise ValueError("`f` must be a callable function.")
        if use_reparametrization:
            return math_ops.reduce_mean(f(samples), axis=axis, keepdims=keep_dims)
        if not callable(log_prob):
            raise ValueError("`log_prob` must be a callable function.")
        x = array_ops.stop_gradient(samples)
        log_p, values = log_prob(x), f(x)
        # Nothing is added to the values, and f(x) times the gradient of log p to their gradient.
        score = array_ops.stop_gradient(values) * (log_p - array_ops.stop_gradient(log_p))
        return math_ops.reduce_mean(values + score, axis=axis, keepdims=keep_dims)
