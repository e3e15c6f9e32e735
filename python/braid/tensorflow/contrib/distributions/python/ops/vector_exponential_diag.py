"""Vectors of exponential numbers."""

from braid.tensorflow.contrib.distributions.python.ops import distribution_util
from braid.tensorflow.contrib.distributions.python.ops import mvn_linear_operator
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops.distributions import exponential


__all__ = ["VectorExponentialDiag"]


class VectorExponentialDiag(mvn_linear_operator.VectorDistribution):
    """Vectors loc + scale * z, where z has independent elements of Exponential(1)."""

    def __init__(
        self,
        loc=None,
        scale_diag=None,
        scale_identity_multiplier=None,
        validate_args=False,
        allow_nan_stats=True,
        name="VectorExponentialDiag",
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
        make_base = lambda dtype: exponential.Exponential(
            rate=array_ops.ones([], dtype=dtype), allow_nan_stats=allow_nan_stats
        )
        super().__init__(make_base, loc, scale, parameters, validate_args, name)

    def _mean(self):
        return self._moved(array_ops.ones)

    def _mode(self):
        return self._moved(array_ops.zeros)

    def _moved(self, make):
        """loc + scale @ z, for z that `make` makes of a shape and a type."""
        shape = self.batch_shape.concatenate(self.event_shape)
        if not shape.is_fully_defined():
            shape = array_ops.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        moved = self.scale.matvec(make(shape, self.dtype))
        return moved if self.loc is None else array_ops.identity(self.loc) + moved
