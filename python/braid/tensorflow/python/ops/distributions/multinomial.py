"""The multinomial distribution."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops.distributions import dirichlet
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import util
from braid.tensorflow.python.util.tf_export import tf_export


def checked_counts(distribution, total_count, counts, message):
    """A sample, which is checked in the step if arguments are validated: whole numbers with that sum."""
    if not distribution.validate_args:
        return counts
    counts = util.embed_check_nonnegative_integer_form(counts)
    total = math_ops.reduce_sum(counts, axis=-1)
    checks = [check_ops.assert_equal(total_count, total, message=message)]
    return control_flow_ops.with_dependencies(checks, counts)


def draw(logits, total_count, n, batch_shape, seed, dtype):
    """n samples of counts of `total_count` draws, [n] + batch_shape + [classes]."""
    classes = array_ops.shape(logits)[-1]
    count = math_ops.cast(math_ops.reduce_max(total_count), dtypes.int32)
    rows = array_ops.reshape(logits, array_ops.stack([-1, classes]))
    draws = random_ops.multinomial(rows, n * count, seed=seed)
    draws = array_ops.reshape(draws, array_ops.stack([-1, n, count]))
    totals = total_count * array_ops.ones(batch_shape, dtype=total_count.dtype)
    totals = math_ops.cast(array_ops.reshape(totals, [-1, 1, 1]), dtypes.int32)
    is_counted = math_ops.cast(math_ops.range(count) < totals, dtype)  # a distribution with fewer draws
    hits = array_ops.one_hot(draws, classes, dtype=dtype) * array_ops.expand_dims(is_counted, -1)
    counts = array_ops.transpose(math_ops.reduce_sum(hits, axis=-2), [1, 0, 2])
    return array_ops.reshape(counts, array_ops.concat([[n], batch_shape, [classes]], 0))


@tf_export(v1=["distributions.Multinomial"])
class Multinomial(dirichlet.VectorDistribution):
    """How often each class comes in `total_count` draws; the probabilities (or logits) are in the last
    dimension."""

    def __init__(
        self,
        total_count,
        logits=None,
        probs=None,
        validate_args=False,
        allow_nan_stats=True,
        name="Multinomial",
    ):
        parameters = dict(locals())
        with ops.name_scope(name, values=[total_count, logits, probs]) as name:
            self._logits, self._probs = util.get_logits_and_probs(
                logits=logits, probs=probs, multidimensional=True, validate_args=validate_args, name=name
            )
            self._total_count = ops.convert_to_tensor(
                total_count, dtype=self._probs.dtype, name="total_count"
            )
            self._mean_val = array_ops.expand_dims(self._total_count, -1) * self._probs
        self._vector = self._mean_val
        super().__init__(
            dtype=self._probs.dtype,
            reparameterization_type=distribution.NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._total_count, self._logits, self._probs],
            name=name,
        )

    @property
    def total_count(self):
        return self._total_count

    @property
    def logits(self):
        return self._logits

    @property
    def probs(self):
        return self._probs

    def _sample_n(self, n, seed=None):
        logits = self.logits + array_ops.zeros_like(self._mean_val)
        return draw(logits, self.total_count, n, self.batch_shape_tensor(), seed, self.dtype)

    def _log_prob(self, counts):
        counts = checked_counts(self, self.total_count, counts, "counts must sum to `self.total_count`")
        unnormalized = math_ops.reduce_sum(counts * nn_ops.log_softmax(self.logits), -1)
        return unnormalized + util.log_combinations(self.total_count, counts)

    def _mean(self):
        return array_ops.identity(self._mean_val)

    def _variance(self):
        return self._mean_val * (1.0 - self.probs)

    def _covariance(self):
        products = -array_ops.expand_dims(self._mean_val, -1) * array_ops.expand_dims(self.probs, -2)
        return array_ops.matrix_set_diag(products, self._variance())
