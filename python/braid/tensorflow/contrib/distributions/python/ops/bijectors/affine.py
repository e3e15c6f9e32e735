"""A shift and a matrix of several parts."""

from braid.tensorflow.contrib.distributions.python.ops import distribution_util
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import bijector
from braid.tensorflow.python.ops.linalg import linalg


__all__ = ["Affine"]


class Affine(bijector.Bijector):
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
        given = [shift, scale_identity_multiplier, scale_diag, scale_tril, scale_perturb_factor]
        with ops.name_scope(name, values=given + [scale_perturb_diag]):
            dtype = next((ops.convert_to_tensor(g).dtype.base_dtype for g in given if g is not None), None)
            as_tensor = lambda x, name: None if x is None else ops.convert_to_tensor(x, dtype, name=name)
            self._shift = as_tensor(shift, "shift")
            self._multiplier = as_tensor(scale_identity_multiplier, "scale_identity_multiplier")
            diag, tril = as_tensor(scale_diag, "scale_diag"), as_tensor(scale_tril, "scale_tril")
            factor = as_tensor(scale_perturb_factor, "scale_perturb_factor")
            self._scale = None  # a LinearOperator; None: the multiple of the identity
            if diag is not None or tril is not None or factor is not None:
                hint = None if factor is None else distribution_util.dimension_size(factor, -2)
                base = distribution_util.make_tril_scale(
                    loc=self._shift,
                    scale_tril=tril,
                    scale_diag=diag,
                    scale_identity_multiplier=self._multiplier,
                    shape_hint=hint,
                    dtype=dtype,
                    validate_args=validate_args,
                )
                self._scale = base
                if factor is not None:
                    self._scale = linalg.LinearOperatorLowRankUpdate(
                        base,
                        u=factor,
                        diag_update=as_tensor(scale_perturb_diag, "scale_perturb_diag"),
                        is_diag_update_positive=scale_perturb_diag is None,
                        is_non_singular=True,
                        is_self_adjoint=True,
                        is_positive_definite=True,
                        is_square=True,
                    )
            parents = [t for t in (self._shift, self._multiplier) if t is not None]
            parents += [] if self._scale is None else self._scale.graph_parents
        super().__init__(
            forward_min_event_ndims=1,
            graph_parents=parents,
            is_constant_jacobian=True,
            dtype=dtype,
            validate_args=validate_args,
            name=name,
        )

    @property
    def shift(self):
        return self._shift

    @property
    def scale(self):
        """A LinearOperator, or the multiple of the identity as a tensor."""
        if self._scale is not None:
            return self._scale
        return ops.convert_to_tensor(1.0, self.dtype) if self._multiplier is None else self._multiplier

    def _forward(self, x):
        if self._scale is not None:
            x = self._scale.matvec(x)
        elif self._multiplier is not None:
            x = x * array_ops.expand_dims(self._multiplier, -1)
        return x if self.shift is None else x + self.shift

    def _inverse(self, y):
        x = y if self.shift is None else y - self.shift
        if self._scale is not None:
            return self._scale.solvevec(x)
        return x if self._multiplier is None else x / array_ops.expand_dims(self._multiplier, -1)

    def _forward_log_det_jacobian(self, x):
        if self._scale is not None:
            return self._scale.log_abs_determinant()
        if self._multiplier is None:
            return constant_op.constant(0.0, dtype=x.dtype.base_dtype)
        size = math_ops.cast(array_ops.shape(x)[-1], x.dtype)
        return size * math_ops.log(math_ops.abs(self._multiplier))
