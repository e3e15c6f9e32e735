"""Distributions of a single value."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops import math_ops


__all__ = ["Deterministic", "VectorDeterministic"]


class _One(distribution.Distribution):
    """The value `loc`. The probability of all that differ by no more than atol + rtol * |loc| is 1."""

    _event_rank = 0

    def __init__(self, loc, atol=None, rtol=None, validate_args=False, allow_nan_stats=True, name=None):
        parameters = dict(locals())
        with ops.name_scope(name, values=[loc, atol, rtol]) as name:
            loc = ops.convert_to_tensor(loc, name="loc")
            if self._event_rank and validate_args:
                message = "Argument loc must be at least rank 1."
                if loc.get_shape().ndims is None:
                    check = check_ops.assert_rank_at_least(loc, 1, message=message)
                    loc = control_flow_ops.with_dependencies([check], loc)
                elif loc.get_shape().ndims < 1:
                    raise ValueError(message)
            self._loc = loc
            self._atol = self._tolerance(atol, validate_args)
            self._rtol = self._tolerance(rtol, validate_args)
            self._slack = self._atol if rtol is None else self._atol + self._rtol * math_ops.abs(loc)
        super().__init__(
            dtype=loc.dtype,
            reparameterization_type=distribution.NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[loc],
            name=name,
        )

    def _tolerance(self, value, validate_args):
        is_given = value is not None
        value = ops.convert_to_tensor(value if is_given else 0, dtype=self._loc.dtype)
        if validate_args and is_given:
            message = "Argument 'tol' must be non-negative"
            check = check_ops.assert_non_negative(value, message=message)
            value = control_flow_ops.with_dependencies([check], value)
        return value

    @property
    def loc(self):
        return self._loc

    @property
    def atol(self):
        return self._atol

    @property
    def rtol(self):
        return self._rtol

    def _batch_shape_tensor(self):
        shape = array_ops.shape(self.loc)
        return shape[:-1] if self._event_rank else shape

    def _batch_shape(self):
        shape = self.loc.get_shape()
        return shape if shape.ndims is None else shape[: shape.ndims - self._event_rank]

    def _event_shape_tensor(self):
        if self._event_rank:
            return array_ops.shape(self.loc)[-1:]
        return ops.convert_to_tensor([], dtype=dtypes.int32)

    def _event_shape(self):
        shape = self.loc.get_shape()
        if shape.ndims is None:
            return tensor_shape.TensorShape([None] * self._event_rank)
        return shape[shape.ndims - self._event_rank :]

    def _sample_n(self, n, seed=None):
        known, rank = tensor_util.constant_value(ops.convert_to_tensor(n)), self.loc.get_shape().ndims
        if known is not None and rank is not None:
            multiples = [known] + [1] * rank
        else:
            ones = array_ops.ones_like(array_ops.shape(self.loc))
            multiples = array_ops.concat(([n], ones), axis=0)
        return array_ops.tile(self.loc[array_ops.newaxis, ...], multiples=multiples)

    def _entropy(self):
        return array_ops.zeros(self.batch_shape_tensor(), dtype=self.dtype)

    def _mean(self):
        return array_ops.identity(self.loc)

    def _variance(self):
        return array_ops.zeros_like(self.loc)

    def _mode(self):
        return self.mean()


class Deterministic(_One):
    """The number `loc`. The probability of all that differ by no more than atol + rtol * |loc| is 1."""

    def __init__(
        self, loc, atol=None, rtol=None, validate_args=False, allow_nan_stats=True, name="Deterministic"
    ):
        super().__init__(loc, atol, rtol, validate_args, allow_nan_stats, name)

    def _prob(self, x):
        return math_ops.cast(math_ops.abs(x - self.loc) <= self._slack, dtype=self.dtype)

    def _cdf(self, x):
        return math_ops.cast(x >= self.loc - self._slack, dtype=self.dtype)


class VectorDeterministic(_One):
    """The vector `loc`. The probability of all whose elements differ by no more than atol + rtol * |loc| is
    1."""

    _event_rank = 1

    def __init__(
        self,
        loc,
        atol=None,
        rtol=None,
        validate_args=False,
        allow_nan_stats=True,
        name="VectorDeterministic",
    ):
        super().__init__(loc, atol, rtol, validate_args, allow_nan_stats, name)

    def _prob(self, x):
        if self.validate_args:
            checks = [check_ops.assert_rank_at_least(x, 1)]
            message = "Argument 'x' not defined in the same space R**k as this distribution"
            sizes = self.event_shape_tensor(), array_ops.shape(x)[-1:]
            checks.append(check_ops.assert_equal(*sizes, message=message))
            x = control_flow_ops.with_dependencies(checks, x)
        near = math_ops.reduce_all(math_ops.abs(x - self.loc) <= self._slack, axis=-1)
        return math_ops.cast(near, dtype=self.dtype)
