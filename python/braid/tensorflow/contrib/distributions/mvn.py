"""Normal distributions of vectors."""

import math

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import linalg_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import kullback_leibler


class MultivariateNormalTriL(distribution.Distribution):
    """Vectors loc + scale_tril @ z, where z has independent standard normal elements; the matrix is
    triangular."""

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
        with ops.name_scope(name, values=[loc, scale_tril]) as name:
            if scale_tril is not None:
                scale_tril = ops.convert_to_tensor(scale_tril, name="scale_tril")
                scale_tril = array_ops.matrix_band_part(scale_tril, -1, 0)
            if loc is None:
                loc = array_ops.zeros_like(array_ops.matrix_diag_part(scale_tril))
            loc = ops.convert_to_tensor(
                loc, name="loc", dtype=None if scale_tril is None else scale_tril.dtype
            )
            if scale_tril is None:
                scale_tril = array_ops.matrix_diag(array_ops.ones_like(loc))
        self._set(loc, scale_tril, parameters, validate_args, allow_nan_stats, name)

    def _set(self, loc, scale_tril, parameters, validate_args, allow_nan_stats, name):
        self._loc, self._scale_tril = loc, scale_tril
        super().__init__(
            dtype=loc.dtype,
            reparameterization_type=distribution.FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[loc, scale_tril],
            name=name,
        )

    @property
    def loc(self):
        return self._loc

    def _batch_shape_tensor(self):
        return array_ops.broadcast_dynamic_shape(
            array_ops.shape(self._loc)[:-1], array_ops.shape(self._scale_tril)[:-2]
        )

    def _batch_shape(self):
        return array_ops.broadcast_static_shape(self._loc.get_shape()[:-1], self._scale_tril.get_shape()[:-2])

    def _event_shape_tensor(self):
        return array_ops.shape(self._scale_tril)[-1:]

    def _event_shape(self):
        return self._scale_tril.get_shape()[-1:]

    def _stretch(self, z):
        return math_ops.reduce_sum(self._scale_tril * array_ops.expand_dims(z, -2), -1)

    def _unstretch(self, x):
        shape = array_ops.concat([array_ops.shape(x)[:-1], array_ops.shape(self._scale_tril)[-2:]], 0)
        matrix = array_ops.broadcast_to(self._scale_tril, shape)
        return linalg_ops.matrix_triangular_solve(matrix, array_ops.expand_dims(x, -1))[..., 0]

    def _diagonal(self):
        return array_ops.matrix_diag_part(self._scale_tril)

    def _log_determinant(self):
        return math_ops.reduce_sum(math_ops.log(math_ops.abs(self._diagonal())), -1)

    def _size(self):
        return math_ops.cast(self.event_shape_tensor()[0], self.dtype)

    def _whole(self, x):
        """x in the shape of the batch and the event."""
        return x + array_ops.zeros(
            array_ops.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0), self.dtype
        )

    def _sample_n(self, n, seed=None):
        shape = array_ops.concat([[n], self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        return self._loc + self._stretch(random_ops.random_normal(shape, dtype=self.dtype, seed=seed))

    def _log_prob(self, x):
        z = self._unstretch(x - self._loc)
        squares = math_ops.reduce_sum(math_ops.square(z), -1)
        return -0.5 * (squares + self._size() * math.log(2 * math.pi)) - self._log_determinant()

    def _entropy(self):
        entropy = 0.5 * self._size() * (1 + math.log(2 * math.pi)) + self._log_determinant()
        return entropy + array_ops.zeros(self.batch_shape_tensor(), self.dtype)

    def _mean(self):
        return self._whole(self._loc)

    def _mode(self):
        return self._mean()

    def _covariance(self):
        return math_ops.matmul(self._scale_tril, self._scale_tril, adjoint_b=True)

    def _variance(self):
        return self._whole(math_ops.reduce_sum(math_ops.square(self._scale_tril), -1))


class MultivariateNormalDiag(MultivariateNormalTriL):
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
        if loc is None and scale_diag is None:
            raise ValueError("Must specify `loc` or `scale_diag`, which say how long the vectors are.")
        with ops.name_scope(name, values=[loc, scale_diag, scale_identity_multiplier]) as name:
            if scale_diag is not None:
                scale_diag = ops.convert_to_tensor(scale_diag, name="scale_diag")
            loc = array_ops.zeros_like(scale_diag) if loc is None else loc
            loc = ops.convert_to_tensor(
                loc, name="loc", dtype=None if scale_diag is None else scale_diag.dtype
            )
            if scale_identity_multiplier is not None:
                factor = ops.convert_to_tensor(scale_identity_multiplier, dtype=loc.dtype)
                factor = array_ops.expand_dims(factor, -1)
                scale_diag = factor * array_ops.ones_like(loc) if scale_diag is None else scale_diag + factor
            if scale_diag is None:
                scale_diag = array_ops.ones_like(loc)
        self._scale_diag = scale_diag
        self._set(loc, array_ops.matrix_diag(scale_diag), parameters, validate_args, allow_nan_stats, name)

    def _stretch(self, z):
        return self._scale_diag * z

    def _unstretch(self, x):
        return x / self._scale_diag

    def _diagonal(self):
        return self._scale_diag

    def _variance(self):
        return self._whole(math_ops.square(self._scale_diag))

    def _stddev(self):
        return self._whole(math_ops.abs(self._scale_diag))


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
        super().__init__(
            loc=loc,
            scale_diag=nn_ops.softplus(scale_diag),
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            name=name,
        )


@kullback_leibler.RegisterKL(MultivariateNormalTriL, MultivariateNormalTriL)
def _kl_mvn_mvn(a, b, name=None):
    with ops.name_scope(name, "kl_mvn", values=[a.loc, b.loc]):
        if isinstance(a, MultivariateNormalDiag) and isinstance(b, MultivariateNormalDiag):
            trace = math_ops.reduce_sum(math_ops.square(a._scale_diag / b._scale_diag), -1)
        else:
            shape = array_ops.broadcast_dynamic_shape(
                array_ops.shape(a._scale_tril), array_ops.shape(b._scale_tril)
            )
            left = array_ops.broadcast_to(b._scale_tril, shape)
            right = array_ops.broadcast_to(a._scale_tril, shape)
            solved = linalg_ops.matrix_triangular_solve(left, right)
            trace = math_ops.reduce_sum(math_ops.square(solved), [-2, -1])
        distance = math_ops.reduce_sum(math_ops.square(b._unstretch(b.loc - a.loc)), -1)
        return b._log_determinant() - a._log_determinant() + 0.5 * (-a._size() + trace + distance)
