"""Bernoulli's distribution."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_impl
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import kullback_leibler
from braid.tensorflow.python.ops.distributions import util
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["distributions.Bernoulli"])
class Bernoulli(distribution.ScalarDistribution):
    """1 with a probability, given as such or as its logit, and otherwise 0."""

    _param_names = ("logits",)

    def __init__(
        self,
        logits=None,
        probs=None,
        dtype=dtypes.int32,
        validate_args=False,
        allow_nan_stats=True,
        name="Bernoulli",
    ):
        parameters = dict(locals())
        with ops.name_scope(name) as name:
            self._logits, self._probs = util.get_logits_and_probs(
                logits=logits, probs=probs, validate_args=validate_args, name=name
            )
        self._tensors = (self._logits,)
        super().__init__(
            dtype=dtype,
            reparameterization_type=distribution.NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._logits, self._probs],
            name=name,
        )

    @property
    def logits(self):
        return self._logits

    @property
    def probs(self):
        return self._probs

    def _sample_n(self, n, seed=None):
        shape = self._shape_of_samples(n)
        uniform = random_ops.random_uniform(shape, seed=seed, dtype=self.probs.dtype)
        return math_ops.cast(math_ops.less(uniform, self.probs), self.dtype)

    def _log_prob(self, event):
        if self.validate_args:
            event = util.embed_check_integer_casting_closed(event, target_dtype=dtypes.bool)
        event, logits = math_ops.cast(event, self.logits.dtype), self.logits
        shapes = event.get_shape(), logits.get_shape()
        if not (all(shape.is_fully_defined() for shape in shapes) and shapes[0] == shapes[1]):
            logits, event = array_ops.ones_like(event) * logits, array_ops.ones_like(logits) * event
        return -nn_impl.sigmoid_cross_entropy_with_logits(labels=event, logits=logits)

    def _entropy(self):
        return -self.logits * (math_ops.sigmoid(self.logits) - 1) + nn_ops.softplus(-self.logits)

    def _mean(self):
        return array_ops.identity(self.probs)

    def _variance(self):
        return self._mean() * (1.0 - self.probs)

    def _mode(self):
        return math_ops.cast(self.probs > 0.5, self.dtype)


@kullback_leibler.RegisterKL(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(a, b, name=None):
    with ops.name_scope(name, "kl_bernoulli_bernoulli", values=[a.logits, b.logits]):
        one = nn_ops.softplus(-b.logits) - nn_ops.softplus(-a.logits)
        zero = nn_ops.softplus(b.logits) - nn_ops.softplus(a.logits)
        return math_ops.sigmoid(a.logits) * one + math_ops.sigmoid(-a.logits) * zero
