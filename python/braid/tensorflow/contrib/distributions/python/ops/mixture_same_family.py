"""Mixtures of the distributions of a batch."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import util


__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(distribution.Distribution):
    """One of the distributions in the last dimension of a batch.

    Args:
      mixture_distribution: a Categorical, which one.
      components_distribution: the batch.
    """

    def __init__(
        self,
        mixture_distribution,
        components_distribution,
        validate_args=False,
        allow_nan_stats=True,
        name="MixtureSameFamily",
    ):
        parameters = dict(locals())
        mixture, components = mixture_distribution, components_distribution
        if not mixture.dtype.is_integer:
            raise ValueError(f"`mixture_distribution.dtype` ({mixture.dtype.name}) is not over integers")
        if mixture.event_shape.ndims not in (None, 0):
            raise ValueError("`mixture_distribution` must have scalar `event_dim`s")
        if components.event_shape.ndims is None:
            raise NotImplementedError("MixtureSameFamily: Braid needs to know the rank of the events")
        of_mixture, batch = mixture.batch_shape, components.batch_shape.with_rank_at_least(1)
        if of_mixture.ndims != 0 and not of_mixture.is_compatible_with(batch[:-1]):
            raise ValueError(
                f"`mixture_distribution.batch_shape` (`{of_mixture.as_list()}`) is not compatible with "
                f"`components_distribution.batch_shape` (`{batch[:-1].as_list()}`)"
            )
        choices = tensor_shape.dimension_value(mixture.logits.get_shape().with_rank_at_least(1)[-1])
        count = tensor_shape.dimension_value(batch[-1])
        if choices is not None and count is not None and choices != count:
            raise ValueError(
                f"`mixture_distribution components` ({choices}) does not equal "
                f"`components_distribution.batch_shape[-1]` ({count})"
            )
        with ops.name_scope(name) as name:
            self._assertions = []
            if validate_args and (choices is None or count is None):
                message = "`mixture_distribution components` does not equal `components_distribution.batch_shape[-1:]`"
                sizes = array_ops.shape(mixture.logits)[-1], components.batch_shape_tensor()[-1]
                self._assertions.append(check_ops.assert_equal(*sizes, message=message))
        self._mixture_distribution, self._components_distribution = mixture, components
        self._event_ndims = components.event_shape.ndims
        super().__init__(
            dtype=components.dtype,
            reparameterization_type=distribution.NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=mixture._graph_parents + components._graph_parents,
            name=name,
        )

    @property
    def mixture_distribution(self):
        return self._mixture_distribution

    @property
    def components_distribution(self):
        return self._components_distribution

    def _batch_shape_tensor(self):
        return self.components_distribution.batch_shape_tensor()[:-1]

    def _batch_shape(self):
        return self.components_distribution.batch_shape.with_rank_at_least(1)[:-1]

    def _event_shape_tensor(self):
        return self.components_distribution.event_shape_tensor()

    def _event_shape(self):
        return self.components_distribution.event_shape

    def _for_each(self, x):
        """x with a dimension for the components."""
        return array_ops.expand_dims(x, -1 - self._event_ndims)

    def _sum(self, weights, values, event_ndims=None):
        """The sum of weights, [..., components], times values, [..., components] + event."""
        event_ndims = self._event_ndims if event_ndims is None else event_ndims
        for _ in range(event_ndims):
            weights = array_ops.expand_dims(weights, -1)
        return math_ops.reduce_sum(weights * values, axis=-1 - event_ndims)

    def _probs(self):
        return nn_ops.softmax(self.mixture_distribution.logits)

    def _sample_n(self, n, seed=None):
        with ops.control_dependencies(self._assertions):
            other = util.gen_new_seed(seed, "mixture_same_family")
            x = self.components_distribution.sample(n, seed=other)
            batch = self.batch_shape_tensor()
            chosen = self.mixture_distribution.sample(n, seed=seed)
            if self.mixture_distribution.batch_shape.ndims == 0:
                # One choice for a whole batch, as in TensorFlow.
                ones = array_ops.ones([array_ops.shape(batch)[0]], dtypes.int32)
                chosen = array_ops.reshape(chosen, array_ops.concat([[n], ones], 0))
            count = array_ops.shape(self.mixture_distribution.logits)[-1]
            return self._sum(array_ops.one_hot(chosen, count, dtype=x.dtype), x)

    def _log_of(self, what, x):
        with ops.control_dependencies(self._assertions):
            logs = getattr(self.components_distribution, what)(self._for_each(x))
            weights = nn_ops.log_softmax(self.mixture_distribution.logits)
            return math_ops.reduce_logsumexp(logs + weights, axis=-1)

    def _log_prob(self, x):
        return self._log_of("log_prob", x)

    def _log_cdf(self, x):
        return self._log_of("log_cdf", x)

    def _mean(self):
        return self._sum(self._probs(), self.components_distribution.mean())

    def _variance(self):
        components = self.components_distribution
        differences = math_ops.squared_difference(components.mean(), self._for_each(self._mean()))
        return self._sum(self._probs(), components.variance() + differences)

    def _covariance(self):
        if self._event_ndims != 1:
            raise NotImplementedError("covariance is not implemented for events that are no vectors")
        components = self.components_distribution
        difference = components.mean() - self._for_each(self._mean())
        products = array_ops.expand_dims(difference, -1) * array_ops.expand_dims(difference, -2)
        return self._sum(self._probs(), components.covariance() + products, event_ndims=2)
