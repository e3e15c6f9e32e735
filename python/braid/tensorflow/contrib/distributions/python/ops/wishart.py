"""Wishart's distribution of positive definite matrices."""

import math

import numpy as np

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import linalg_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import util
from braid.tensorflow.python.ops.linalg import linalg


__all__ = ["WishartCholesky", "WishartFull"]


class _Wishart(distribution.Distribution):
    """Matrices, the sums of x @ x^T for `df` normal vectors x whose covariance is scale @ scale^T.

    Samples are drawn by Bartlett's decomposition. With cholesky_input_output_matrices, samples, means and
    modes are Cholesky factors, as are the values whose probability is asked for.
    """

    def _set(self, df, scale, cholesky, parameters, validate_args, allow_nan_stats, name):
        """`scale`: the Cholesky factor as a LinearOperator."""
        if not scale.dtype.is_floating:
            raise TypeError(f"scale_operator.dtype={scale.dtype} is not a floating-point type")
        if not scale.is_square:
            raise ValueError("scale_operator must be square.")
        self._scale_operator, self._cholesky = scale, cholesky
        self._df = ops.convert_to_tensor(df, dtype=scale.dtype, name="df")
        size = tensor_shape.dimension_value(scale.domain_dimension)
        self._dimension = scale.domain_dimension_tensor() if size is None else ops.convert_to_tensor(size)
        self._size = math_ops.cast(self._dimension, scale.dtype)
        known = tensor_util.constant_value(self._df)
        message = "Degrees of freedom (df = {}) cannot be less than dimension of scale matrix (scale.dimension = {})"
        if known is not None and size is not None and (np.asarray(known) < size).any():
            raise ValueError(message.format(known, size))
        if validate_args and (known is None or size is None):
            check = check_ops.assert_less_equal(self._size, self._df, message=message.format("df", "n"))
            self._df = control_flow_ops.with_dependencies([check], self._df)
        super().__init__(
            dtype=scale.dtype,
            reparameterization_type=distribution.FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._df, self._dimension] + scale.graph_parents,
            name=name,
        )

    @property
    def df(self):
        return self._df

    @property
    def scale_operator(self):
        """The Cholesky factor as a LinearOperator."""
        return self._scale_operator

    def scale(self):
        """The matrix; with cholesky_input_output_matrices, its factor."""
        dense = self.scale_operator.to_dense()
        return dense if self._cholesky else math_ops.matmul(dense, dense, adjoint_b=True)

    @property
    def cholesky_input_output_matrices(self):
        return self._cholesky

    @property
    def dimension(self):
        """How many rows a matrix has, in the dtype of the distribution."""
        return self._size

    def _batch_shape_tensor(self):
        return array_ops.broadcast_dynamic_shape(
            array_ops.shape(self.df), self.scale_operator.batch_shape_tensor()
        )

    def _batch_shape(self):
        return array_ops.broadcast_static_shape(self.df.get_shape(), self.scale_operator.batch_shape)

    def _event_shape_tensor(self):
        return array_ops.stack([self._dimension, self._dimension])

    def _event_shape(self):
        size = self.scale_operator.domain_dimension
        return tensor_shape.TensorShape([size, size])

    def _sample_n(self, n, seed=None):
        batch = self.batch_shape_tensor()
        shape = array_ops.concat([[n], batch, self.event_shape_tensor()], 0)
        normals = random_ops.random_normal(shape, dtype=self.dtype, seed=seed)
        # The squares of the diagonal are chi-squared of df, df - 1, ... degrees of freedom.
        freedom = array_ops.expand_dims(self.df + array_ops.zeros(batch, self.dtype), -1)
        freedom -= math_ops.cast(math_ops.range(self._dimension), self.dtype)
        other = util.gen_new_seed(seed, "wishart")
        squares = random_ops.random_gamma([n], alpha=0.5 * freedom, beta=0.5, dtype=self.dtype, seed=other)
        lower = array_ops.matrix_band_part(normals, -1, 0)
        lower = array_ops.matrix_set_diag(lower, math_ops.sqrt(squares))
        made = self.scale_operator.matmul(lower)
        return made if self._cholesky else math_ops.matmul(made, made, adjoint_b=True)

    def _multivariate(self, function, x):
        """The sum of function(x - i / 2) over the dimensions i."""
        parts = 0.5 * math_ops.cast(math_ops.range(self._dimension), self.dtype)
        return math_ops.reduce_sum(function(array_ops.expand_dims(x, -1) - parts), -1)

    def _log_gamma(self, x):
        pairs = self._size * (self._size - 1.0)
        return 0.25 * pairs * math.log(math.pi) + self._multivariate(math_ops.lgamma, x)

    def _log_prob(self, x):
        factor = x if self._cholesky else linalg_ops.cholesky(x)
        solved = self.scale_operator.solve(factor)
        trace = math_ops.reduce_sum(math_ops.square(solved), [-2, -1])
        half_log_det = math_ops.reduce_sum(math_ops.log(array_ops.matrix_diag_part(factor)), -1)
        density = (self.df - self._size - 1.0) * half_log_det - 0.5 * trace
        return density - self.log_normalization()

    def _entropy(self):
        half_size, half_df = 0.5 * self._size + 0.5, 0.5 * self.df
        return (
            self._size * (half_df + half_size * math.log(2.0))
            + 2.0 * half_size * self.scale_operator.log_abs_determinant()
            + self._log_gamma(half_df)
            + (half_size - half_df) * self._multivariate(math_ops.digamma, half_df)
        )

    def _full(self):
        dense = self.scale_operator.to_dense()
        return math_ops.matmul(dense, dense, adjoint_b=True)

    def _times(self, factor):
        factor = array_ops.expand_dims(array_ops.expand_dims(factor, -1), -1)
        if self._cholesky:
            return math_ops.sqrt(factor) * self.scale_operator.to_dense()
        return factor * self._full()

    def _mean(self):
        return self._times(self.df)

    def _variance(self):
        matrix = math_ops.sqrt(array_ops.expand_dims(array_ops.expand_dims(self.df, -1), -1)) * self._full()
        diagonal = array_ops.expand_dims(array_ops.matrix_diag_part(matrix), -1)
        variance = math_ops.square(matrix) + math_ops.matmul(diagonal, diagonal, adjoint_b=True)
        return linalg_ops.cholesky(variance) if self._cholesky else variance

    def _stddev(self):
        if self._cholesky:
            raise ValueError(
                "Computing std. dev. when is cholesky_input_output_matrices=True does not make sense."
            )
        return linalg_ops.cholesky(self._variance())

    def _mode(self):
        factor = self.df - self._size - 1.0
        nan = constant_op.constant(np.nan, self.dtype)
        return self._times(array_ops.where_v2(factor < 0.0, nan, factor))

    def mean_log_det(self, name="mean_log_det"):
        """The mean of the logarithms of determinants."""
        with self._name_scope(name):
            log_det = 2 * self.scale_operator.log_abs_determinant()
            return self._multivariate(math_ops.digamma, 0.5 * self.df) + self._size * math.log(2.0) + log_det

    def log_normalization(self, name="log_normalization"):
        with self._name_scope(name):
            return (
                self.df * self.scale_operator.log_abs_determinant()
                + 0.5 * self.df * self._size * math.log(2.0)
                + self._log_gamma(0.5 * self.df)
            )


