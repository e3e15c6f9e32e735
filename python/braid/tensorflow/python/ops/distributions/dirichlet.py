"""Dirichlet's distribution."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gen_math_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops import special_math_ops
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import kullback_leibler
from braid.tensorflow.python.util.tf_export import tf_export


class VectorDistribution(distribution.Distribution):
    """A distribution of vectors, whose parameters are in the last dimension of the tensor `_vector`."""

    def _batch_shape_tensor(self):
        return array_ops.shape(self._vector)[:-1]

    def _batch_shape(self):
        return self._vector.get_shape()[:-1]

    def _event_shape_tensor(self):
        return array_ops.shape(self._vector)[-1:]

    def _event_shape(self):
        return self._vector.get_shape().with_rank_at_least(1)[-1:]


def checked_concentration(value, validate_args):
    """The parameter as a tensor, which is checked in the step if arguments are validated."""
    value = ops.convert_to_tensor(value, name="concentration")
    if not validate_args:
        return value
    checks = [
        check_ops.assert_positive(value, message="Concentration parameter must be positive."),
        check_ops.assert_rank_at_least(value, 1, message="Concentration parameter must have >=1 dimensions."),
        check_ops.assert_less(
            1, array_ops.shape(value)[-1], message="Concentration parameter must have event_size >= 2."
        ),
    ]
    return control_flow_ops.with_dependencies(checks, value)


def outer(x, y=None):
    """The products of all pairs of elements of vectors (of one and of another one)."""
    y = x if y is None else y
    return math_ops.matmul(x[..., array_ops.newaxis], y[..., array_ops.newaxis, :])


@tf_export(v1=["distributions.Dirichlet"])
class Dirichlet(VectorDistribution):
    """Vectors of probabilities with a density of the product of x ** (concentration - 1)."""

    def __init__(self, concentration, validate_args=False, allow_nan_stats=True, name="Dirichlet"):
        parameters = dict(locals())
        with ops.name_scope(name, values=[concentration]) as name:
            self._concentration = checked_concentration(concentration, validate_args)
            self._total_concentration = math_ops.reduce_sum(self._concentration, -1)
        self._vector = self._concentration
        super().__init__(
            dtype=self._concentration.dtype,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            reparameterization_type=distribution.FULLY_REPARAMETERIZED,
            parameters=parameters,
            graph_parents=[self._concentration, self._total_concentration],
            name=name,
        )

    @property
    def concentration(self):
        return self._concentration

    @property
    def total_concentration(self):
        return self._total_concentration

    def _sample_n(self, n, seed=None):
        gammas = random_ops.random_gamma(shape=[n], alpha=self.concentration, dtype=self.dtype, seed=seed)
        return gammas / math_ops.reduce_sum(gammas, -1, keepdims=True)

    def _batch_shape_tensor(self):
        return array_ops.shape(self.total_concentration)

    def _batch_shape(self):
        return self.total_concentration.get_shape()

    def _checked(self, x):
        """A sample, which is checked in the step if arguments are validated."""
        if not self.validate_args:
            return x
        positive = check_ops.assert_positive(x, message="samples must be positive")
        one, total = array_ops.ones([], self.dtype), math_ops.reduce_sum(x, -1)
        sums = check_ops.assert_near(one, total, message="sample last-dimension must sum to `1`")
        return control_flow_ops.with_dependencies([positive, sums], x)

    def _log_prob(self, x):
        x = self._checked(x)
        unnormalized = math_ops.reduce_sum(gen_math_ops.xlogy(self.concentration - 1.0, x), -1)
        return unnormalized - special_math_ops.lbeta(self.concentration)

    def _entropy(self):
        count = math_ops.cast(self.event_shape_tensor()[0], self.dtype)
        return (
            special_math_ops.lbeta(self.concentration)
            + (self.total_concentration - count) * math_ops.digamma(self.total_concentration)
            - math_ops.reduce_sum((self.concentration - 1.0) * math_ops.digamma(self.concentration), -1)
        )

    def _mean(self):
        return self.concentration / self.total_concentration[..., array_ops.newaxis]

    def _scale(self):
        return math_ops.rsqrt(1.0 + self.total_concentration[..., array_ops.newaxis])

    def _variance(self):
        scale = self._scale()
        scaled = scale * self._mean()
        return scaled * (scale - scaled)

    def _covariance(self):
        scaled = self._scale() * self._mean()
        return array_ops.matrix_set_diag(-outer(scaled), self._variance())

    def _mode(self):
        count = math_ops.cast(self.event_shape_tensor()[0], self.dtype)
        mode = (self.concentration - 1.0) / (self.total_concentration[..., array_ops.newaxis] - count)
        message = "Mode undefined when any concentration <= 1"
        return self._defined_or_nan(
            lambda: math_ops.reduce_all(self.concentration > 1.0, axis=-1, keepdims=True),
            mode,
            lambda: [
                check_ops.assert_less(array_ops.ones([], self.dtype), self.concentration, message=message)
            ],
            shape=lambda: array_ops.shape(mode),
        )


@kullback_leibler.RegisterKL(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(d1, d2, name=None):
    with ops.name_scope(name, "kl_dirichlet_dirichlet", values=[d1.concentration, d2.concentration]):
        total = math_ops.digamma(math_ops.reduce_sum(d1.concentration, axis=-1, keepdims=True))
        digammas = math_ops.digamma(d1.concentration) - total
        return (
            math_ops.reduce_sum((d1.concentration - d2.concentration) * digammas, axis=-1)
            - special_math_ops.lbeta(d1.concentration)
            + special_math_ops.lbeta(d2.concentration)
        )
