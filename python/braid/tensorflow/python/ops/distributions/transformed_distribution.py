"""Distributions of what a bijector makes of samples."""

import numpy as np

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
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
            self._zero = constant_op.constant(0, dtype=dtypes.int32, name="zero")
            self._empty = constant_op.constant([], dtype=dtypes.int32, name="empty")
            if bijector is None:
                bijector = identity_bijector.Identity(validate_args=validate_args)
            batch = self._override(batch_shape, distribution.is_scalar_batch(), validate_args, "batch_shape")
            self._override_batch_shape = batch
            self._is_batch_override = _not(_equal(_length(batch), self._zero))
            self._is_maybe_batch_override = _may_have_elements(batch)
            event = self._override(event_shape, distribution.is_scalar_event(), validate_args, "event_shape")
            self._override_event_shape = event
            self._is_event_override = _not(_equal(_length(event), self._zero))
            self._is_maybe_event_override = _may_have_elements(event)
            # Samples of the event's shape have the batch behind it: these dimensions are exchanged.
            self._needs_rotation = _all(
                self._is_event_override,
                _not(self._is_batch_override),
                _not(distribution.is_scalar_batch()),
            )
            event_ndims = _length(event)
            self._rotate_ndims = _pick(self._needs_rotation, event_ndims, 0)
            self._reduce_event_indices = math_ops.range(self._rotate_ndims - event_ndims, self._rotate_ndims)
        self._distribution, self._bijector = distribution, bijector
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
        own = self.distribution.event_shape_tensor()
        shape = util.pick_vector(self._is_event_override, self._override_event_shape, own)
        return self.bijector.forward_event_shape_tensor(shape)

    def _event_shape(self):
        override = tensor_util.constant_value_as_shape(self._override_event_shape)
        own = override if self._is_maybe_event_override else self.distribution.event_shape
        return self.bijector.forward_event_shape(own)

    def _batch_shape_tensor(self):
        own = self.distribution.batch_shape_tensor()
        return util.pick_vector(self._is_batch_override, self._override_batch_shape, own)

    def _batch_shape(self):
        override = tensor_util.constant_value_as_shape(self._override_batch_shape)
        return override if self._is_maybe_batch_override else self.distribution.batch_shape

    def _override(self, shape, is_scalar, validate_args, name):
        """A shape in place of a distribution's own, which must be a scalar's; empty where there is none."""
        shape = ops.convert_to_tensor([] if shape is None else shape, dtype=dtypes.int32, name=name)
        if shape.get_shape().ndims not in (None, 1):
            raise ValueError("shape override must be a vector")
        is_empty = _equal(_length(shape), 0)
        if tensor_util.constant_value(is_empty):
            return self._empty
        checks = []
        if shape.get_shape().ndims is None and validate_args:
            checks.append(check_ops.assert_rank(shape, 1, message="shape override must be a vector"))
        known, message = tensor_util.constant_value(shape), "shape override must have positive elements"
        if known is not None:
            if (known <= 0).any():
                raise ValueError(message)
        elif validate_args:
            checks.append(check_ops.assert_positive(shape, message=message))
        is_wrong, message = _all(_not(is_scalar), _not(is_empty)), "base distribution not scalar"
        if tensor_util.constant_value(is_wrong) is not None:
            if tensor_util.constant_value(is_wrong):
                raise ValueError(message)
        elif validate_args:
            checks.append(check_ops.assert_equal(is_wrong, False, message=message))
        return control_flow_ops.with_dependencies(checks, shape) if checks else shape

    def _maybe_rotate_dims(self, x, rotate_right=False):
        """Moves the event's dimensions from the front to the back, or the other way."""
        is_needed = tensor_util.constant_value(self._needs_rotation)
        if is_needed is not None and not is_needed:
            return x
        ndims = array_ops.rank(x)
        n = ndims - self._rotate_ndims if rotate_right else self._rotate_ndims
        parts = math_ops.range(n, ndims), math_ops.range(0, n)
        return array_ops.transpose(x, array_ops.concat(parts, 0) if rotate_right else _concat(*parts))

    def _sample_n(self, n, seed=None, **distribution_kwargs):
        shape = _concat(
            util.pick_vector(self._needs_rotation, self._empty, [n]),
            self._override_batch_shape,
            self._override_event_shape,
            util.pick_vector(self._needs_rotation, [n], self._empty),
        )
        x = self.distribution.sample(sample_shape=shape, seed=seed, **distribution_kwargs)
        return self._maybe_rotate_dims(x)

    def _call_sample_n(self, sample_shape, seed, name, bijector_kwargs=None, distribution_kwargs=None):
        with self._name_scope(name, values=[sample_shape]):
            sample_shape = ops.convert_to_tensor(sample_shape, dtype=dtypes.int32, name="sample_shape")
            sample_shape, n = self._expand_sample_shape_to_vector(sample_shape, "sample_shape")
            x = self._sample_n(n, seed, **(distribution_kwargs or {}))
            inner = array_ops.shape(x)[1:]
            x = array_ops.reshape(x, array_ops.concat([sample_shape, inner], 0))
            y = self.bijector.forward(x, **(bijector_kwargs or {}))
            return self._set_sample_static_shape(y, sample_shape)

    def _event_ndims(self):
        if self.event_shape.ndims is not None:
            return self.event_shape.ndims
        ndims = array_ops.size(self.event_shape_tensor())
        known = util.maybe_get_static_value(ndims)
        return ndims if known is None else int(known)

    def _of_each_x(self, y, finish, bijector_kwargs):
        """finish(x, log det of the inverse) for each x that y comes from."""
        x = self.bijector.inverse(y, **bijector_kwargs)
        ndims = self._event_ndims()
        ildj = self.bijector.inverse_log_det_jacobian(y, event_ndims=ndims, **bijector_kwargs)
        if self.bijector._is_injective:
            x, ildj = (x,), (ildj,)
        made = []
        for x_i, ildj_i in zip(x, ildj):
            value = finish(self._maybe_rotate_dims(x_i, rotate_right=True), ildj_i)
            if self._is_maybe_event_override and isinstance(ndims, int) and y.get_shape().ndims is not None:
                outer = y.get_shape()[: y.get_shape().ndims - ndims]
                value.set_shape(array_ops.broadcast_static_shape(outer, self.batch_shape))
            made.append(value)
        return made

    def _log_prob(self, y, bijector_kwargs=None, distribution_kwargs=None):
        def finish(x, ildj):
            value = self.distribution.log_prob(x, **(distribution_kwargs or {}))
            if self._is_maybe_event_override:
                value = math_ops.reduce_sum(value, self._reduce_event_indices)
            return value + math_ops.cast(ildj, value.dtype)

        made = self._of_each_x(y, finish, bijector_kwargs or {})
        return made[0] if len(made) == 1 else math_ops.reduce_logsumexp(array_ops.stack(made), axis=0)

    def _prob(self, y, bijector_kwargs=None, distribution_kwargs=None):
        def finish(x, ildj):
            value = self.distribution.prob(x, **(distribution_kwargs or {}))
            if self._is_maybe_event_override:
                value = math_ops.reduce_prod(value, self._reduce_event_indices)
            return value * math_ops.exp(math_ops.cast(ildj, value.dtype))

        made = self._of_each_x(y, finish, bijector_kwargs or {})
        return made[0] if len(made) == 1 else sum(made)

    def _of_numbers(self, what):
        if self._is_maybe_event_override:
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
        if self._is_maybe_event_override:
            size = math_ops.reduce_prod(self._override_event_shape)
            entropy *= math_ops.cast(size, entropy.dtype.base_dtype)
        if self._is_maybe_batch_override:
            ones = _ones_like(self._override_batch_shape)
            shape = array_ops.concat([ones, self.distribution.batch_shape_tensor()], 0)
            entropy = array_ops.reshape(entropy, shape)
            ones = _ones_like(self.distribution.batch_shape_tensor())
            multiples = array_ops.concat([self._override_batch_shape, ones], 0)
            entropy = array_ops.tile(entropy, multiples)
        shape = array_ops.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        zeros = array_ops.zeros(shape, self.dtype)
        ndims = self.event_shape.ndims
        ndims = array_ops.size(self.event_shape_tensor()) if ndims is None else ndims
        ildj = self.bijector.inverse_log_det_jacobian(zeros, event_ndims=ndims)
        entropy -= math_ops.cast(ildj, entropy.dtype)
        entropy.set_shape(self.batch_shape)
        return entropy


