"""Normal distributions of vectors, whose scale is a triangular matrix."""

from braid.tensorflow.contrib.distributions.python.ops import distribution_util
from braid.tensorflow.contrib.distributions.python.ops import mvn_linear_operator
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops.linalg import linalg


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
            with ops.name_scope("init", values=[loc, scale_tril]):
                loc = None if loc is None else ops.convert_to_tensor(loc, name="loc")
                if scale_tril is None:
                    scale = linalg.LinearOperatorIdentity(
                        num_rows=distribution_util.dimension_size(loc, -1),
                        dtype=loc.dtype,
                        is_self_adjoint=True,
                        is_positive_definite=True,
                        assert_proper_shapes=validate_args,
                    )
                else:
                    scale = linalg.LinearOperatorLowerTriangular(
                        ops.convert_to_tensor(scale_tril, name="scale_tril"),
                        is_non_singular=True,
                        is_self_adjoint=False,
                        is_positive_definite=False,
                    )
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)
        self._set_parameters(parameters)
