"""Numbers that are rounded up."""

import numpy as np

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import distribution as distributions
from braid.tensorflow.python.ops.distributions import util


__all__ = ["QuantizedDistribution"]


def _log_difference(big, small):
    """log(exp(big) - exp(small))"""
    with ops.name_scope("logsum_expbig_minus_expsmall", values=[big, small]):
        return math_ops.log(1.0 - math_ops.exp(small - big)) + big


class QuantizedDistribution(distributions.Distribution):
    """ceil(x), for x of another distribution; what is below `low` becomes low, above `high` high."""

    def __init__(self, distribution, low=None, high=None, validate_args=False, name="QuantizedDistribution"):
        parameters = dict(locals())
        with ops.name_scope(name, values=[low, high]) as name:
            as_tensor = lambda x, name: None if x is None else ops.convert_to_tensor(x, name=name)
            low, high = as_tensor(low, "low"), as_tensor(high, "high")
            for limit in (low, high):
                if limit is not None and limit.dtype.base_dtype != distribution.dtype:
                    raise ValueError(
                        f"{limit} must have the distribution's dtype, {distribution.dtype.name}."
                    )
            if validate_args and low is not None and high is not None:
                check = check_ops.assert_less(low, high, message="low must be strictly less than high.")
                low, high = (control_flow_ops.with_dependencies([check], x) for x in (low, high))
            self._low = _checked_integer(low, validate_args)
            self._high = _checked_integer(high, validate_args)
        self._dist = distribution
        limits = [x for x in (self._low, self._high) if x is not None]
        super().__init__(
            dtype=distribution.dtype,
            reparameterization_type=distributions.NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=distribution.allow_nan_stats,
            parameters=parameters,
            graph_parents=distribution._graph_parents + limits,
            name=name,
        )

    @property
    def distribution(self):
        return self._dist

    @property
    def low(self):
        return self._low

    @property
    def high(self):
        return self._high

    def _batch_shape_tensor(self):
        return self.distribution.batch_shape_tensor()

    def _batch_shape(self):
        return self.distribution.batch_shape

    def _event_shape_tensor(self):
        return self.distribution.event_shape_tensor()

    def _event_shape(self):
        return self.distribution.event_shape

    def _sample_n(self, n, seed=None):
        with ops.name_scope("transform"):
            n = ops.convert_to_tensor(n, name="n")
            x = self.distribution.sample(n, seed=seed)
            ones = array_ops.ones_like(x)
            made = math_ops.ceil(x)
            if self.low is not None:
                is_below = made < self.low
                made = array_ops.where(is_below, self.low * ones, made)
            if self.high is not None:
                is_above = made > self.high
                made = array_ops.where(is_above, self.high * ones, made)
            return made

    def _limited(self, what, j, below, above):
        """What the distribution has at j; what `below` and `above` make of it below `low` and from `high`
        on."""
        value = getattr(self.distribution, what)(j)
        j += array_ops.zeros_like(value)
        if self.low is not None and below is _least:
            # TensorFlow makes this constant before the condition.
            limit = below(value)
            value = array_ops.where(j < self.low, limit, value)
        elif self.low is not None:
            is_below = j < self.low
            value = array_ops.where(is_below, below(value), value)
        if self.high is not None and above is _least:
            limit = above(value)
            value = array_ops.where(j >= self.high, limit, value)
        elif self.high is not None:
            is_above = j >= self.high
            value = array_ops.where(is_above, above(value), value)
        return value

    def _log_cdf(self, y):
        return self._limited("log_cdf", math_ops.floor(y), _least, array_ops.zeros_like)

    def _cdf(self, y):
        return self._limited("cdf", math_ops.floor(y), array_ops.zeros_like, array_ops.ones_like)

    def _log_survival_function(self, y):
        return self._limited("log_survival_function", math_ops.ceil(y), array_ops.zeros_like, _least)

    def _survival_function(self, y):
        return self._limited("survival_function", math_ops.ceil(y), array_ops.ones_like, array_ops.zeros_like)

    def _log_prob(self, y):
        y = _checked_integer(y, self.validate_args)
        try:
            above, from_y = self.log_survival_function(y), self.log_survival_function(y - 1)
        except NotImplementedError:
            return _log_difference(self.log_cdf(y), self.log_cdf(y - 1))
        below, before = self.log_cdf(y), self.log_cdf(y - 1)
        # The difference of the smaller numbers is the more exact one.
        is_upper = above < below
        big = array_ops.where(is_upper, from_y, below)
        is_upper = above < below
        small = array_ops.where(is_upper, above, before)
        return _log_difference(big, small)

    def _prob(self, y):
        y = _checked_integer(y, self.validate_args)
        try:
            above, from_y = self.survival_function(y), self.survival_function(y - 1)
        except NotImplementedError:
            return self.cdf(y) - self.cdf(y - 1)
        below, before = self.cdf(y), self.cdf(y - 1)
        is_upper, upper = above < below, from_y - above
        return array_ops.where(is_upper, upper, below - before)


def _least(value):
    """-inf, in the shape of a tensor."""
    return -np.inf * array_ops.ones_like(value)


def _checked_integer(value, validate_args):
    if value is None or not validate_args:
        return value
    check = util.assert_integer_form(value, message="value has non-integer components.")
    return control_flow_ops.with_dependencies([check], value)
