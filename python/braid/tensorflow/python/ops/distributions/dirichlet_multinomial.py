"""The multinomial distribution whose probabilities have Dirichlet's distribution."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops import special_math_ops
from braid.tensorflow.python.ops.distributions import dirichlet
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import multinomial
from braid.tensorflow.python.ops.distributions import util
from braid.tensorflow.python.util.tf_export import tf_export


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
            self._concentration = dirichlet.checked_concentration(concentration, validate_args)
            self._total_count = ops.convert_to_tensor(
                total_count, dtype=self._concentration.dtype, name="total_count"
            )
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

    def _sample_n(self, n, seed=None):
        gammas = random_ops.random_gamma(shape=[n], alpha=self.concentration, dtype=self.dtype, seed=seed)
        other = util.gen_new_seed(seed, "dirichlet_multinomial")
        shape = array_ops.concat([[n], self.batch_shape_tensor()], 0)
        made = multinomial.draw(math_ops.log(gammas), self.total_count, 1, shape, other, self.dtype)
        return made[0]

    def _log_prob(self, counts):
        message = "counts last-dimension must sum to `self.total_count`"
        counts = multinomial.checked_counts(self, self.total_count, counts, message)
        both = special_math_ops.lbeta(self.concentration + counts)
        ordered = both - special_math_ops.lbeta(self.concentration)
        return ordered + util.log_combinations(self.total_count, counts)

    def _mean(self):
        return (
            self._count_of_class() * self.concentration / array_ops.expand_dims(self.total_concentration, -1)
        )

    def _count_of_class(self):
        """The total count, to be broadcast to the classes. It may have their dimension, of size 1, itself."""
        rank = self.total_count.shape.ndims
        if rank and rank == self.concentration.shape.ndims:
            return self.total_count
        return array_ops.expand_dims(self.total_count, -1)

    def _scale(self):
        total = array_ops.expand_dims(self.total_concentration, -1)
        return (self._count_of_class() + total) / (1.0 + total)

    def _variance(self):
        part = self.concentration / array_ops.expand_dims(self.total_concentration, -1)
        return self._mean() * (1.0 - part) * self._scale()

    def _covariance(self):
        part = self.concentration / array_ops.expand_dims(self.total_concentration, -1)
        scaled = self._scale() * self._mean()
        products = -array_ops.expand_dims(scaled, -1) * array_ops.expand_dims(part, -2)
        return array_ops.matrix_set_diag(products, self._variance())