# Functions of tensors that are constants where their arguments are known.


def _known(x):
    return tensor_util.constant_value(ops.convert_to_tensor(x))


def _all(*conditions):
    known = [_known(x) for x in conditions]
    if any(x is not None and not x for x in known):
        return constant_op.constant(False)
    if all(x is not None for x in known):
        return constant_op.constant(True)
    return math_ops.logical_and(*conditions) if len(conditions) == 2 else math_ops.reduce_all(conditions)


def _not(x):
    known = _known(x)
    return math_ops.logical_not(x) if known is None else constant_op.constant(not known)


def _equal(x, y):
    known = _known(x), _known(y)
    if any(value is None for value in known):
        return math_ops.equal(x, y)
    return constant_op.constant(bool(np.array_equal(*known)))


def _concat(*vectors):
    known = [_known(x) for x in vectors]
    if any(x is None for x in known):
        return array_ops.concat(vectors, 0)
    return constant_op.constant([int(x) for vector in known for x in vector], dtype=dtypes.int32)


def _pick(condition, when_true, when_false):
    known = _known(condition)
    if known is None:
        return array_ops.where_v2(condition, when_true, when_false)
    return when_true if known else when_false


def _ones_like(x):
    if x.get_shape().is_fully_defined():
        return array_ops.ones(x.get_shape().as_list(), dtype=x.dtype)
    return array_ops.ones_like(x)


def _length(shape):
    """How many dimensions a shape has. ValueError: it is no vector."""
    if shape.get_shape().ndims not in (None, 1):
        raise ValueError("input is not a valid shape: not 1D")
    if shape.get_shape().is_fully_defined():
        return constant_op.constant(shape.get_shape().as_list()[0])
    return array_ops.shape(shape)[0]


def _may_have_elements(shape):
    known = tensor_util.constant_value(shape)
    return known is None or known.size != 0
