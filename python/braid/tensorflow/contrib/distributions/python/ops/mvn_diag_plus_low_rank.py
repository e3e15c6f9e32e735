"""Normal distributions of vectors, whose scale is a diagonal and a matrix of low rank."""

from braid.tensorflow.contrib.distributions.python.ops import distribution_util
from braid.tensorflow.contrib.distributions.python.ops import mvn_linear_operator
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops.distributions import util
from braid.tensorflow.python.ops.linalg import linalg


__all__ = ["MultivariateNormalDiagPlusLowRank"]


class MultivariateNormalDiagPlusLowRank(mvn_linear_operator.MultivariateNormalLinearOperator):
    """Vectors loc + scale @ z, where z has independent standard normal elements; the scale is a diagonal, and
    V diag(D) V^T of `scale_perturb_factor` V and `scale_perturb_diag` D."""

    def __init__(
        self,
        loc=None,
        scale_diag=None,
        scale_identity_multiplier=None,
        scale_perturb_factor=None,
        scale_perturb_diag=None,
        validate_args=False,
        allow_nan_stats=True,
        name="MultivariateNormalDiagPlusLowRank",
    ):
        parameters = dict(locals())
        given = [loc, scale_diag, scale_identity_multiplier, scale_perturb_factor, scale_perturb_diag]
        with ops.name_scope(name, values=given) as name:
            dtype = next(ops.convert_to_tensor(g).dtype.base_dtype for g in given if g is not None)
            as_tensor = lambda x, name: None if x is None else ops.convert_to_tensor(x, dtype, name=name)
            loc, factor = as_tensor(loc, "loc"), as_tensor(scale_perturb_factor, "scale_perturb_factor")
            scale = distribution_util.make_diag_scale(
                loc=loc,
                scale_diag=scale_diag,
                scale_identity_multiplier=scale_identity_multiplier,
                shape_hint=None if factor is None else util.dimension_size(factor, -2),
                validate_args=validate_args,
                assert_positive=False,
                dtype=dtype,
            )
            if factor is not None:
                scale = linalg.LinearOperatorLowRankUpdate(
                    scale,
                    u=factor,
                    diag_update=as_tensor(scale_perturb_diag, "scale_perturb_diag"),
                    is_diag_update_positive=scale_perturb_diag is None,
                    is_non_singular=True,
                    is_self_adjoint=True,
                    is_positive_definite=True,
                    is_square=True,
                )
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)
        self._set_parameters(parameters)
