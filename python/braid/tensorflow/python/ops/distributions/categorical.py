"""The distribution of classes."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import kullback_leibler
from braid.tensorflow.python.ops.distributions import util
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["distributions.Categorical"])
class Categorical(distribution.Distribution):
    """One of several classes, with probabilities, or their logarithms up to a constant, in the last
    dimension."""

    def __init__(
        self,
        logits=None,
        probs=None,
        dtype=dtypes.int32,
        validate_args=False,
        allow_nan_stats=True,
        name="Categorical",
    ):
        parameters = dict(locals())
        with ops.name_scope(name, values=[logits, probs]) as name:
            self._logits, self._probs = util.get_logits_and_probs(
                logits=logits, probs=probs, validate_args=validate_args, multidimensional=True, name=name
            )
            static = self._logits.get_shape().with_rank_at_least(1)
            self._batch_rank = None if static.ndims is None else static.ndims - 1
            size = None if static.ndims is None else static.dims[-1].value
            if size is not None:
                self._event_size = ops.convert_to_tensor(size, dtype=dtypes.int32, name="event_size")
            else:
                self._event_size = array_ops.shape(self._logits, name="logits_shape")[-1]
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
    def event_size(self):
        """The number of classes."""
        return self._event_size

    @property
    def logits(self):
        return self._logits

    @property
    def probs(self):
        return self._probs

    def _batch_shape_tensor(self):
        return array_ops.shape(self.logits)[:-1]

    def _batch_shape(self):
        return self.logits.get_shape()[:-1]

    def _event_shape_tensor(self):
        return ops.convert_to_tensor([], dtype=dtypes.int32)

    def _event_shape(self):
        return tensor_shape.scalar()

    def _sample_n(self, n, seed=None):
        rows = array_ops.reshape(self.logits, array_ops.stack([-1, self._event_size]))
        kind = dtypes.int64 if self.dtype.size > 4 else dtypes.int32
        draws = random_ops.multinomial(rows, n, seed=seed, output_dtype=kind)
        shape = array_ops.concat([[n], self.batch_shape_tensor()], 0)
        return math_ops.cast(array_ops.reshape(array_ops.transpose(draws), shape), self.dtype)

    def _log_prob(self, k):
        k = ops.convert_to_tensor(k, name="k")
        kind = k.dtype if k.dtype in (dtypes.int32, dtypes.int64) else dtypes.int32
        k = math_ops.cast(k, kind)
        logits = self.logits
        if k.get_shape() != logits.get_shape()[:-1] or not k.get_shape().is_fully_defined():
            logits = logits * array_ops.ones_like(array_ops.expand_dims(k, -1), dtype=logits.dtype)
            k = k * array_ops.ones(array_ops.shape(logits)[:-1], dtype=kind)
            k.set_shape(logits.get_shape()[:-1])
        return -nn_ops.sparse_softmax_cross_entropy_with_logits(labels=k, logits=logits)

    def _cdf(self, k):
        k = math_ops.cast(k, dtypes.int32)
        is_below = math_ops.range(self._event_size) < array_ops.expand_dims(k, -1)  # as TensorFlow has it
        return math_ops.reduce_sum(self.probs * math_ops.cast(is_below, self.probs.dtype), -1)

    def _entropy(self):
        return -math_ops.reduce_sum(nn_ops.log_softmax(self.logits) * self.probs, axis=-1)

    def _mode(self):
        return math_ops.cast(math_ops.argmax(self.logits, axis=self._batch_rank), self.dtype)


@kullback_leibler.RegisterKL(Categorical, Categorical)
def _kl_categorical_categorical(a, b, name=None):
    with ops.name_scope(name, "kl_categorical_categorical", values=[a.logits, b.logits]):
        ratios = nn_ops.log_softmax(a.logits) - nn_ops.log_softmax(b.logits)
        return math_ops.reduce_sum(nn_ops.softmax(a.logits) * ratios, axis=-1)
