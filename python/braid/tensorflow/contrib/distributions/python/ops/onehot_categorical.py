"""Classes as vectors with a 1."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops.distributions import dirichlet
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import kullback_leibler
from braid.tensorflow.python.ops.distributions import util


class VectorOfClasses(dirichlet.VectorDistribution):
    """A distribution of vectors with one element for each class."""

    def _set(self, logits, probs, dtype, rep_type, parameters, validate_args, allow_nan_stats, name):
        with ops.name_scope(name, values=[logits, probs]) as name:
            self._logits, self._probs = util.get_logits_and_probs(
                logits=logits, probs=probs, validate_args=validate_args, multidimensional=True, name=name
            )
        self._vector = self._logits
        super().__init__(
            dtype=self._logits.dtype if dtype is None else dtype,
            reparameterization_type=rep_type,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._logits, self._probs],
            name=name,
        )

    @property
    def event_size(self):
        """The number of classes."""
        return array_ops.shape(self._logits)[-1]

    @property
    def logits(self):
        return self._logits

    @property
    def probs(self):
        return self._probs

    def _shape_of(self, n):
        return array_ops.concat([[n], array_ops.shape(self._logits)], 0)


class OneHotCategorical(VectorOfClasses):
    """One of several classes, as a vector with a 1 in its place."""

    def __init__(
        self,
        logits=None,
        probs=None,
        dtype=dtypes.int32,
        validate_args=False,
        allow_nan_stats=True,
        name="OneHotCategorical",
    ):
        parameters = dict(locals())
        kind = distribution.NOT_REPARAMETERIZED
        self._set(logits, probs, dtype, kind, parameters, validate_args, allow_nan_stats, name)

    def _sample_n(self, n, seed=None):
        rows = array_ops.reshape(self._logits, array_ops.stack([-1, self.event_size]))
        draws = array_ops.transpose(random_ops.multinomial(rows, n, seed=seed))
        made = array_ops.one_hot(draws, self.event_size, dtype=self.dtype)
        return array_ops.reshape(made, self._shape_of(n))

    def _log_prob(self, x):
        return math_ops.reduce_sum(
            math_ops.cast(x, self._logits.dtype) * nn_ops.log_softmax(self._logits), -1
        )

    def _entropy(self):
        return -math_ops.reduce_sum(nn_ops.log_softmax(self._logits) * self._probs, -1)

    def _mode(self):
        best = math_ops.argmax(self._logits, axis=self._logits.get_shape().ndims - 1)
        return array_ops.one_hot(best, self.event_size, dtype=self.dtype)

    def _mean(self):
        return array_ops.identity(self._probs)

    def _variance(self):
        return self._probs * (1.0 - self._probs)

    def _covariance(self):
        products = -array_ops.expand_dims(self._probs, -1) * array_ops.expand_dims(self._probs, -2)
        return array_ops.matrix_set_diag(products, self._variance())


@kullback_leibler.RegisterKL(OneHotCategorical, OneHotCategorical)
def _kl_of_classes(a, b, name=None):
    with ops.name_scope(name, "kl_one_hot_categorical", values=[a.logits, b.logits]):
        ratios = nn_ops.log_softmax(a.logits) - nn_ops.log_softmax(b.logits)
        return math_ops.reduce_sum(a.probs * ratios, -1)
