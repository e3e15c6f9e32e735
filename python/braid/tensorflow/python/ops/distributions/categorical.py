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
            if validate_args:
                self._logits = util.embed_check_categorical_event_shape(self._logits)
            static = self._logits.get_shape().with_rank_at_least(1)
            if static.ndims is not None:
                self._batch_rank = ops.convert_to_tensor(static.ndims - 1, dtypes.int32, name="batch_rank")
            else:
                with ops.name_scope("batch_rank"):
                    self._batch_rank = array_ops.rank(self._logits) - 1
            shape = array_ops.shape(self._logits, name="logits_shape")
            size = tensor_shape.dimension_value(static[-1])
            if size is not None:
                self._event_size = ops.convert_to_tensor(size, dtype=dtypes.int32, name="event_size")
            else:
                with ops.name_scope("event_size"):
                    self._event_size = shape[self._batch_rank]
            if static[:-1].is_fully_defined():
                batch = static[:-1].as_list()
                self._batch_shape_value = ops.convert_to_tensor(batch, dtypes.int32, name="batch_shape")
            else:
                with ops.name_scope("batch_shape"):
                    self._batch_shape_value = shape[:-1]
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
        return array_ops.identity(self._batch_shape_value)

    def _batch_shape(self):
        return self.logits.get_shape()[:-1]

    def _event_shape_tensor(self):
        return ops.convert_to_tensor([], dtype=dtypes.int32)

    def _event_shape(self):
        return tensor_shape.scalar()

    def _sample_n(self, n, seed=None):
        rows = self.logits
        if rows.get_shape().ndims != 2:
            rows = array_ops.reshape(rows, [-1, self.event_size])
        kind = dtypes.int64 if self.dtype.size > 4 else dtypes.int32
        draws = random_ops.multinomial(rows, n, seed=seed, output_dtype=kind)
        draws = array_ops.transpose(draws)
        shape = array_ops.concat([[n], self.batch_shape_tensor()], 0)
        return math_ops.cast(array_ops.reshape(draws, shape), self.dtype)

    def _with_classes(self, k, params):
        """(classes, the parameters of each), in the shape of both. TypeError: k are no numbers."""
        k = ops.convert_to_tensor(k, name="k")
        if self.validate_args:
            k = util.embed_check_integer_casting_closed(k, target_dtype=dtypes.int32)
        if k.dtype.is_floating:
            k = math_ops.cast(k, dtypes.int32)
        elif not k.dtype.is_integer:
            raise TypeError(
                "`value` should have integer `dtype` or `self.dtype` (%s)" % self.dtype.base_dtype
            )
        rows = params.shape[:-1]
        is_known = params.shape.ndims is not None and rows.is_fully_defined() and k.shape.is_fully_defined()
        if not is_known or rows != k.shape:
            params = params * array_ops.ones_like(k[..., array_ops.newaxis], dtype=params.dtype)
            k = k * array_ops.ones(array_ops.shape(params)[:-1], dtype=k.dtype)
            if params.shape.ndims is not None:
                k.set_shape(params.shape[:-1])
        return k, params

    def _log_prob(self, k):
        k, logits = self._with_classes(k, self.logits)
        return -nn_ops.sparse_softmax_cross_entropy_with_logits(labels=k, logits=logits)

    def _cdf(self, k):
        # The probability of less than k, as TensorFlow has it.
        k, probs = self._with_classes(k, self.probs)
        rows = array_ops.reshape(probs, (-1, self._event_size))
        is_below = array_ops.sequence_mask(array_ops.reshape(k, [-1]), self._event_size)
        sums = math_ops.reduce_sum(array_ops.where(is_below, rows, array_ops.zeros_like(rows)), axis=-1)
        return array_ops.reshape(sums, array_ops.shape(k))

    def _entropy(self):
        return -math_ops.reduce_sum(nn_ops.log_softmax(self.logits) * self.probs, axis=-1)

    def _mode(self):
        mode = math_ops.cast(math_ops.argmax(self.logits, axis=self._batch_rank), self.dtype)
        mode.set_shape(self.batch_shape)
        return mode


@kullback_leibler.RegisterKL(Categorical, Categorical)
def _kl_categorical_categorical(a, b, name=None):
    with ops.name_scope(name, "kl_categorical_categorical", values=[a.logits, b.logits]):
        ratios = nn_ops.log_softmax(a.logits) - nn_ops.log_softmax(b.logits)
        return math_ops.reduce_sum(nn_ops.softmax(a.logits) * ratios, axis=-1)
