"""LinearOperator: a matrix, or a batch of them, that is known by what it does."""

import abc
import contextlib

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.module import module
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import gen_linalg_ops
from braid.tensorflow.python.ops import linalg_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.linalg import linalg_impl as linalg
from braid.tensorflow.python.ops.linalg import linear_operator_algebra
from braid.tensorflow.python.ops.linalg import linear_operator_util
from braid.tensorflow.python.util import dispatch
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("linalg.LinearOperator")
class LinearOperator(module.Module):
    """The base. Its shape is [B1, ..., Bb, M, N]; it multiplies arguments of shape [..., N, R].

    Subclasses define _shape, _shape_tensor and _matmul. The other methods with a '_' go by way of the dense
    matrix unless a subclass knows better. Hints (is_non_singular, is_self_adjoint, is_positive_definite,
    is_square) are taken as they are given, None for unknown; methods choose by them.
    """

    def __init__(
        self,
        dtype,
        graph_parents=None,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name=None,
    ):
        implied = linear_operator_util.implied_hint
        if is_positive_definite:
            is_non_singular = implied(
                True, is_non_singular, "A positive definite matrix is always non-singular."
            )
        if is_non_singular:
            is_square = implied(True, is_square, "A non-singular matrix is always square.")
        if is_self_adjoint:
            is_square = implied(True, is_square, "A self-adjoint matrix is always square.")
        for i, t in enumerate(graph_parents or ()):
            if t is None or not (linear_operator_util.is_ref(t) or tensor_util.is_tensor(t)):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {t}.")
        self._is_square_set_or_implied_by_hints = is_square
        self._dtype = dtypes.as_dtype(dtype).base_dtype if dtype else dtype
        self._graph_parents = graph_parents or []
        self._is_non_singular = is_non_singular
        self._is_self_adjoint = is_self_adjoint
        self._is_positive_definite = is_positive_definite
        self._name = name or type(self).__name__

    @contextlib.contextmanager
    def _name_scope(self, name=None):
        with ops.name_scope(self.name if name is None else f"{self.name}/{name}") as scope:
            yield scope

    # What is known of it.

    @property
    def dtype(self):
        return self._dtype

    @property
    def name(self):
        return self._name

    @property
    def graph_parents(self):
        """The tensors that it is made of."""
        return self._graph_parents

    @property
    def is_non_singular(self):
        return self._is_non_singular

    @property
    def is_self_adjoint(self):
        return self._is_self_adjoint

    @property
    def is_positive_definite(self):
        """Whether the real part of x^H A x is positive for all x but 0."""
        return self._is_positive_definite

    @property
    def is_square(self):
        """Whether it is square, by the hint or by its shape. ValueError: they differ."""
        hint = self._is_square_set_or_implied_by_hints
        by_shape = self.domain_dimension == self.range_dimension
        if hint is False and by_shape:
            raise ValueError("User set is_square hint to False, but the operator was square.")
        return by_shape if hint is None else hint

    def _hints(self, **changed):
        """The hints as arguments of another operator."""
        names = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")
        return {**{name: getattr(self, name) for name in names}, **changed}

    # Shapes.

    @abc.abstractmethod
    def _shape(self):
        raise NotImplementedError("_shape is not implemented.")

    @abc.abstractmethod
    def _shape_tensor(self):
        raise NotImplementedError("_shape_tensor is not implemented.")

    @property
    def shape(self):
        return self._shape()

    def shape_tensor(self, name="shape_tensor"):
        with self._name_scope(name):
            if self.shape.is_fully_defined():
                return linear_operator_util.shape_tensor(self.shape.as_list())
            return self._shape_tensor()

    @property
    def batch_shape(self):
        return self.shape[:-2]

    def batch_shape_tensor(self, name="batch_shape_tensor"):
        with self._name_scope(name):
            if self.batch_shape.is_fully_defined():
                return linear_operator_util.shape_tensor(self.batch_shape.as_list(), name="batch_shape")
            return self.shape_tensor()[:-2]

    @property
    def tensor_rank(self):
        return self.shape.ndims

    def tensor_rank_tensor(self, name="tensor_rank_tensor"):
        with self._name_scope(name):
            known = self.tensor_rank
            return ops.convert_to_tensor(known) if known is not None else array_ops.size(self.shape_tensor())

    @property
    def domain_dimension(self):
        """The number of columns."""
        return tensor_shape.dimension_at_index(self.shape, -1)

    @property
    def range_dimension(self):
        """The number of rows."""
        return tensor_shape.dimension_at_index(self.shape, -2)

    def _dimension_tensor(self, known, index, name):
        with self._name_scope(name):
            known = tensor_shape.dimension_value(known)
            return self.shape_tensor()[index] if known is None else ops.convert_to_tensor(known)

    def domain_dimension_tensor(self, name="domain_dimension_tensor"):
        return self._dimension_tensor(self.domain_dimension, -1, name)

    def range_dimension_tensor(self, name="range_dimension_tensor"):
        return self._dimension_tensor(self.range_dimension, -2, name)

    def _full(self, value, tail=()):
        """A tensor of the batch's shape, with `tail` at its end, that has one value everywhere."""
        shape = self.batch_shape
        if shape.is_fully_defined() and all(isinstance(size, int) for size in tail):
            shape = shape.as_list() + list(tail)
        else:
            shape = (
                array_ops.concat([self.batch_shape_tensor(), list(tail)], 0)
                if tail
                else (self.batch_shape_tensor())
            )
        return array_ops.fill(shape, ops.convert_to_tensor(value, dtype=self.dtype))

    def _diagonal_size(self):
        """The number of elements on the diagonal, an int or a tensor."""
        sizes = [tensor_shape.dimension_value(d) for d in (self.range_dimension, self.domain_dimension)]
        return math_ops.reduce_min(self.shape_tensor()[-2:]) if None in sizes else min(sizes)

    # Assertions.

    def _assert_non_singular(self):
        if self._can_use_cholesky():
            return self.assert_positive_definite()
        values = linalg_ops.svd(self.to_dense(), compute_uv=False)
        condition = math_ops.reduce_max(values, axis=-1) / math_ops.reduce_min(values, axis=-1)
        return check_ops.assert_less(
            condition,
            self._max_condition_number_to_be_non_singular(),
            message="Singular matrix up to precision epsilon.",
        )

    def _max_condition_number_to_be_non_singular(self):
        with ops.name_scope("max_nonsingular_condition_number"):
            real = self.dtype.real_dtype
            size = math_ops.cast(
                math_ops.maximum(self.range_dimension_tensor(), self.domain_dimension_tensor()), real
            )
            return 1.0 / (
                math_ops.maximum(ops.convert_to_tensor(100.0, real), size) * np.finfo(real.as_numpy_dtype).eps
            )

    def assert_non_singular(self, name="assert_non_singular"):
        """An op that fails where the matrix is singular, or nearly so."""
        with self._name_scope(name):
            return self._assert_non_singular()

    def _assert_positive_definite(self):
        if not self.is_self_adjoint:
            raise NotImplementedError("assert_positive_definite is not implemented.")
        return check_ops.assert_positive(
            math_ops.real(array_ops.matrix_diag_part(linalg_ops.cholesky(self.to_dense()))),
            message="Matrix was not positive definite.",
        )

    def assert_positive_definite(self, name="assert_positive_definite"):
        """An op that fails where the matrix is not positive definite."""
        with self._name_scope(name):
            return self._assert_positive_definite()

    def _assert_self_adjoint(self):
        dense = self.to_dense()
        return check_ops.assert_equal(
            dense, linalg.adjoint(dense), message="Matrix was not equal to its adjoint."
        )

    def assert_self_adjoint(self, name="assert_self_adjoint"):
        """An op that fails where the matrix is not its conjugate transpose."""
        with self._name_scope(name):
            return self._assert_self_adjoint()

    # Products.

    def _check_input_dtype(self, arg):
        """TypeError: an argument has another type. Operators of programs call it, too."""
        if arg.dtype.base_dtype != self.dtype:
            raise TypeError(
                f"Expected argument to have dtype {self.dtype}.  Found: {arg.dtype} in tensor {arg}"
            )

    def _argument(self, x, name, dimension, index):
        """An argument as a tensor. TypeError, ValueError: its type, or its size at `index`, do not fit."""
        x = ops.convert_to_tensor(x, name=name)
        self._check_input_dtype(x)
        dimension.assert_is_compatible_with(tensor_shape.dimension_at_index(x.shape, index))
        return x

    def _with_operator(self, rule, x, adjoint, adjoint_arg, name, argument):
        left, right = self.adjoint() if adjoint else self, x.adjoint() if adjoint_arg else x
        if not left.domain_dimension.is_compatible_with(right.range_dimension):
            raise ValueError(
                f"Operators are incompatible. Expected `{argument}` to have dimension "
                f"{left.domain_dimension} but got {right.range_dimension}."
            )
        with self._name_scope(name):
            return rule(left, right)

    @abc.abstractmethod
    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        raise NotImplementedError("_matmul is not implemented.")

    def matmul(self, x, adjoint=False, adjoint_arg=False, name="matmul"):
        """The product with matrices [..., N, R], or with another operator, which makes one.

        adjoint, adjoint_arg: the operator, or the argument, is conjugated and transposed first.
        """
        if isinstance(x, LinearOperator):
            return self._with_operator(linear_operator_algebra.matmul, x, adjoint, adjoint_arg, name, "x")
        with self._name_scope(name):
            dimension = self.range_dimension if adjoint else self.domain_dimension
            x = self._argument(x, "x", dimension, -1 if adjoint_arg else -2)
            return self._matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _matvec(self, x, adjoint=False):
        return array_ops.squeeze(self.matmul(array_ops.expand_dims(x, -1), adjoint=adjoint), axis=-1)

    def matvec(self, x, adjoint=False, name="matvec"):
        """The product with vectors [..., N]."""
        with self._name_scope(name):
            x = self._argument(x, "x", self.range_dimension if adjoint else self.domain_dimension, -1)
            return self._matvec(x, adjoint=adjoint)

    # Determinants.

    def _check_square_for_determinant(self):
        if self.is_square is False:
            raise NotImplementedError(
                "Determinant not implemented for an operator that is expected to not be square."
            )

    def _determinant(self):
        if self._can_use_cholesky():
            return math_ops.exp(self.log_abs_determinant())
        return linalg_ops.matrix_determinant(self.to_dense())

    def determinant(self, name="det"):
        self._check_square_for_determinant()
        with self._name_scope(name):
            return self._determinant()

    def _log_abs_determinant(self):
        if self._can_use_cholesky():
            diagonal = array_ops.matrix_diag_part(linalg_ops.cholesky(self.to_dense()))
            return 2 * math_ops.reduce_sum(math_ops.log(diagonal), axis=[-1])
        return gen_linalg_ops.log_matrix_determinant(self.to_dense())[1]

    def log_abs_determinant(self, name="log_abs_det"):
        """The logarithms of the determinants' absolute values."""
        self._check_square_for_determinant()
        with self._name_scope(name):
            return self._log_abs_determinant()

    # Systems of equations.

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        rhs = linalg.adjoint(rhs) if adjoint_arg else rhs
        if self._can_use_cholesky():
            return linear_operator_util.cholesky_solve_with_broadcast(
                linalg_ops.cholesky(self.to_dense()), rhs
            )
        return linear_operator_util.matrix_solve_with_broadcast(self.to_dense(), rhs, adjoint=adjoint)

    def solve(self, rhs, adjoint=False, adjoint_arg=False, name="solve"):
        """The X with A X = rhs, for matrices [..., M, R] or an operator. The arguments are as for matmul."""
        for hint, what in ((self.is_non_singular, "be singular"), (self.is_square, "not be square")):
            if hint is False:
                raise NotImplementedError(
                    f"Exact solve not implemented for an operator that is expected to {what}."
                )
        if isinstance(rhs, LinearOperator):
            return self._with_operator(linear_operator_algebra.solve, rhs, adjoint, adjoint_arg, name, "rhs")
        with self._name_scope(name):
            dimension = self.domain_dimension if adjoint else self.range_dimension
            rhs = self._argument(rhs, "rhs", dimension, -1 if adjoint_arg else -2)
            return self._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs, adjoint=False):
        return array_ops.squeeze(self.solve(array_ops.expand_dims(rhs, -1), adjoint=adjoint), axis=-1)

    def solvevec(self, rhs, adjoint=False, name="solve"):
        """As solve, for vectors [..., M]."""
        with self._name_scope(name):
            rhs = self._argument(rhs, "rhs", self.domain_dimension if adjoint else self.range_dimension, -1)
            return self._solvevec(rhs, adjoint=adjoint)

    # Other operators.

    def adjoint(self, name="adjoint"):
        """The operator of the conjugate transpose."""
        if self.is_self_adjoint is True:
            return self
        with self._name_scope(name):
            return linear_operator_algebra.adjoint(self)

    H = property(adjoint)

    def inverse(self, name="inverse"):
        """The operator of the inverse. ValueError: it is known to have none."""
        for hint, what in ((self.is_square, "non square"), (self.is_non_singular, "singular")):
            if hint is False:
                raise ValueError(f"Cannot take the Inverse: This operator represents a {what} matrix.")
        with self._name_scope(name):
            return linear_operator_algebra.inverse(self)

    def cholesky(self, name="cholesky"):
        """The operator L with A = L L^H. ValueError: it is not known to be positive definite."""
        if not self._can_use_cholesky():
            raise ValueError(
                "Cannot take the Cholesky decomposition: Not a positive definite self adjoint matrix."
            )
        with self._name_scope(name):
            return linear_operator_algebra.cholesky(self)

    def _can_use_cholesky(self):
        return self.is_self_adjoint and self.is_positive_definite

    # The matrix.

    def _to_dense(self):
        known = self.batch_shape.is_fully_defined()
        size = tensor_shape.dimension_value(self.domain_dimension)
        return self.matmul(
            linalg_ops.eye(
                num_rows=self.domain_dimension_tensor() if size is None else size,
                batch_shape=self.batch_shape if known else self.batch_shape_tensor(),
                dtype=self.dtype,
            )
        )

    def to_dense(self, name="to_dense"):
        """The matrix, a tensor."""
        with self._name_scope(name):
            return self._to_dense()

    def _diag_part(self):
        return array_ops.matrix_diag_part(self.to_dense())

    def diag_part(self, name="diag_part"):
        """The diagonal, [..., min(M, N)]."""
        with self._name_scope(name):
            return self._diag_part()

    def _trace(self):
        return math_ops.reduce_sum(self.diag_part(), axis=-1)

    def trace(self, name="trace"):
        """The sum of the diagonal."""
        with self._name_scope(name):
            return self._trace()

    def _add_to_tensor(self, x):
        return self.to_dense() + x

    def add_to_tensor(self, x, name="add_to_tensor"):
        """The sum of the matrix and a tensor."""
        with self._name_scope(name):
            return self._add_to_tensor(self._argument(x, "x", self.domain_dimension, -1))


