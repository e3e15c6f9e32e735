"""Normal distributions of vectors, whose scale is a triangular matrix."""

from braid.tensorflow.contrib.distributions.python.ops import distribution_util
from braid.tensorflow.contrib.distributions.python.ops import mvn_linear_operator
from braid.tensorflow.python.framework import ops


__all__ = ["MultivariateNormalTriL"]


class MultivariateNormalTriL(mvn_linear_operator.MultivariateNormalLinearOperator):
    """Vectors loc + scale_tril @ z, where z has independent standard normal elements; the matrix is
    lower triangular."""

    def __init__(
        self,
        loc=None,
        scale_tril=None,
        validate_args=False,
        allow_nan_stats=True,
        name="MultivariateNormalTriL",
    ):
        parameters = dict(locals())
        if loc is None and scale_tril is None:
            raise ValueError("Must specify one or both of `loc`, `scale_tril`.")
        with ops.name_scope(name) as name:
            if scale_tril is None:
                loc = ops.convert_to_tensor(loc, name="loc")
                scale = distribution_util.make_diag_scale(loc=loc, validate_args=validate_args)
            else:
                scale = distribution_util.make_tril_scale(scale_tril=scale_tril, validate_args=validate_args)
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)
        self._set_parameters(parameters)
