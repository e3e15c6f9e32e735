"""Vectors whose elements have skewness and weight of tails (Jones and Pewsey 2009)."""

from braid.tensorflow.contrib.distributions.python.ops import bijectors
from braid.tensorflow.contrib.distributions.python.ops import distribution_util
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops.distributions import normal
from braid.tensorflow.python.ops.distributions import transformed_distribution


__all__ = ["VectorSinhArcsinhDiag"]


class VectorSinhArcsinhDiag(transformed_distribution.TransformedDistribution):
    """loc + scale * C * sinh((asinh(z) + skewness) * tailweight), for z of independent elements of
    `distribution`, a standard normal by default. C is 2 / sinh(asinh(2) * tailweight)."""

    def __init__(
        self,
        loc=None,
        scale_diag=None,
        scale_identity_multiplier=None,
        skewness=None,
        tailweight=None,
        distribution=None,
        validate_args=False,
        allow_nan_stats=True,
        name="MultivariateNormalLinearOperator",
    ):
        parameters = dict(locals())
        given = [loc, scale_diag, scale_identity_multiplier, skewness, tailweight]
        with ops.name_scope(name, values=given) as name:
            loc = None if loc is None else ops.convert_to_tensor(loc, name="loc")
            scale = distribution_util.make_diag_scale(
                loc=loc,
                scale_diag=scale_diag,
                scale_identity_multiplier=scale_identity_multiplier,
                assert_positive=False,
            )
            batch_shape, event_shape = distribution_util.shapes_from_loc_and_scale(loc, scale)
            diagonal = scale.diag_part()
            dtype = diagonal.dtype
            if distribution is None:
                distribution = normal.Normal(
                    loc=array_ops.zeros([], dtype=dtype),
                    scale=array_ops.ones([], dtype=dtype),
                    allow_nan_stats=allow_nan_stats,
                )
            has_skewness = skewness is not None
            skewness = ops.convert_to_tensor(skewness if has_skewness else 0.0, dtype=dtype, name="skewness")
            tailweight = 1.0 if tailweight is None else tailweight
            tailweight = ops.convert_to_tensor(tailweight, dtype=dtype, name="tailweight")
            curve = bijectors.SinhArcsinh(skewness=skewness, tailweight=tailweight)
            straight = curve
            if has_skewness:
                straight = bijectors.SinhArcsinh(skewness=dtype.as_numpy_dtype(0.0), tailweight=tailweight)
            factor = 2 * diagonal / straight.forward(ops.convert_to_tensor(2, dtype=dtype))
            affine = bijectors.Affine(shift=loc, scale_diag=factor, validate_args=validate_args)
            super().__init__(
                distribution=distribution,
                bijector=bijectors.Chain([affine, curve]),
                batch_shape=batch_shape,
                event_shape=event_shape,
                validate_args=validate_args,
                name=name,
            )
        self._set_parameters(parameters)
        self._loc, self._scale = loc, scale
        self._tailweight, self._skewness = tailweight, skewness

    @property
    def loc(self):
        return self._loc

    @property
    def scale(self):
        """The LinearOperator."""
        return self._scale

    @property
    def tailweight(self):
        return self._tailweight

    @property
    def skewness(self):
        return self._skewness
