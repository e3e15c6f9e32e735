"""Vectors of Laplace numbers."""

import math

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
        with ops.name_scope(name):
            with ops.name_scope("init", values=[loc, scale_diag, scale_identity_multiplier]):
                scale = distribution_util.make_diag_scale(
                    loc=loc,
                    scale_diag=scale_diag,
                    scale_identity_multiplier=scale_identity_multiplier,
                    assert_positive=False,
                )
        make_base = lambda dtype: laplace.Laplace(
            loc=array_ops.zeros([], dtype=dtype),
            scale=array_ops.ones([], dtype=dtype),
            allow_nan_stats=allow_nan_stats,
        )
        super().__init__(make_base, loc, scale, parameters, validate_args, name, enters=False)

    # The variance of z is 2.

    def _covariance(self):
        return 2.0 * self._covariance_of_scale()

    def _variance(self):
        return 2.0 * self._variance_of_scale()

    def _stddev(self):
        return math.sqrt(2) * self._stddev_of_scale()
