"""Vectors of Laplace numbers."""

from braid.tensorflow.contrib.distributions.python.ops import distribution_util
from braid.tensorflow.contrib.distributions.python.ops import mvn_linear_operator
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops.distributions import laplace


__all__ = ["VectorLaplaceDiag"]


class VectorLaplaceDiag(mvn_linear_operator.VectorDistribution):
    """Vectors loc + scale * z, where z has independent elements of Laplace(0, 1)."""

    def __init__(
        self,
        loc=None,
        scale_diag=None,
        scale_identity_multiplier=None,
        validate_args=False,
        allow_nan_stats=True,
        name="VectorLaplaceDiag",
    ):
        parameters = dict(locals())
        with ops.name_scope(name, values=[loc, scale_diag, scale_identity_multiplier]) as name:
            scale = distribution_util.make_diag_scale(
                loc=loc,
                scale_diag=scale_diag,
                scale_identity_multiplier=scale_identity_multiplier,
                validate_args=validate_args,
            )
            zero, one = array_ops.zeros([], scale.dtype), array_ops.ones([], scale.dtype)
            base = laplace.Laplace(loc=zero, scale=one, allow_nan_stats=allow_nan_stats)
            super().__init__(base, loc, scale, parameters, validate_args, name)
