"""Normal distributions of vectors, whose scale is a LinearOperator."""

from braid.tensorflow.contrib.distributions.python.ops import distribution_util
from braid.tensorflow.contrib.distributions.python.ops.bijectors import affine_linear_operator
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import kullback_leibler
from braid.tensorflow.python.ops.distributions import normal
from braid.tensorflow.python.ops.distributions import transformed_distribution
from braid.tensorflow.python.ops.linalg import linalg


__all__ = ["MultivariateNormalLinearOperator"]


class VectorDistribution(transformed_distribution.TransformedDistribution):
    """Vectors loc + scale @ z, where z has independent elements of one distribution of numbers
    with the mode 0."""

    def __init__(self, make_base, loc, scale, parameters, validate_args, name, stays=True, enters=True):
        if scale is None:
            raise ValueError("Missing required `scale` parameter.")
        if not scale.dtype.is_floating:
            raise TypeError("`scale` parameter must have floating-point dtype.")
        # By TensorFlow's names of nodes, what follows the shapes stays in their scope or not, and enters the
        # scope for its own nodes or makes another one.
        with ops.name_scope(name, values=[loc] + scale.graph_parents) as scope:
            name = scope if enters else name
            loc = None if loc is None else ops.convert_to_tensor(loc, name="loc")
            batch_shape, event_shape = distribution_util.shapes_from_loc_and_scale(loc, scale)
            build = lambda: super(VectorDistribution, self).__init__(
                distribution=make_base(scale.dtype),
                bijector=affine_linear_operator.AffineLinearOperator(
                    shift=loc, scale=scale, validate_args=validate_args
                ),
                batch_shape=batch_shape,
                event_shape=event_shape,
                validate_args=validate_args,
                name=name,
            )
            if stays:
                build()
        if not stays:
            build()
        self._set_parameters(parameters)

    @property
    def loc(self):
        return self.bijector.shift

    @property
    def scale(self):
        """The LinearOperator."""
        return self.bijector.scale

    def _whole_loc(self):
        """`loc` in the shape of the batch and the event."""
        shape = self.batch_shape.concatenate(self.event_shape)
        is_known = shape.is_fully_defined()
        if not is_known:
            shape = array_ops.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        if self.loc is None:
            return array_ops.zeros(shape, self.dtype)
        if is_known and shape == self.loc.get_shape():
            return array_ops.identity(self.loc)
        return array_ops.identity(self.loc) + array_ops.zeros(shape, self.dtype)

    def _mean(self):
        return self._whole_loc()

    def _mode(self):
        return self._whole_loc()  # the mode of z is 0

    def _is_diagonal(self):
        return distribution_util.is_diagonal_scale(self.scale)

    def _covariance_of_scale(self):
        """The covariance where z has the variance 1."""
        if self._is_diagonal():
            return array_ops.matrix_diag(math_ops.square(self.scale.diag_part()))
        return self.scale.matmul(self.scale.to_dense(), adjoint_arg=True)

    def _variance_of_scale(self):
        if self._is_diagonal():
            return math_ops.square(self.scale.diag_part())
        is_update = isinstance(self.scale, linalg.LinearOperatorLowRankUpdate)
        is_symmetric = is_update and self.scale.is_self_adjoint
        product = self.scale.matmul(self.scale.to_dense(), adjoint_arg=not is_symmetric)
        return array_ops.matrix_diag_part(product)

    def _stddev_of_scale(self):
        if self._is_diagonal():
            return math_ops.abs(self.scale.diag_part())
        return math_ops.sqrt(self._variance_of_scale())

    def _covariance(self):
        return self._covariance_of_scale()

    def _variance(self):
        return self._variance_of_scale()

    def _stddev(self):
        return self._stddev_of_scale()


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
        make_base = lambda dtype: normal.Normal(
            loc=array_ops.zeros([], dtype=dtype), scale=array_ops.ones([], dtype=dtype)
        )
        super().__init__(make_base, loc, scale, parameters, validate_args, name, stays=False)


@kullback_leibler.RegisterKL(MultivariateNormalLinearOperator, MultivariateNormalLinearOperator)
def _kl_normal(a, b, name=None):
    with ops.name_scope(
        name, "kl_mvn", values=[a.loc, b.loc] + a.scale.graph_parents + b.scale.graph_parents
    ):
        squares = lambda x: math_ops.reduce_sum(math_ops.square(x), axis=[-2, -1])
        if a._is_diagonal() and b._is_diagonal():
            ratio = (a.stddev() / b.stddev())[..., array_ops.newaxis]
        else:
            ratio = b.scale.solve(a.scale.to_dense())
        made = (
            b.scale.log_abs_determinant()
            - a.scale.log_abs_determinant()
            + 0.5
            * (
                -math_ops.cast(a.scale.domain_dimension_tensor(), a.dtype)
                + squares(ratio)
                + squares(b.scale.solve((b.mean() - a.mean())[..., array_ops.newaxis]))
            )
        )
        made.set_shape(array_ops.broadcast_static_shape(a.batch_shape, b.batch_shape))
        return made
