"""Distributions of what a bijector makes of samples."""

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import bijector
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import identity_bijector
from braid.tensorflow.python.ops.distributions import util


__all__ = ["TransformedDistribution"]


class TransformedDistribution(distribution.Distribution):
    """The distribution of bijector(x), for x of another distribution.

    Args:
      distribution: that of x.
      bijector: the identity by default.
      batch_shape, event_shape: shapes in place of those of `distribution`, whose batch or events are then
        scalars: it is asked for that many independent samples.
    """

    def __init__(
        self,
        distribution,
        bijector=None,
        batch_shape=None,
        event_shape=None,
        validate_args=False,
        name=None,
    ):
        parameters = dict(locals())
        name = name or ("" if bijector is None else bijector.name) + distribution.name
        with ops.name_scope(name, values=[event_shape, batch_shape]) as name:
            if bijector is None:
                bijector = identity_bijector.Identity(validate_args=validate_args)
            self._new_batch, batch_ndims = _override(
                batch_shape,
                distribution.batch_shape,
                distribution.is_scalar_batch,
                validate_args,
                "batch_shape",
            )
            self._new_event, event_ndims = _override(
                event_shape,
                distribution.event_shape,
                distribution.is_scalar_event,
                validate_args,
                "event_shape",
            )
        self._distribution, self._bijector = distribution, bijector
        # Samples of the event's shape have the batch behind it: these dimensions are exchanged.
        turned = bool(event_ndims) and not batch_ndims and distribution.batch_shape.ndims != 0
        self._turned_ndims = event_ndims if turned else 0
        self._event_axes = [i - event_ndims + self._turned_ndims for i in range(event_ndims)]
        super().__init__(
            dtype=distribution.dtype,
            reparameterization_type=distribution.reparameterization_type,
            validate_args=validate_args,
            allow_nan_stats=distribution.allow_nan_stats,
            parameters=parameters,
            graph_parents=distribution._graph_parents + bijector.graph_parents,
            name=name,
        )

    @property
    def distribution(self):
        """The distribution of x."""
        return self._distribution

    @property
    def bijector(self):
        return self._bijector

    def _event_shape_tensor(self):
        own = self._new_event if self._event_axes else self.distribution.event_shape_tensor()
        return self.bijector.forward_event_shape_tensor(own)

    def _event_shape(self):
        if self._event_axes:
            own = tensor_util.constant_value_as_shape(self._new_event)
        else:
            own = self.distribution.event_shape
        return self.bijector.forward_event_shape(own)

    def _batch_shape_tensor(self):
        return self.distribution.batch_shape_tensor() if self._new_batch is None else self._new_batch

    def _batch_shape(self):
        if self._new_batch is None:
            return self.distribution.batch_shape
        return tensor_util.constant_value_as_shape(self._new_batch)

    def _turn(self, x, by):
        """Moves the first `by` dimensions behind the others; the last ones to the front where it is
        negative."""
        if not by:
            return x
        ndims = util.prefer_static_rank(x)
        by = by if by > 0 else ndims + by
        return array_ops.transpose(x, array_ops.concat([math_ops.range(by, ndims), math_ops.range(0, by)], 0))

    def _sample_n(self, n, seed=None, **distribution_kwargs):
        shapes = [s for s in (self._new_batch, self._new_event) if s is not None]
        shapes = [*shapes, [n]] if self._turned_ndims else [[n], *shapes]
        shape = array_ops.concat(shapes, 0) if len(shapes) > 1 else shapes[0]
        x = self.distribution.sample(sample_shape=shape, seed=seed, **distribution_kwargs)
        return self._turn(x, self._turned_ndims)

    def _call_sample_n(self, sample_shape, seed, name, bijector_kwargs=None, distribution_kwargs=None):
        with self._name_scope(name, values=[sample_shape]):
            sample_shape = ops.convert_to_tensor(sample_shape, dtype=dtypes.int32, name="sample_shape")
            sample_shape = array_ops.reshape(sample_shape, [-1])
            known = tensor_util.constant_value(sample_shape)
            n = math_ops.reduce_prod(sample_shape) if known is None else int(np.prod(known, dtype=np.int64))
            x = self._sample_n(n, seed, **(distribution_kwargs or {}))
            x = array_ops.reshape(x, array_ops.concat([sample_shape, array_ops.shape(x)[1:]], 0))
            y = self.bijector.forward(x, **(bijector_kwargs or {}))
            if known is not None:
                inner = self.batch_shape.concatenate(self.event_shape)
                y.set_shape(tensor_shape.TensorShape(known.tolist()).concatenate(inner))
            return y

    def _event_ndims(self):
        if self.event_shape.ndims is not None:
            return self.event_shape.ndims
        return array_ops.size(self.event_shape_tensor())

    def _of_each_x(self, y, finish, bijector_kwargs):
        """finish(x, log det of the inverse) for each x that y comes from."""
        x = self.bijector.inverse(y, **bijector_kwargs)
        ndims = self._event_ndims()
        ildj = self.bijector.inverse_log_det_jacobian(y, event_ndims=ndims, **bijector_kwargs)
        if self.bijector._is_injective:
            x, ildj = (x,), (ildj,)
        made = []
        for x_i, ildj_i in zip(x, ildj):
            value = finish(self._turn(x_i, -self._turned_ndims), ildj_i)
            if self._event_axes and isinstance(ndims, int) and y.get_shape().ndims is not None:
                outer = y.get_shape()[: y.get_shape().ndims - ndims]
                value.set_shape(array_ops.broadcast_static_shape(outer, self.batch_shape))
            made.append(value)
        return made

    def _log_prob(self, y, bijector_kwargs=None, distribution_kwargs=None):
        def finish(x, ildj):
            value = self.distribution.log_prob(x, **(distribution_kwargs or {}))
            if self._event_axes:
                value = math_ops.reduce_sum(value, self._event_axes)
            return value + math_ops.cast(ildj, value.dtype)

        made = self._of_each_x(y, finish, bijector_kwargs or {})
        return made[0] if len(made) == 1 else math_ops.reduce_logsumexp(array_ops.stack(made), axis=0)

    def _prob(self, y, bijector_kwargs=None, distribution_kwargs=None):
        def finish(x, ildj):
            value = self.distribution.prob(x, **(distribution_kwargs or {}))
            if self._event_axes:
                value = math_ops.reduce_prod(value, self._event_axes)
            return value * math_ops.exp(math_ops.cast(ildj, value.dtype))

        made = self._of_each_x(y, finish, bijector_kwargs or {})
        return made[0] if len(made) == 1 else sum(made)

    def _of_numbers(self, what):
        if self._event_axes:
            raise NotImplementedError(f"{what} is not implemented when overriding event_shape")
        if not self.bijector._is_injective:
            raise NotImplementedError(f"{what} is not implemented when bijector is not injective.")

    def _at_x(self, what, y, bijector_kwargs=None, distribution_kwargs=None):
        self._of_numbers(what)
        x = self.bijector.inverse(y, **(bijector_kwargs or {}))
        return getattr(self.distribution, what)(x, **(distribution_kwargs or {}))

    def _log_cdf(self, y, **kwargs):
        return self._at_x("log_cdf", y, **kwargs)

    def _cdf(self, y, **kwargs):
        return self._at_x("cdf", y, **kwargs)

    def _log_survival_function(self, y, **kwargs):
        return self._at_x("log_survival_function", y, **kwargs)

    def _survival_function(self, y, **kwargs):
        return self._at_x("survival_function", y, **kwargs)

    def _quantile(self, value):
        self._of_numbers("quantile")
        return self.bijector.forward(self.distribution.quantile(value))

    def _entropy(self):
        if not self.bijector.is_constant_jacobian:
            raise NotImplementedError("entropy is not implemented when the Jacobian is not constant.")
        if not self.bijector._is_injective:
            raise NotImplementedError("entropy is not implemented when bijector is not injective.")
        entropy = self.distribution.entropy()
        if self._event_axes:
            entropy *= math_ops.cast(math_ops.reduce_prod(self._new_event), entropy.dtype.base_dtype)
        if self._new_batch is not None:
            entropy += array_ops.zeros(self._new_batch, entropy.dtype)
        shape = array_ops.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        ildj = self.bijector.inverse_log_det_jacobian(
            array_ops.zeros(shape, self.dtype), event_ndims=self._event_ndims()
        )
        entropy -= math_ops.cast(ildj, entropy.dtype)
        entropy.set_shape(self.batch_shape)
        return entropy


def _override(shape, own, is_scalar, validate_args, name):
    """A shape in place of a distribution's own, which must be a scalar's: (tensor or None, its length)."""
    if shape is None:
        return None, 0
    shape = ops.convert_to_tensor(shape, dtype=dtypes.int32, name=name)
    if shape.get_shape().ndims != 1 or not shape.get_shape().is_fully_defined():
        if shape.get_shape().ndims in (None, 1):
            raise NotImplementedError(f"{name}: Braid needs to know how many dimensions it has")
        raise ValueError("shape override must be a vector")
    ndims = shape.get_shape().as_list()[0]
    if ndims == 0:
        return None, 0
    known = tensor_util.constant_value(shape)
    if known is not None and (known <= 0).any():
        raise ValueError("shape override must have positive elements")
    if own.ndims is not None and own.ndims > 0:
        raise ValueError("base distribution not scalar")
    if validate_args:
        checks = []
        if known is None:
            message = "shape override must have positive elements"
            checks.append(check_ops.assert_positive(shape, message=message))
        if own.ndims is None:
            message = "base distribution not scalar"
            checks.append(check_ops.assert_equal(is_scalar(), True, message=message))
        if checks:
            shape = control_flow_ops.with_dependencies(checks, shape)
    return shape, ndims
