"""Skewness and weight of tails (Jones and Pewsey 2009)."""

from braid.tensorflow.contrib.distributions.python.ops import bijectors
from braid.tensorflow.contrib.distributions.python.ops import distribution_util
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops.distributions import normal
from braid.tensorflow.python.ops.distributions import transformed_distribution


__all__ = ["SinhArcsinh"]


class SinhArcsinh(transformed_distribution.TransformedDistribution):
    """loc + scale * C * sinh((asinh(z) + skewness) * tailweight), for z of `distribution`, a standard normal
    by default. C is 2 / sinh(asinh(2) * tailweight)."""

    def __init__(
        self,
        loc,
        scale,
        skewness=None,
        tailweight=None,
        distribution=None,
        validate_args=False,
        allow_nan_stats=True,
        name="SinhArcsinh",
    ):
        parameters = dict(locals())
        with ops.name_scope(name, values=[loc, scale, skewness, tailweight]) as name:
            self._loc = ops.convert_to_tensor(loc, name="loc")
            dtype = self._loc.dtype
            as_tensor = lambda x, default, name: ops.convert_to_tensor(
                default if x is None else x, dtype, name=name
            )
            self._scale = as_tensor(scale, None, "scale")
            self._tailweight = as_tensor(tailweight, 1.0, "tailweight")
            self._skewness = as_tensor(skewness, 0.0, "skewness")
            batch_shape = distribution_util.get_broadcast_shape(
                self._loc, self._scale, self._tailweight, self._skewness
            )
            if distribution is None:
                distribution = normal.Normal(
                    loc=array_ops.zeros([], dtype),
                    scale=array_ops.ones([], dtype),
                    allow_nan_stats=allow_nan_stats,
                )
            curve = bijectors.SinhArcsinh(self._skewness, self._tailweight)
            straight = curve
            if skewness is not None:
                zero = dtype.as_numpy_dtype(0.0)
                straight = bijectors.SinhArcsinh(skewness=zero, tailweight=self._tailweight)
            factor = 2 * self._scale / straight.forward(ops.convert_to_tensor(2, dtype=dtype))
            affine = bijectors.AffineScalar(shift=self._loc, scale=factor, validate_args=validate_args)
            super().__init__(
                distribution=distribution,
                bijector=bijectors.Chain([affine, curve]),
                batch_shape=batch_shape,
                validate_args=validate_args,
                name=name,
            )
        self._set_parameters(parameters)

    @property
    def loc(self):
        return self._loc

    @property
    def scale(self):
        return self._scale

    @property
    def skewness(self):
        return self._skewness

    @property
    def tailweight(self):
        return self._tailweight