# Functions of tf.linalg take operators, too.


@dispatch.dispatch_for_types(linalg.adjoint, LinearOperator)
def _adjoint(matrix, name=None):
    return matrix.adjoint(name or "adjoint")


@dispatch.dispatch_for_types(linalg.cholesky, LinearOperator)
def _cholesky(input, name=None):
    return input.cholesky(name or "cholesky")


@dispatch.dispatch_for_types(linalg.diag_part, LinearOperator)
def _diag_part(input, name="diag_part", k=0, padding_value=0):
    return input.diag_part(name)


@dispatch.dispatch_for_types(linalg.det, LinearOperator)
def _det(input, name=None):
    return input.determinant(name or "det")


@dispatch.dispatch_for_types(linalg.inv, LinearOperator)
def _inv(input, adjoint=False, name=None):
    inverse = input.inverse(name or "inverse")
    return inverse.adjoint() if adjoint else inverse


@dispatch.dispatch_for_types(linalg.solve, LinearOperator)
def _solve(matrix, rhs, adjoint=False, name=None):
    if not isinstance(matrix, LinearOperator):
        raise ValueError("Passing in `matrix` as a Tensor and `rhs` as a LinearOperator is not supported.")
    return matrix.solve(rhs, adjoint=adjoint, name=name or "solve")


@dispatch.dispatch_for_types(linalg.trace, LinearOperator)
def _trace(x, name=None):
    return x.trace(name or "trace")
