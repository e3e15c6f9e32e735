"""Events of several independent ones."""

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import kullback_leibler


__all__ = ["Independent"]


class Independent(distribution.Distribution):
    """The last `reinterpreted_batch_ndims` dimensions of a distribution's batch become dimensions of its
    events; all but the first by default."""

    def __init__(self, distribution, reinterpreted_batch_ndims=None, validate_args=False, name=None):
        parameters = dict(locals())
        name = name or "Independent" + distribution.name
        self._distribution = distribution
        with ops.name_scope(name) as name:
            ndims = reinterpreted_batch_ndims
            if ndims is None:
                known = distribution.batch_shape.ndims
                if known is not None:
                    ndims = max(0, known - 1)
                else:
                    ndims = math_ops.maximum(0, array_ops.shape(distribution.batch_shape_tensor())[0] - 1)
            tensor = ops.convert_to_tensor(ndims, dtype=dtypes.int32, name="reinterpreted_batch_ndims")
            self._known_ndims = tensor_util.constant_value(tensor)
            self._ndims = tensor if self._known_ndims is None else self._known_ndims
            super().__init__(
                dtype=distribution.dtype,
                reparameterization_type=distribution.reparameterization_type,
                validate_args=validate_args,
                allow_nan_stats=distribution.allow_nan_stats,
                parameters=parameters,
                graph_parents=[tensor] + distribution._graph_parents,
                name=name,
            )
            self._assertions = []
            own = distribution.batch_shape.ndims
            if own is not None and self._known_ndims is not None:
                if self._known_ndims > own:
                    raise ValueError(
                        f"reinterpreted_batch_ndims({self._known_ndims}) cannot exceed "
                        f"distribution.batch_ndims({own})"
                    )
            elif validate_args:
                message = "reinterpreted_batch_ndims cannot exceed distribution.batch_ndims"
                own = self._length(distribution.batch_shape_tensor())
                self._assertions.append(check_ops.assert_less_equal(tensor, own, message=message))

    @property
    def distribution(self):
        return self._distribution

    @property
    def reinterpreted_batch_ndims(self):
        return self._ndims

    def _length(self, shape):
        known = tensor_shape.dimension_value(shape.shape.with_rank_at_least(1)[0])
        return array_ops.shape(shape)[0] if known is None else known

    def _batch_shape_tensor(self):
        with ops.control_dependencies(self._assertions):
            shape = self.distribution.batch_shape_tensor()
            return shape[: self._length(shape) - self._ndims]

    def _split(self):
        """The batch's shape without the last dimensions, and these; None: it is not known."""
        shape = self.distribution.batch_shape
        if self._known_ndims is None or shape.ndims is None:
            return None
        return shape[: shape.ndims - self._known_ndims], shape[shape.ndims - self._known_ndims :]

    def _batch_shape(self):
        return tensor_shape.unknown_shape() if self._split() is None else self._split()[0]

    def _event_shape_tensor(self):
        with ops.control_dependencies(self._assertions):
            shape = self.distribution.batch_shape_tensor()
            moved = shape[self._length(shape) - self._ndims :]
            return array_ops.concat([moved, self.distribution.event_shape_tensor()], axis=0)

    def _event_shape(self):
        if self._split() is None:
            return tensor_shape.unknown_shape()
        return self._split()[1].concatenate(self.distribution.event_shape)

    def _sum(self, value):
        if self._known_ndims is None:
            return math_ops.reduce_sum(value, axis=-1 - math_ops.range(self._ndims))
        return math_ops.reduce_sum(value, axis=-1 - np.arange(self._known_ndims))

    def _sample_n(self, n, seed=None):
        with ops.control_dependencies(self._assertions):
            return self.distribution.sample(sample_shape=n, seed=seed)

    def _log_prob(self, x):
        with ops.control_dependencies(self._assertions):
            return self._sum(self.distribution.log_prob(x))

    def _entropy(self):
        with ops.control_dependencies(self._assertions):
            return self._sum(self.distribution.entropy())

    def _mean(self):
        with ops.control_dependencies(self._assertions):
            return self.distribution.mean()

    def _variance(self):
        with ops.control_dependencies(self._assertions):
            return self.distribution.variance()

    def _stddev(self):
        with ops.control_dependencies(self._assertions):
            return self.distribution.stddev()

    def _mode(self):
        with ops.control_dependencies(self._assertions):
            return self.distribution.mode()


@kullback_leibler.RegisterKL(Independent, Independent)
def _kl_independent(a, b, name="kl_independent"):
    p, q = a.distribution, b.distribution
    if not a.event_shape.is_compatible_with(b.event_shape):
        raise ValueError("Event shapes do not match.")
    if not p.event_shape.is_compatible_with(q.event_shape) or a._known_ndims != b._known_ndims:
        raise NotImplementedError("KL between Independents with different event shapes not supported.")
    return a._sum(kullback_leibler.kl_divergence(p, q, name=name))
