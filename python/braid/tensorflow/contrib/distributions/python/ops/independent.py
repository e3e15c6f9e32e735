"""Events of several independent ones."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
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
        ndims = distribution.batch_shape.ndims
        with ops.name_scope(name) as name:
            if reinterpreted_batch_ndims is None:
                if ndims is None:
                    raise NotImplementedError("Independent: the rank of the batch is not known; say how many")
                reinterpreted_batch_ndims = max(0, ndims - 1)
            elif tensor_util.is_tensor(reinterpreted_batch_ndims):
                reinterpreted_batch_ndims = tensor_util.constant_value(reinterpreted_batch_ndims)
                if reinterpreted_batch_ndims is None:
                    raise NotImplementedError("Independent: reinterpreted_batch_ndims must be known")
        reinterpreted_batch_ndims = int(reinterpreted_batch_ndims)
        if ndims is not None and reinterpreted_batch_ndims > ndims:
            raise ValueError(
                f"reinterpreted_batch_ndims({reinterpreted_batch_ndims}) cannot exceed "
                f"distribution.batch_ndims({ndims})"
            )
        self._distribution, self._ndims = distribution, reinterpreted_batch_ndims
        super().__init__(
            dtype=distribution.dtype,
            reparameterization_type=distribution.reparameterization_type,
            validate_args=validate_args,
            allow_nan_stats=distribution.allow_nan_stats,
            parameters=parameters,
            graph_parents=distribution._graph_parents,
            name=name,
        )

    @property
    def distribution(self):
        return self._distribution

    @property
    def reinterpreted_batch_ndims(self):
        return self._ndims

    def _batch_shape_tensor(self):
        shape = self.distribution.batch_shape_tensor()
        return shape[: array_ops.shape(shape)[0] - self._ndims]

    def _batch_shape(self):
        shape = self.distribution.batch_shape
        return shape if shape.ndims is None else shape[: shape.ndims - self._ndims]

    def _event_shape_tensor(self):
        shape = self.distribution.batch_shape_tensor()
        moved = shape[array_ops.shape(shape)[0] - self._ndims :]
        return array_ops.concat([moved, self.distribution.event_shape_tensor()], 0)

    def _event_shape(self):
        shape = self.distribution.batch_shape
        moved = tensor_shape.TensorShape([None] * self._ndims)
        if shape.ndims is not None:
            moved = shape[shape.ndims - self._ndims :]
        return moved.concatenate(self.distribution.event_shape)

    def _sum(self, value):
        return math_ops.reduce_sum(value, axis=[-1 - i for i in range(self._ndims)])

    def _sample_n(self, n, seed=None):
        return self.distribution.sample(sample_shape=n, seed=seed)

    def _log_prob(self, x):
        return self._sum(self.distribution.log_prob(x))

    def _entropy(self):
        return self._sum(self.distribution.entropy())

    def _mean(self):
        return self.distribution.mean()

    def _variance(self):
        return self.distribution.variance()

    def _stddev(self):
        return self.distribution.stddev()

    def _mode(self):
        return self.distribution.mode()


@kullback_leibler.RegisterKL(Independent, Independent)
def _kl_independent(a, b, name="kl_independent"):
    p, q = a.distribution, b.distribution
    if not a.event_shape.is_compatible_with(b.event_shape):
        raise ValueError("Event shapes do not match.")
    if not p.event_shape.is_compatible_with(q.event_shape) or a._ndims != b._ndims:
        raise NotImplementedError("KL between Independents with different event shapes not supported.")
    return a._sum(kullback_leibler.kl_divergence(p, q, name=name))
