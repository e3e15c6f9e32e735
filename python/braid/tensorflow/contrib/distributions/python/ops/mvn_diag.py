"""Normal distributions of vectors with independent elements."""

from braid.tensorflow.contrib.distributions.python.ops import distribution_util
from braid.tensorflow.contrib.distributions.python.ops import mvn_linear_operator
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import nn_ops


__all__ = ["MultivariateNormalDiag", "MultivariateNormalDiagWithSoftplusScale"]


class MultivariateNormalDiag(mvn_linear_operator.MultivariateNormalLinearOperator):
    """Vectors with independent normal elements: the means `loc`, and standard deviations."""

    def __init__(
        self,
        loc=None,
        scale_diag=None,
        scale_identity_multiplier=None,
        validate_args=False,
        allow_nan_stats=True,
        name="MultivariateNormalDiag",
    ):
        parameters = dict(locals())
        with ops.name_scope(name) as name:
            with ops.name_scope("init", values=[loc, scale_diag, scale_identity_multiplier]):
                scale = distribution_util.make_diag_scale(
                    loc=loc,
                    scale_diag=scale_diag,
                    scale_identity_multiplier=scale_identity_multiplier,
                    assert_positive=False,
                )
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)
        self._set_parameters(parameters)


class MultivariateNormalDiagWithSoftplusScale(MultivariateNormalDiag):
    """MultivariateNormalDiag whose standard deviations are the softplus of those given."""

    def __init__(
        self,
        loc,
        scale_diag,
        validate_args=False,
        allow_nan_stats=True,
        name="MultivariateNormalDiagWithSoftplusScale",
    ):
        parameters = dict(locals())
        with ops.name_scope(name, values=[scale_diag]) as name:
            super().__init__(
                loc=loc,
                scale_diag=nn_ops.softplus(scale_diag),
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                name=name,
            )
        self._set_parameters(parameters)
