"""Classes as vectors with a 1."""

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
from braid.tensorflow.python.ops.distributions import kullback_leibler
from braid.tensorflow.python.ops.distributions import util


class VectorOfClasses(dirichlet.VectorDistribution):
    """A distribution of vectors with one element for each class."""

    def _set(self, logits, probs, dtype, rep_type, parameters, validate_args, allow_nan_stats, name):
        with ops.name_scope(name, values=[logits, probs]) as name:
            self._logits, self._probs = util.get_logits_and_probs(
                logits=logits, probs=probs, validate_args=validate_args, multidimensional=True, name=name
            )
            dtype = self._prepare(self._logits.dtype if dtype is None else dtype, dtype, validate_args)
            static = self._logits.get_shape().with_rank_at_least(1)
            if static.ndims is not None:
                self._batch_rank = ops.convert_to_tensor(static.ndims - 1, dtypes.int32, name="batch_rank")
            else:
                with ops.name_scope("batch_rank"):
                    self._batch_rank = array_ops.rank(self._logits) - 1
            with ops.name_scope("event_size"):
                self._event_size = array_ops.shape(self._logits)[-1]
        self._vector = self._logits
        super().__init__(
            dtype=dtype,
            reparameterization_type=rep_type,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._logits, self._probs] + self._other_parents(),
            name=name,
        )

    def _prepare(self, dtype, given_dtype, validate_args):
        """Makes further parameters; the type of samples."""
        return dtype

    def _other_parents(self):
        return []

    def _rows(self, x):
        """x as a matrix."""
        return array_ops.reshape(x, [-1, self.event_size])

    def _checked(self, x):
        """A sample, which is checked in the step if arguments are validated."""
        if not self.validate_args:
            return x
        checks = [
            check_ops.assert_non_positive(x),
            check_ops.assert_near(
                array_ops.zeros([], dtype=self.dtype), math_ops.reduce_logsumexp(x, axis=[-1])
            ),
        ]
        return control_flow_ops.with_dependencies(checks, x)

    def _broadcast_to_each_other(self, x):
        """(x, logits), in the shape of both."""
        logits = self.logits
        shapes = x.get_shape(), logits.get_shape()
        if not all(shape.is_fully_defined() for shape in shapes) or shapes[0] != shapes[1]:
            logits = array_ops.ones_like(x, dtype=logits.dtype) * logits
            x = array_ops.ones_like(logits, dtype=x.dtype) * x
        return x, logits

    @property
    def event_size(self):
        """The number of classes."""
        return self._event_size

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
        shape = self._shape_of(n)
        rows = self.logits if self.logits.get_shape().ndims == 2 else self._rows(self.logits)
        draws = array_ops.transpose(random_ops.multinomial(rows, n, seed=seed))
        return array_ops.reshape(array_ops.one_hot(draws, self.event_size, dtype=self.dtype), shape)

    def _checked(self, x):
        if not self.validate_args:
            return x
        one = array_ops.ones([], dtype=x.dtype)
        checks = [
            check_ops.assert_non_negative(x),
            check_ops.assert_equal(one, math_ops.reduce_sum(x, axis=[-1])),
        ]
        return control_flow_ops.with_dependencies(checks, x)

    def _log_prob(self, x):
        x, logits = self._broadcast_to_each_other(self._checked(x))
        shape = array_ops.shape(math_ops.reduce_sum(logits, -1))
        logits = self._rows(logits)
        made = -nn_ops.softmax_cross_entropy_with_logits(labels=self._rows(x), logits=logits)
        return array_ops.reshape(made, shape)

    def _entropy(self):
        return -math_ops.reduce_sum(nn_ops.log_softmax(self.logits) * self.probs, axis=-1)

    def _mode(self):
        best = math_ops.argmax(self.logits, axis=self._batch_rank)
        mode = array_ops.one_hot(best, self.event_size, dtype=self.dtype)
        mode.set_shape(self.logits.get_shape())
        return mode

    def _variance(self):
        return self._probs * (1.0 - self._probs)

    def _covariance(self):
        return array_ops.matrix_set_diag(-dirichlet.outer(self.probs), self._variance())


@kullback_leibler.RegisterKL(OneHotCategorical, OneHotCategorical)
def _kl_of_classes(a, b, name=None):
    with ops.name_scope(name, "kl_categorical_categorical", values=[a.logits, b.logits]):
        probs = nn_ops.softmax(a.logits)
        ratios = nn_ops.log_softmax(a.logits) - nn_ops.log_softmax(b.logits)
        return math_ops.reduce_sum(probs * ratios, axis=-1)
