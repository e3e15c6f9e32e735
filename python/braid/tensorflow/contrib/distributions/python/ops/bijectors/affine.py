"""A shift and a matrix of several parts."""

from braid.tensorflow.contrib.distributions.python.ops import distribution_util
from braid.tensorflow.contrib.distributions.python.ops import shape
from braid.tensorflow.contrib.distributions.python.ops.bijectors import affine_linear_operator
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import bijector
from braid.tensorflow.python.ops.linalg import linalg


__all__ = ["Affine"]


class Affine(affine_linear_operator.AffineLinearOperator):
    """y = scale @ x + shift, for vectors x.

    The scale is the sum of those given: a multiple of the identity, a diagonal, a lower triangular matrix,
    and V diag(D) V^T of `scale_perturb_factor` V and `scale_perturb_diag` D. Without any it is the identity.
    """

    def __init__(
        self,
        shift=None,
        scale_identity_multiplier=None,
        scale_diag=None,
        scale_tril=None,
        scale_perturb_factor=None,
        scale_perturb_diag=None,
        validate_args=False,
        name="affine",
    ):
        if scale_perturb_diag is not None and scale_perturb_factor is None:
            raise ValueError("When scale_perturb_diag is specified, scale_perturb_factor must be specified.")
        self._is_only_identity_multiplier = all(
            x is None for x in (scale_tril, scale_diag, scale_perturb_factor)
        )
        given = [shift, scale_identity_multiplier, scale_diag, scale_tril]
        with self._init_scope(name, values=given + [scale_perturb_diag, scale_perturb_factor]):
            dtype = dtypes.float32
            if shift is not None:
                shift = ops.convert_to_tensor(shift, name="shift")
                dtype = shift.dtype.base_dtype
            self._shift = shift
            if self._is_only_identity_multiplier and scale_identity_multiplier is None:
                scale_identity_multiplier = ops.convert_to_tensor(1.0, dtype=dtype)
            scale = self._make_scale(
                scale_identity_multiplier,
                scale_diag,
                scale_tril,
                scale_perturb_diag,
                scale_perturb_factor,
                validate_args,
            )
            dtype, batch_ndims = scale.dtype.base_dtype, 0
            if not self._is_only_identity_multiplier:
                if shift is not None and shift.dtype.base_dtype != dtype:
                    raise TypeError(
                        "shift.dtype({}) is incompatible with scale.dtype({}).".format(
                            shift.dtype, scale.dtype
                        )
                    )
                rank = scale.tensor_rank
                batch_ndims = (scale.tensor_rank_tensor() if rank is None else rank) - 2
            self._scale = scale
            self._shaper = shape._DistributionShape(
                batch_ndims=batch_ndims, event_ndims=1, validate_args=validate_args
            )
            parents = [scale] if self._is_only_identity_multiplier else list(scale.graph_parents)
            bijector.Bijector.__init__(
                self,
                forward_min_event_ndims=1,
                graph_parents=parents + ([] if shift is None else [shift]),
                is_constant_jacobian=True,
                dtype=dtype,
                validate_args=validate_args,
                name=name,
            )

    def _make_scale(self, multiplier, diag, tril, perturb_diag, perturb_factor, validate_args):
        """A LinearOperator, or the multiple of the identity as a tensor."""
        as_tensor = lambda x, name: None if x is None else ops.convert_to_tensor(x, name=name)
        multiplier = as_tensor(multiplier, "identity_multiplier")
        diag, tril = as_tensor(diag, "diag"), as_tensor(tril, "tril")
        perturb_diag = as_tensor(perturb_diag, "perturb_diag")
        factor = as_tensor(perturb_factor, "perturb_factor")
        hint = None if factor is None else distribution_util.dimension_size(factor, axis=-2)
        if self._is_only_identity_multiplier:
            if not validate_args:
                return multiplier
            zero = array_ops.zeros([], multiplier.dtype)
            message = ["identity_multiplier should be non-zero."]
            check = check_ops.assert_none_equal(multiplier, zero, message)
            return control_flow_ops.with_dependencies([check], multiplier)
        scale = distribution_util.make_tril_scale(
            loc=self._shift,
            scale_tril=tril,
            scale_diag=diag,
            scale_identity_multiplier=multiplier,
            validate_args=validate_args,
            assert_positive=False,
            shape_hint=hint,
        )
        if factor is None:
            return scale
        return linalg.LinearOperatorLowRankUpdate(
            scale,
            u=factor,
            diag_update=perturb_diag,
            is_diag_update_positive=perturb_diag is None,
            is_non_singular=True,
            is_self_adjoint=True,
            is_positive_definite=True,
            is_square=True,
        )

    def _forward(self, x):
        if not self._is_only_identity_multiplier:
            return super()._forward(x)
        y = x * self._scale
        return y if self.shift is None else y + self.shift

    def _inverse(self, y):
        if not self._is_only_identity_multiplier:
            return super()._inverse(y)
        x = y if self.shift is None else y - self.shift
        return x / self._scale

    def _forward_log_det_jacobian(self, x):
        if not self._is_only_identity_multiplier:
            return self.scale.log_abs_determinant()
        size = math_ops.cast(array_ops.shape(x)[-1], dtype=self._scale.dtype)
        return math_ops.log(math_ops.abs(self._scale)) * size
