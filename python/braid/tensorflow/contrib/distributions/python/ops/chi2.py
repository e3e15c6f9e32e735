"""The chi-squared distribution."""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import gamma
from braid.tensorflow.python.ops.distributions import util


__all__ = ["Chi2", "Chi2WithAbsDf"]


class Chi2(gamma.Gamma):
    """Sums of the squares of `df` standard normal numbers."""

    def __init__(self, df, validate_args=False, allow_nan_stats=True, name="Chi2"):
        parameters = dict(locals())
        with ops.name_scope(name, values=[df]) as name:
            with util.positive(validate_args, df):
                self._df = array_ops.identity(df, name="df")
            super().__init__(
                concentration=0.5 * self._df,
                rate=constant_op.constant(0.5, dtype=self._df.dtype),
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                name=name,
            )
        self._set_parameters(parameters)

    @classmethod
    def _param_shapes(cls, sample_shape):
        return {"df": ops.convert_to_tensor(sample_shape, dtype=dtypes.int32)}

    @property
    def df(self):
        return self._df


class Chi2WithAbsDf(Chi2):
    """Chi2 with floor(abs(df)) degrees of freedom."""

    def __init__(self, df, validate_args=False, allow_nan_stats=True, name="Chi2WithAbsDf"):
        parameters = dict(locals())
        with ops.name_scope(name, values=[df]) as name:
            super().__init__(
                df=math_ops.floor(math_ops.abs(df, name="abs_df"), name="floor_abs_df"),
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                name=name,
            )
        self._set_parameters(parameters)