class WishartCholesky(_Wishart):
    """Wishart's distribution, by the Cholesky factor of the scale matrix.

    With cholesky_input_output_matrices, samples and values are Cholesky factors of matrices.
    """

    def __init__(
        self,
        df,
        scale,
        cholesky_input_output_matrices=False,
        validate_args=False,
        allow_nan_stats=True,
        name="WishartCholesky",
    ):
        parameters = dict(locals())
        with ops.name_scope(name, values=[scale]) as name:
            scale = ops.convert_to_tensor(scale)
            if validate_args:
                message = "scale must be positive definite"
                check = check_ops.assert_positive(array_ops.matrix_diag_part(scale), message=message)
                scale = control_flow_ops.with_dependencies([check], scale)
            operator = linalg.LinearOperatorLowerTriangular(
                tril=scale, is_non_singular=True, is_positive_definite=True, is_square=True
            )
            self._set(
                df, operator, cholesky_input_output_matrices, parameters, validate_args, allow_nan_stats, name
            )


class WishartFull(_Wishart):
    """Wishart's distribution, by the scale matrix."""

    def __init__(
        self,
        df,
        scale,
        cholesky_input_output_matrices=False,
        validate_args=False,
        allow_nan_stats=True,
        name="WishartFull",
    ):
        parameters = dict(locals())
        with ops.name_scope(name, values=[scale]) as name:
            scale = ops.convert_to_tensor(scale)
            if validate_args:
                scale = util.assert_symmetric(scale)
            operator = linalg.LinearOperatorLowerTriangular(
                tril=linalg_ops.cholesky(scale),
                is_non_singular=True,
                is_positive_definite=True,
                is_square=True,
            )
            self._set(
                df, operator, cholesky_input_output_matrices, parameters, validate_args, allow_nan_stats, name
            )
