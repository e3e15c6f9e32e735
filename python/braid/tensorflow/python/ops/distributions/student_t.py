"""Student's t-distribution."""

import math

import numpy as np

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops import special_math_ops
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import util
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["distributions.StudentT"])
class StudentT(distribution.ScalarDistribution):
    """Student's distribution with `df` degrees of freedom, moved by `loc` and stretched by `scale`."""

    _param_names = ("df", "loc", "scale")

    def __init__(self, df, loc, scale, validate_args=False, allow_nan_stats=True, name="StudentT"):
        parameters = dict(locals())
        with ops.name_scope(name, values=[df, loc, scale]) as name:
            with util.positive(validate_args, df):
                self._df = array_ops.identity(df, name="df")
                self._loc = array_ops.identity(loc, name="loc")
                self._scale = array_ops.identity(scale, name="scale")
            util.same_float_dtype(self._df, self._loc, self._scale)
        self._tensors = (self._df, self._loc, self._scale)
        super().__init__(
            dtype=self._scale.dtype,
            reparameterization_type=distribution.FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._df, self._loc, self._scale],
            name=name,
        )

    @property
    def df(self):
        return self._df

    @property
    def loc(self):
        return self._loc

    @property
    def scale(self):
        return self._scale

    def _sample_n(self, n, seed=None):
        normal = random_ops.random_normal(self._shape_of_samples(n), dtype=self.dtype, seed=seed)
        df = self._broadcast(self.df)
        other = util.gen_new_seed(seed, "student_t")
        gamma = random_ops.random_gamma([n], 0.5 * df, beta=0.5, dtype=self.dtype, seed=other)
        return normal * math_ops.rsqrt(gamma / df) * self.scale + self.loc

    def _batch_shape_tensor(self):
        df, loc, scale = (array_ops.shape(x) for x in self._tensors)
        return array_ops.broadcast_dynamic_shape(df, array_ops.broadcast_dynamic_shape(loc, scale))

    def _log_prob(self, x):
        y = (x - self.loc) / self.scale
        unnormalized = -0.5 * (self.df + 1.0) * math_ops.log1p(y**2.0 / self.df)
        normalization = (
            math_ops.log(math_ops.abs(self.scale))
            + 0.5 * math_ops.log(self.df)
            + 0.5 * math.log(math.pi)
            + math_ops.lgamma(0.5 * self.df)
            - math_ops.lgamma(0.5 * (self.df + 1.0))
        )
        return unnormalized - normalization

    def _cdf(self, x):
        y = (x - self.loc) / math_ops.abs(self.scale)
        ratio = self.df / (y**2.0 + self.df)
        tail = 0.5 * math_ops.betainc(0.5 * self.df, 0.5, ratio)
        return array_ops.where_v2(y < 0.0, tail, 1.0 - tail)

    def _ones(self):
        return array_ops.ones(self.batch_shape_tensor(), dtype=self.dtype)

    def _entropy(self):
        ones = self._ones()[..., array_ops.newaxis]
        df = ones * self.df[..., array_ops.newaxis]
        halves = array_ops.concat([df, ones], -1) / 2.0
        return (
            math_ops.log(math_ops.abs(self.scale))
            + 0.5 * math_ops.log(self.df)
            + special_math_ops.lbeta(halves)
            + 0.5
            * (self.df + 1.0)
            * (math_ops.digamma(0.5 * (self.df + 1.0)) - math_ops.digamma(0.5 * self.df))
        )

    def _where_df_above_1(self, value, name):
        message = f"{name} not defined for components of df <= 1"
        return self._defined_or_nan(
            lambda: math_ops.greater(self.df, self._ones()),
            value,
            lambda: [check_ops.assert_less(array_ops.ones([], self.dtype), self.df, message=message)],
            nan_first=False,
        )

    def _mean(self):
        return self._where_df_above_1(self.loc * self._ones(), "mean")

    def _variance(self):
        more = self.df > 2.0
        safe = array_ops.where_v2(more, self.df - 2.0, array_ops.ones_like(self.df))
        finite = self._ones() * math_ops.square(self.scale) * self.df / safe
        kind = self.dtype.as_numpy_dtype
        more = self.df > array_ops.fill(self.batch_shape_tensor(), kind(2.0))
        infinity = array_ops.fill(self.batch_shape_tensor(), kind(np.inf), name="inf")
        return self._where_df_above_1(array_ops.where_v2(more, finite, infinity), "variance")

    def _mode(self):
        return array_ops.identity(self.loc)


class StudentTWithAbsDfSoftplusScale(StudentT):
    """StudentT whose degrees of freedom are floor(abs(df)), and whose scale is softplus(scale)."""

    def __init__(
        self,
        df,
        loc,
        scale,
        validate_args=False,
        allow_nan_stats=True,
        name="StudentTWithAbsDfSoftplusScale",
    ):
        parameters = dict(locals())
        with ops.name_scope(name, values=[df, scale]) as name:
            whole = math_ops.floor(math_ops.abs(df))
            positive = nn_ops.softplus(scale, name="softplus_scale")
            super().__init__(whole, loc, positive, validate_args, allow_nan_stats, name)
        self._set_parameters(parameters)
