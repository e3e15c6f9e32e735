"""Operators of matrices, and norms."""

import collections

from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops

LinearOperator = collections.namedtuple("LinearOperator", ["shape", "dtype", "apply", "apply_adjoint"])


def _operator(matrix, apply, apply_adjoint):
    shape = matrix.get_shape()
    shape = shape.as_list() if shape.is_fully_defined() else array_ops.shape(matrix)
    return LinearOperator(shape, matrix.dtype, apply, apply_adjoint)


def create_operator(matrix):
    """The operator that multiplies vectors [n, 1] by a matrix."""
    return _operator(
        matrix, lambda v: math_ops.matmul(matrix, v), lambda v: math_ops.matmul(matrix, v, adjoint_a=True)
    )


def identity_operator(matrix):
    """The operator of a matrix's shape that gives vectors back."""
    return _operator(matrix, lambda v: v, lambda v: v)


def dot(x, y):
    return math_ops.reduce_sum(math_ops.conj(x) * y)


def l2norm_squared(v):
    return 2 * nn_ops.l2_loss(v)


def l2norm(v):
    return math_ops.sqrt(l2norm_squared(v))


def l2normalize(v):
    """(v of norm 1, its norm)."""
    norm = l2norm(v)
    return v / norm, norm
