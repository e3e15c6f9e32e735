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
            self._df = util.positive_parameter(df, "df", validate_args)
            self._loc = array_ops.identity(ops.convert_to_tensor(loc, dtype=self._df.dtype), name="loc")
            self._scale = array_ops.identity(ops.convert_to_tensor(scale, dtype=self._df.dtype), name="scale")
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

    def _log_prob(self, x):
        y = (x - self.loc) / self.scale
        normalization = (
            math_ops.log(math_ops.abs(self.scale))
            + 0.5 * math_ops.log(self.df)
            + 0.5 * math.log(math.pi)
            + math_ops.lgamma(0.5 * self.df)
            - math_ops.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * math_ops.log1p(math_ops.square(y) / self.df) - normalization

    def _cdf(self, x):
        y = (x - self.loc) / math_ops.abs(self.scale)
        df = self.df * array_ops.ones_like(y)
        tail = 0.5 * math_ops.betainc(0.5 * df, 0.5 * array_ops.ones_like(y), df / (df + math_ops.square(y)))
        return array_ops.where(y < 0.0, tail, 1.0 - tail)

    def _entropy(self):
        half = array_ops.expand_dims(0.5 * self._broadcast(self.df), -1)
        lbeta = special_math_ops.lbeta(array_ops.concat([0.5 * array_ops.ones_like(half), half], -1))
        part = 0.5 * (self.df + 1.0)
        digammas = math_ops.digamma(part) - math_ops.digamma(0.5 * self.df)
        return math_ops.log(math_ops.abs(self.scale)) + 0.5 * math_ops.log(self.df) + lbeta + part * digammas

    def _where_df_above_1(self, value, name):
        one = array_ops.ones([], self.dtype)
        message = f"{name} not defined for components of df <= 1"
        checks = lambda: [check_ops.assert_less(one, self.df, message=message)]
        return self._defined_or_nan(self._broadcast(self.df) > 1.0, self._broadcast(value), checks)

    def _mean(self):
        return self._where_df_above_1(self.loc, "mean")

    def _variance(self):
        df = self._broadcast(self.df)
        safe = array_ops.where(df > 2.0, df - 2.0, array_ops.ones_like(df))
        finite = math_ops.square(self.scale) * df / safe
        infinity = np.array(np.inf, self.dtype.as_numpy_dtype)
        return self._where_df_above_1(array_ops.where_v2(df > 2.0, finite, infinity), "variance")

    def _mode(self):
        return self._broadcast(self.loc)


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
        self._parameters = {k: v for k, v in parameters.items() if k not in ("self", "__class__")}
