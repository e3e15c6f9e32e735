"""Vectors of exponential numbers."""

from braid.tensorflow.contrib.distributions.python.ops import distribution_util
from braid.tensorflow.contrib.distributions.python.ops import mvn_linear_operator
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops.distributions import exponential


__all__ = ["VectorExponentialDiag"]


class VectorExponentialDiag(mvn_linear_operator.VectorDistribution):
    """Vectors loc + scale * z, where z has independent elements of Exponential(1)."""

    def __init__(
        self,
        loc=None,
        scale_diag=None,
        scale_identity_multiplier=None,
        validate_args=False,
        allow_nan_stats=True,
        name="VectorExponentialDiag",
    ):
        parameters = dict(locals())
        with ops.name_scope(name, values=[loc, scale_diag, scale_identity_multiplier]) as name:
            scale = distribution_util.make_diag_scale(
                loc=loc,
                scale_diag=scale_diag,
                scale_identity_multiplier=scale_identity_multiplier,
                validate_args=validate_args,
            )
            one = array_ops.ones([], scale.dtype)
            base = exponential.Exponential(rate=one, allow_nan_stats=allow_nan_stats)
            super().__init__(base, loc, scale, parameters, validate_args, name)
