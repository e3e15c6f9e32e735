"""Normal distributions of vectors, whose scale is a LinearOperator."""

import numpy as np

from braid.tensorflow.contrib.distributions.python.ops import distribution_util
from braid.tensorflow.contrib.distributions.python.ops.bijectors import affine_linear_operator
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import kullback_leibler
from braid.tensorflow.python.ops.distributions import normal
from braid.tensorflow.python.ops.distributions import transformed_distribution


__all__ = ["MultivariateNormalLinearOperator"]


class VectorDistribution(transformed_distribution.TransformedDistribution):
    """Vectors loc + scale @ z, where z has independent elements of one distribution of numbers
    with the mode 0."""

    def __init__(self, base, loc, scale, parameters, validate_args, name):
        if scale is None:
            raise ValueError("Missing required `scale` parameter.")
        if not scale.dtype.is_floating:
            raise TypeError("`scale` parameter must have floating-point dtype.")
        if loc is not None:
            loc = ops.convert_to_tensor(loc, name="loc", dtype=scale.dtype)
        batch_shape, event_shape = _shapes(loc, scale)
        super().__init__(
            distribution=base,
            bijector=affine_linear_operator.AffineLinearOperator(
                shift=loc, scale=scale, validate_args=validate_args
            ),
            batch_shape=batch_shape,
            event_shape=event_shape,
            validate_args=validate_args,
            name=name,
        )
        self._set_parameters(parameters)

    @property
    def loc(self):
        return self.bijector.shift

    @property
    def scale(self):
        """The LinearOperator."""
        return self.bijector.scale

    def _whole(self, x):
        """x in the shape of the batch and the event."""
        shape = self.batch_shape.concatenate(self.event_shape)
        if x is not None and shape.is_fully_defined() and x.get_shape() == shape:
            return array_ops.identity(x)
        zeros = array_ops.zeros(
            array_ops.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0), self.dtype
        )
        return zeros if x is None else x + zeros

    def _mean(self):
        z = self.distribution.mean()
        return self._whole(self.loc) + self.scale.matvec(self._whole(z))

    def _is_diagonal(self):
        return distribution_util.is_diagonal_scale(self.scale)

    def _covariance(self):
        if self._is_diagonal():
            product = array_ops.matrix_diag(math_ops.square(self.scale.diag_part()))
        else:
            product = self.scale.matmul(self.scale.to_dense(), adjoint_arg=True)
        return self.distribution.variance() * product

    def _variance(self):
        if self._is_diagonal():
            squares = math_ops.square(self.scale.diag_part())
        else:
            squares = math_ops.reduce_sum(math_ops.square(self.scale.to_dense()), -1)
        return self.distribution.variance() * squares

    def _stddev(self):
        if self._is_diagonal():
            return self.distribution.stddev() * math_ops.abs(self.scale.diag_part())
        return math_ops.sqrt(self._variance())

    def _mode(self):
        return self._whole(self.loc)  # the mode of z is 0


class MultivariateNormalLinearOperator(VectorDistribution):
    """Vectors loc + scale @ z, where z has independent standard normal elements."""

    def __init__(
        self,
        loc=None,
        scale=None,
        validate_args=False,
        allow_nan_stats=True,
        name="MultivariateNormalLinearOperator",
    ):
        parameters = dict(locals())
        if scale is None:
            raise ValueError("Missing required `scale` parameter.")
        with ops.name_scope(name, values=[loc] + scale.graph_parents) as name:
            standard = normal.Normal(
                loc=array_ops.zeros([], scale.dtype),
                scale=array_ops.ones([], scale.dtype),
                allow_nan_stats=allow_nan_stats,
            )
            super().__init__(standard, loc, scale, parameters, validate_args, name)

    def _mean(self):
        return self._whole(self.loc)


def _shapes(loc, scale):
    """The shapes of the batch and of the event."""
    size = scale.range_dimension_tensor()
    known = tensor_util.constant_value(size)
    event = array_ops.expand_dims(size, 0) if known is None else np.reshape(known, [1])
    batch = scale.batch_shape
    if loc is None:
        return (batch.as_list() if batch.is_fully_defined() else scale.batch_shape_tensor()), event
    own = tensor_shape.dimension_value(loc.get_shape().with_rank_at_least(1)[-1])
    if own is not None and known is not None and own != 1 and own != known:
        raise ValueError(
            f"Event size of 'scale' ({known}) could not be broadcast up to that of 'loc' ({own})."
        )
    loc_batch = loc.get_shape()[:-1]
    if batch.is_fully_defined() and loc_batch.is_fully_defined():
        return array_ops.broadcast_static_shape(batch, loc_batch).as_list(), event
    return array_ops.broadcast_dynamic_shape(scale.batch_shape_tensor(), array_ops.shape(loc)[:-1]), event


@kullback_leibler.RegisterKL(MultivariateNormalLinearOperator, MultivariateNormalLinearOperator)
def _kl_normal(a, b, name=None):
    with ops.name_scope(
        name, "kl_mvn", values=[a.loc, b.loc] + a.scale.graph_parents + b.scale.graph_parents
    ):
        if a._is_diagonal() and b._is_diagonal():
            trace = math_ops.reduce_sum(math_ops.square(a.scale.diag_part() / b.scale.diag_part()), -1)
        else:
            trace = math_ops.reduce_sum(math_ops.square(b.scale.solve(a.scale.to_dense())), [-2, -1])
        moved = b.scale.solvevec(b.mean() - a.mean())
        distance = math_ops.reduce_sum(math_ops.square(moved), -1)
        size = math_ops.cast(a.scale.domain_dimension_tensor(), a.dtype)
        made = b.scale.log_abs_determinant() - a.scale.log_abs_determinant()
        made += 0.5 * (-size + trace + distance)
        made.set_shape(array_ops.broadcast_static_shape(a.batch_shape, b.batch_shape))
        return made
