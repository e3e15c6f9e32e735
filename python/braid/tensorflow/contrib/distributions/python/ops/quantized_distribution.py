"""Numbers that are rounded up."""

import numpy as np

from braid.tensorflow.python.framework import constant_op
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
    return big + math_ops.log1p(-math_ops.exp(small - big))


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
        made = math_ops.ceil(self.distribution.sample(n, seed=seed))
        made = made if self.low is None else math_ops.maximum(made, self.low)
        return made if self.high is None else math_ops.minimum(made, self.high)

    def _limited(self, what, j, below, above):
        """What the distribution has at j; other values below `low` and from `high` on."""
        value = getattr(self.distribution, what)(j)
        j += array_ops.zeros_like(value)
        if self.low is not None:
            value = array_ops.where_v2(j < self.low, below, value)
        return value if self.high is None else array_ops.where_v2(j >= self.high, above, value)

    def _number(self, x):
        return constant_op.constant(x, self.dtype)

    def _log_cdf(self, y):
        return self._limited("log_cdf", math_ops.floor(y), self._number(-np.inf), self._number(0.0))

    def _cdf(self, y):
        return self._limited("cdf", math_ops.floor(y), self._number(0.0), self._number(1.0))

    def _log_survival_function(self, y):
        zero, least = self._number(0.0), self._number(-np.inf)
        return self._limited("log_survival_function", math_ops.ceil(y), zero, least)

    def _survival_function(self, y):
        return self._limited("survival_function", math_ops.ceil(y), self._number(1.0), self._number(0.0))

    def _log_prob(self, y):
        y = _checked_integer(y, self.validate_args)
        below, before = self.log_cdf(y), self.log_cdf(y - 1)
        try:
            above, from_y = self.log_survival_function(y), self.log_survival_function(y - 1)
        except NotImplementedError:
            return _log_difference(below, before)
        # The difference of the smaller numbers is the more exact one.
        in_upper_half = above < below
        big = array_ops.where(in_upper_half, from_y, below)
        return _log_difference(big, array_ops.where(in_upper_half, above, before))

    def _prob(self, y):
        y = _checked_integer(y, self.validate_args)
        below, before = self.cdf(y), self.cdf(y - 1)
        try:
            above, from_y = self.survival_function(y), self.survival_function(y - 1)
        except NotImplementedError:
            return below - before
        return array_ops.where(above < below, from_y - above, below - before)


def _checked_integer(value, validate_args):
    if value is None or not validate_args:
        return value
    check = util.assert_integer_form(value, message="value has non-integer components.")
    return control_flow_ops.with_dependencies([check], value)
