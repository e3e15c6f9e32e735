"""The multinomial distribution whose probabilities have Dirichlet's distribution."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops import special_math_ops
from braid.tensorflow.python.ops.distributions import dirichlet
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import multinomial
from braid.tensorflow.python.ops.distributions import util
from braid.tensorflow.python.util.tf_export import tf_export


def checked_concentration(value, validate_args):
    """The parameter as a tensor, which is checked in the step if arguments are validated."""
    value = ops.convert_to_tensor(value, name="concentration")
    if not validate_args:
        return value
    value = util.embed_check_categorical_event_shape(value)
    check = check_ops.assert_positive(value, message="Concentration parameter must be positive.")
    return control_flow_ops.with_dependencies([check], value)


@tf_export(v1=["distributions.DirichletMultinomial"])
class DirichletMultinomial(dirichlet.VectorDistribution):
    """How often each class comes in `total_count` draws, with probabilities of Dirichlet(concentration)."""

    def __init__(
        self,
        total_count,
        concentration,
        validate_args=False,
        allow_nan_stats=True,
        name="DirichletMultinomial",
    ):
        parameters = dict(locals())
        with ops.name_scope(name, values=[total_count, concentration]) as name:
            self._total_count = multinomial.checked_total(total_count, validate_args)
            self._concentration = checked_concentration(concentration, validate_args)
            self._total_concentration = math_ops.reduce_sum(self._concentration, -1)
        self._vector = self._concentration
        super().__init__(
            dtype=self._concentration.dtype,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            reparameterization_type=distribution.NOT_REPARAMETERIZED,
            parameters=parameters,
            graph_parents=[self._total_count, self._concentration],
            name=name,
        )

    @property
    def total_count(self):
        return self._total_count

    @property
    def concentration(self):
        return self._concentration

    @property
    def total_concentration(self):
        return self._total_concentration

    def _batch_shape_tensor(self):
        return array_ops.shape(self.total_concentration)

    def _batch_shape(self):
        return self.total_concentration.get_shape()

    def _sample_n(self, n, seed=None):
        count = math_ops.cast(self.total_count, dtype=dtypes.int32)
        classes = self.event_shape_tensor()[0]
        gammas = random_ops.random_gamma(shape=[n], alpha=self.concentration, dtype=self.dtype, seed=seed)
        rows = array_ops.reshape(math_ops.log(gammas), shape=[-1, classes])
        other = util.gen_new_seed(seed, "dirichlet_multinomial")
        draws = random_ops.multinomial(logits=rows, num_samples=count, seed=other)
        counts = math_ops.reduce_sum(array_ops.one_hot(draws, depth=classes), -2)
        shape = array_ops.concat([[n], self.batch_shape_tensor(), [classes]], 0)
        return math_ops.cast(array_ops.reshape(counts, shape), self.dtype)

    def _log_prob(self, counts):
        message = "counts last-dimension must sum to `self.total_count`"
        counts = multinomial.checked_counts(self, self.total_count, counts, message)
        both = special_math_ops.lbeta(self.concentration + counts)
        ordered = both - special_math_ops.lbeta(self.concentration)
        return ordered + util.log_combinations(self.total_count, counts)

    def _mean(self):
        return self.total_count * (self.concentration / self.total_concentration[..., array_ops.newaxis])

    def _scale(self):
        total = self.total_concentration[..., array_ops.newaxis]
        return math_ops.sqrt((1.0 + total / self.total_count) / (1.0 + total))

    def _variance(self):
        scale = self._scale()
        scaled = scale * self._mean()
        return scaled * (self.total_count * scale - scaled)

    def _covariance(self):
        scaled = self._scale() * self._mean()
        return array_ops.matrix_set_diag(-dirichlet.outer(scaled), self._variance())
