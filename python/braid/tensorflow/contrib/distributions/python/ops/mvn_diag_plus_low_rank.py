"""Normal distributions of vectors, whose scale is a diagonal and a matrix of low rank."""

from braid.tensorflow.contrib.distributions.python.ops import distribution_util
from braid.tensorflow.contrib.distributions.python.ops import mvn_linear_operator
from braid.tensorflow.python.framework import ops
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
        with ops.name_scope(name) as name:
            with ops.name_scope("init", values=given):
                has_low_rank = scale_perturb_factor is not None or scale_perturb_diag is not None
                scale = distribution_util.make_diag_scale(
                    loc=loc,
                    scale_diag=scale_diag,
                    scale_identity_multiplier=scale_identity_multiplier,
                    validate_args=validate_args,
                    assert_positive=has_low_rank,
                )
                as_tensor = lambda x, name: None if x is None else ops.convert_to_tensor(x, name=name)
                factor = as_tensor(scale_perturb_factor, "scale_perturb_factor")
                diagonal = as_tensor(scale_perturb_diag, "scale_perturb_diag")
                if has_low_rank:
                    scale = linalg.LinearOperatorLowRankUpdate(
                        scale,
                        u=factor,
                        diag_update=diagonal,
                        is_diag_update_positive=diagonal is None,
                        is_non_singular=True,
                        is_self_adjoint=True,
                        is_positive_definite=True,
                        is_square=True,
                    )
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)
        self._set_parameters(parameters)
