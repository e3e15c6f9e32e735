"""Triangular matrices with a positive diagonal, from vectors."""

from braid.tensorflow.contrib.distributions.python.ops.bijectors import affine_scalar
from braid.tensorflow.contrib.distributions.python.ops.bijectors import chain
from braid.tensorflow.contrib.distributions.python.ops.bijectors import fill_triangular
from braid.tensorflow.contrib.distributions.python.ops.bijectors import softplus
from braid.tensorflow.contrib.distributions.python.ops.bijectors import transform_diagonal


__all__ = ["ScaleTriL"]


class ScaleTriL(chain.Chain):
    """FillTriangular, and then diag_bijector(x) + diag_shift for the diagonal.

    Args:
      diag_bijector: Softplus by default.
      diag_shift: None: nothing is added.
    """

    def __init__(self, diag_bijector=None, diag_shift=1e-5, validate_args=False, name="scale_tril"):
        if diag_bijector is None:
            diag_bijector = softplus.Softplus(validate_args=validate_args)
        if diag_shift is not None:
            diag_bijector = chain.Chain([affine_scalar.AffineScalar(shift=diag_shift), diag_bijector])
        super().__init__(
            [transform_diagonal.TransformDiagonal(diag_bijector), fill_triangular.FillTriangular()],
            validate_args=validate_args,
            name=name,
        )
