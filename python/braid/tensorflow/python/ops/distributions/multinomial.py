"""The multinomial distribution."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import map_fn
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


def checked_total(total_count, validate_args):
    """The parameter as a tensor, which is checked in the step if arguments are validated."""
    total_count = ops.convert_to_tensor(total_count, name="total_count")
    return util.embed_check_nonnegative_integer_form(total_count) if validate_args else total_count


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
            self._total_count = checked_total(total_count, validate_args)
            self._logits, self._probs = util.get_logits_and_probs(
                logits=logits, probs=probs, multidimensional=True, validate_args=validate_args, name=name
            )
            self._mean_val = self._total_count[..., array_ops.newaxis] * self._probs
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
        counts = math_ops.cast(self.total_count, dtype=dtypes.int32)
        classes = self.event_shape_tensor()[0]
        counts = array_ops.ones_like(self.logits[..., 0], dtype=counts.dtype) * counts
        logits = array_ops.ones_like(counts[..., array_ops.newaxis], dtype=self.logits.dtype) * self.logits
        rows = array_ops.reshape(logits, [-1, classes])
        draws_of_row = n * array_ops.reshape(counts, [-1])

        # Each distribution draws by itself, because the numbers of draws may differ.
        def samples_of_row(row):
            logits, draws = row
            hits = random_ops.multinomial(logits[array_ops.newaxis, ...], draws, seed)
            hits = array_ops.one_hot(array_ops.reshape(hits, shape=[n, -1]), depth=classes)
            return math_ops.reduce_sum(hits, axis=-2)

        samples = map_fn.map_fn(samples_of_row, [rows, draws_of_row], dtype=self.dtype)
        samples = array_ops.transpose(samples, perm=[1, 0, 2])
        shape = array_ops.concat([[n], self.batch_shape_tensor(), [classes]], 0)
        return array_ops.reshape(samples, shape)

    def _checked(self, counts):
        return checked_counts(self, self.total_count, counts, "counts must sum to `self.total_count`")

    def _log_prob(self, counts):
        terms = self._checked(counts) * nn_ops.log_softmax(self.logits)
        unnormalized = math_ops.reduce_sum(terms, -1)
        return unnormalized - -util.log_combinations(self.total_count, self._checked(counts))

    def _mean(self):
        return array_ops.identity(self._mean_val)

    def _broadcast_probs(self):
        return self.probs * array_ops.ones_like(self.total_count)[..., array_ops.newaxis]

    def _variance(self):
        probs = self._broadcast_probs()
        return self._mean_val - self._mean_val * probs

    def _covariance(self):
        products = -dirichlet.outer(self._mean_val, self._broadcast_probs())
        return array_ops.matrix_set_diag(products, self._variance())
