"""Normal distributions of vectors, by their covariance."""

from braid.tensorflow.contrib.distributions.python.ops import mvn_tril
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import linalg_ops


__all__ = ["MultivariateNormalFullCovariance"]


class MultivariateNormalFullCovariance(mvn_tril.MultivariateNormalTriL):
    """Normal vectors with the mean `loc` and a positive definite covariance matrix."""

    def __init__(
        self,
        loc=None,
        covariance_matrix=None,
        validate_args=False,
        allow_nan_stats=True,
        name="MultivariateNormalFullCovariance",
    ):
        parameters = dict(locals())
        with ops.name_scope(name) as name:
            with ops.name_scope("init", values=[loc, covariance_matrix]):
                tril = None
                if covariance_matrix is not None:
                    matrix = ops.convert_to_tensor(covariance_matrix, name="covariance_matrix")
                    if validate_args:
                        transposed = array_ops.matrix_transpose(matrix)
                        message = "Matrix was not symmetric"
                        check = check_ops.assert_near(matrix, transposed, message=message)
                        matrix = control_flow_ops.with_dependencies([check], matrix)
                    tril = linalg_ops.cholesky(matrix)
                super().__init__(loc, tril, validate_args, allow_nan_stats, name)
        self._set_parameters(parameters)
