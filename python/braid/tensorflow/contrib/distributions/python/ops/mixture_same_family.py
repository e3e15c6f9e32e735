"""Mixtures of the distributions of a batch."""

import numpy as np

from braid.tensorflow.contrib.distributions.python.ops import distribution_util
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops.distributions import distribution


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
            shape = components.event_shape_tensor()
            known = tensor_shape.dimension_value(shape.shape[0])
            self._event_ndims = array_ops.shape(shape)[0] if known is None else known
            self._num_components = array_ops.shape(mixture.logits)[-1] if choices is None else choices
            if validate_args and (choices is None or count is None):
                message = "`mixture_distribution components` does not equal `components_distribution.batch_shape[-1:]`"
                sizes = array_ops.shape(mixture.logits)[-1], components.batch_shape_tensor()[-1]
                self._assertions.append(check_ops.assert_equal(*sizes, message=message))
        self._mixture_distribution, self._components_distribution = mixture, components
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
        with ops.name_scope("pad_sample_dims", values=[x]):
            ndims = array_ops.rank(x) if x.shape.ndims is None else x.shape.ndims
            shape = array_ops.shape(x)
            d = ndims - self._event_ndims
            return array_ops.reshape(x, shape=array_ops.concat([shape[:d], [1], shape[d:]], axis=0))

    def _pad(self, weights):
        ndims = self.event_shape.ndims
        return distribution_util.pad_mixture_dimensions(weights, self, self.mixture_distribution, ndims)

    def _sum(self, values):
        return math_ops.reduce_sum(values, axis=-1 - self._event_ndims)

    def _sample_n(self, n, seed=None):
        # As in TensorFlow, the seed of the samples is not the seed of their parts.
        with ops.control_dependencies(self._assertions):
            x = self.components_distribution.sample(n)
            kind = x.dtype.as_numpy_dtype
            chosen = array_ops.one_hot(
                indices=self.mixture_distribution.sample(n),
                depth=self._num_components,
                on_value=np.ones([], dtype=kind),
                off_value=np.zeros([], dtype=kind),
            )
            return self._sum(x * self._pad(chosen))

    def _log_of(self, what, x):
        x = self._for_each(x)
        logs = getattr(self.components_distribution, what)(x)
        weights = nn_ops.log_softmax(self.mixture_distribution.logits, axis=-1)
        return math_ops.reduce_logsumexp(logs + weights, axis=-1)

    def _log_prob(self, x):
        with ops.control_dependencies(self._assertions):
            return self._log_of("log_prob", x)

    def _log_cdf(self, x):
        return self._log_of("log_cdf", x)

    def _mean(self):
        with ops.control_dependencies(self._assertions):
            probs = self._pad(self.mixture_distribution.probs)
            return self._sum(probs * self.components_distribution.mean())

    def _variance(self):
        components = self.components_distribution
        with ops.control_dependencies(self._assertions):
            probs = self._pad(self.mixture_distribution.probs)
            within = self._sum(probs * components.variance())
            means = components.mean()
            differences = math_ops.squared_difference(means, self._for_each(self._mean()))
            return within + self._sum(probs * differences)

    def _covariance(self):
        if self.event_shape.ndims != 1:
            raise NotImplementedError("covariance is not implemented for events that are no vectors")
        components = self.components_distribution
        with ops.control_dependencies(self._assertions):
            probs = self._pad(self._pad(self.mixture_distribution.probs))
            within = math_ops.reduce_sum(probs * components.covariance(), axis=-3)
            means = components.mean()
            z = means - self._for_each(self._mean())
            products = z[..., array_ops.newaxis, :] * z[..., array_ops.newaxis]
            return within + math_ops.reduce_sum(probs * products, axis=-3)
