"""Linear algebra: solving, decompositions, norms."""

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gen_linalg_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util import deprecation
from braid.tensorflow.python.util.tf_export import tf_export


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(gen_linalg_ops, name)


@tf_export("eye", "linalg.eye")
def eye(num_rows, num_columns=None, batch_shape=None, dtype=dtypes.float32, name=None):
    """Matrices with ones on the main diagonal, [batch_shape, num_rows, num_columns]."""
    with ops.name_scope(name, default_name="eye", values=[num_rows, num_columns, batch_shape]):
        is_square = num_columns is None
        batch_shape = [] if batch_shape is None else batch_shape
        num_columns = num_rows if is_square else num_columns
        if isinstance(batch_shape, (list, tuple)) and any(isinstance(n, ops.Tensor) for n in batch_shape):
            batch_shape = ops.convert_to_tensor(batch_shape, name="shape", dtype=dtypes.int32)
        if isinstance(num_rows, ops.Tensor) or isinstance(num_columns, ops.Tensor):
            count = math_ops.minimum(num_rows, num_columns)
        else:
            count = min(int(num_rows), int(num_columns))
            is_square = int(num_rows) == int(num_columns)
        if isinstance(batch_shape, ops.Tensor) or isinstance(count, ops.Tensor):
            batch_shape = ops.convert_to_tensor(batch_shape, name="shape", dtype=dtypes.int32)
            diagonal_shape = array_ops.concat((batch_shape, [count]), axis=0)
            if not is_square:
                shape = array_ops.concat((batch_shape, [num_rows, num_columns]), axis=0)
        else:
            batch_shape = tensor_shape.as_shape(batch_shape).as_list()
            diagonal_shape = batch_shape + [count]
            shape = batch_shape + [num_rows, num_columns]
        ones = array_ops.ones(diagonal_shape, dtype=dtype)
        if is_square:
            made = array_ops.matrix_diag(ones)
        else:
            made = array_ops.matrix_set_diag(array_ops.zeros(shape, dtype=dtype), ones)
        if isinstance(batch_shape, ops.Tensor):
            batch = tensor_util.constant_value_as_shape(batch_shape)
        else:
            batch = tensor_shape.as_shape(batch_shape)
        made.set_shape(batch.concatenate([_static_size(num_rows), _static_size(num_columns)]))
        return made


def _static_size(size):
    """The number that a size is, None where it is known only to a step."""
    known = tensor_util.constant_value(size) if isinstance(size, ops.Tensor) else size
    return None if known is None else int(known)


# ---- Solving ----


@tf_export("linalg.triangular_solve", v1=["linalg.triangular_solve", "matrix_triangular_solve"])
def matrix_triangular_solve(matrix, rhs, lower=True, adjoint=False, name=None):
    """The solutions of matrix * x = rhs for triangular matrices."""
    return gen_linalg_ops.matrix_triangular_solve(matrix, rhs, lower=lower, adjoint=adjoint, name=name)


@tf_export("linalg.cholesky_solve", v1=["linalg.cholesky_solve", "cholesky_solve"])
def cholesky_solve(chol, rhs, name=None):
    """The solutions of A * x = rhs from the Cholesky decompositions of A."""
    with ops.name_scope(name, "cholesky_solve", [chol, rhs]):
        y = gen_linalg_ops.matrix_triangular_solve(chol, rhs, adjoint=False, lower=True)
        return gen_linalg_ops.matrix_triangular_solve(chol, y, adjoint=True, lower=True)


@tf_export("linalg.lstsq", v1=["linalg.lstsq", "matrix_solve_ls"])
def matrix_solve_ls(matrix, rhs, l2_regularizer=0.0, fast=True, name=None):
    """The least squares solutions of matrix * x = rhs, those of least norm where there are several.

    fast: by the normal equations and Cholesky's decomposition; otherwise by a complete orthogonal
    decomposition, which matrices of less than full rank need. l2_regularizer: times the squared norm of x
    (fast only).
    """
    matrix = ops.convert_to_tensor(matrix, name="matrix")
    is_regularized = isinstance(l2_regularizer, ops.Tensor) or l2_regularizer != 0
    if fast and not (is_regularized and matrix.dtype.is_complex) and not _is_large_batch(matrix):
        with ops.name_scope(name, "matrix_solve_ls", [matrix, rhs, l2_regularizer]):
            sizes = matrix.get_shape()[-2:]
            if sizes.is_fully_defined():
                is_tall = sizes.dims[0].value >= sizes.dims[1].value
                return _normal_equations(matrix, rhs, l2_regularizer, is_regularized, is_tall)
            sizes = array_ops.shape(matrix)[-2:]
            return control_flow_ops.cond(
                sizes[-2] >= sizes[-1],
                lambda: _normal_equations(matrix, rhs, l2_regularizer, is_regularized, True),
                lambda: _normal_equations(matrix, rhs, l2_regularizer, is_regularized, False),
            )
    if isinstance(l2_regularizer, ops.Tensor):
        l2_regularizer = math_ops.cast(l2_regularizer, dtypes.float64)
    return gen_linalg_ops.matrix_solve_ls(matrix, rhs, l2_regularizer, fast=fast, name=name)


def _is_large_batch(matrix):
    """Whether 1.15 solves by its one op, as the matrices are more than a cache holds, and many."""
    shape = matrix.get_shape()
    if not shape.is_fully_defined() or shape.num_elements() * matrix.dtype.size <= 256000:
        return False
    return shape[:-2].num_elements() > min(shape[-2:].as_list())


def _normal_equations(matrix, rhs, l2_regularizer, is_regularized, is_tall):
    """x of (AᴴA + l2) x = Aᴴ rhs where A is tall, otherwise Aᴴ y of (AAᴴ + l2) y = rhs."""
    gramian = math_ops.matmul(matrix, matrix, adjoint_a=is_tall, adjoint_b=not is_tall)
    if is_regularized:
        sizes = array_ops.shape(matrix)
        batch = sizes[:-2]
        identity = eye(sizes[-1 if is_tall else -2], batch_shape=batch, dtype=matrix.dtype)
        if matrix.shape.rank is not None:
            known = matrix.shape.dims[-1 if is_tall else -2]
            identity.set_shape(matrix.shape[:-2].concatenate([known, known]))
        gramian += l2_regularizer * identity
    chol = gen_linalg_ops.cholesky(gramian)
    if is_tall:
        return cholesky_solve(chol, math_ops.matmul(matrix, rhs, adjoint_a=True))
    return math_ops.matmul(matrix, cholesky_solve(chol, rhs), adjoint_a=True)


# ---- Decompositions ----


@tf_export("linalg.eigh", v1=["linalg.eigh", "self_adjoint_eig"])
def self_adjoint_eig(tensor, name=None):
    """(the eigenvalues, rising, [..., n]; the eigenvectors as columns, [..., n, n]) of Hermitian matrices.

    Only the lower triangles are read.
    """
    e, v = gen_linalg_ops.self_adjoint_eig_v2(tensor, compute_v=True, name=name)
    return e, v


@tf_export("linalg.eigvalsh", v1=["linalg.eigvalsh", "self_adjoint_eigvals"])
def self_adjoint_eigvals(tensor, name=None):
    """The eigenvalues of Hermitian matrices, rising, [..., n]."""
    e, _ = gen_linalg_ops.self_adjoint_eig_v2(tensor, compute_v=False, name=name)
    return e


@tf_export("linalg.svd", v1=["linalg.svd", "svd"])
def svd(tensor, full_matrices=False, compute_uv=True, name=None):
    """The singular values s, falling, and the vectors u and v: tensor = u * s @ adjoint(v). Returns (s, u,
    v), or s.

    full_matrices: u and v are square.
    """
    s, u, v = gen_linalg_ops.svd(tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    return (math_ops.real(s), u, v) if compute_uv else math_ops.real(s)


# ---- Norms ----


def _spectral_norm(tensor, axis, keepdims):
    """The greatest singular values of the matrices in two dimensions."""
    count = tensor.get_shape().ndims
    if count is None:
        count = array_ops.rank(tensor)
        pair = math_ops.floormod(ops.convert_to_tensor(axis, dtypes.int32), count)
        others, _ = array_ops.setdiff1d(math_ops.range(count), pair)
        order = array_ops.concat([others, pair], 0)
    else:
        pair = [a % count for a in axis]
        order = [i for i in range(count) if i not in pair] + pair
    largest = math_ops.reduce_max(svd(array_ops.transpose(tensor, order), compute_uv=False), -1)
    if keepdims:
        shape = array_ops.shape(tensor)
        kept = array_ops.ones([2], dtypes.int32)
        shape = array_ops.tensor_scatter_update(shape, array_ops.expand_dims(pair, 1), kept)
        largest = array_ops.reshape(largest, shape)
    return largest


def norm_v2(tensor, ord="euclidean", axis=None, keepdims=None, name=None):
    return norm(tensor, ord, axis, keepdims, name)


@tf_export(v1=["norm", "linalg.norm"])
def norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None, keep_dims=None):
    """Norms of vectors (axis: a number), of matrices (a pair of numbers), or of the flat tensor (None).

    ord: "euclidean", "fro" (of matrices), 1, 2, inf, or another positive number.
    """
    keepdims = bool(deprecation.deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims))
    is_matrix = isinstance(axis, (tuple, list)) and len(axis) == 2
    if is_matrix:
        axis = tuple(axis)
        rank = ops.convert_to_tensor(tensor).get_shape().ndims
        is_pair = all(isinstance(a, (int, np.integer)) for a in axis)
        if not is_pair or axis[0] == axis[1] or (rank is not None and axis[0] % rank == axis[1] % rank):
            raise ValueError("'axis' must be None, an integer, or a tuple of 2 unique integers")
        allowed = ["euclidean", "fro", 1, 2, np.inf]
        if ord not in allowed:
            raise ValueError("'ord' must be a supported matrix norm in %s, got %s" % (allowed, ord))
    else:
        allowed = ["euclidean", 1, 2, np.inf]
        if (not np.isreal(ord) if not isinstance(ord, str) else ord not in allowed) or (
            not isinstance(ord, str) and ord <= 0
        ):
            raise ValueError("'ord' must be a supported vector norm, got %s" % (ord,))
        if axis is not None:
            if not isinstance(axis, (int, np.integer)):
                raise ValueError("'axis' must be None, an integer, or a tuple of 2 unique integers")
            axis = (axis,)
    with ops.name_scope(name, "norm", [tensor]):
        tensor = ops.convert_to_tensor(tensor)
        if ord in ("fro", "euclidean", 2):
            if is_matrix and ord == 2:
                return _spectral_norm(tensor, axis, keepdims)
            squares = math_ops.reduce_sum(tensor * math_ops.conj(tensor), axis, keepdims=True)
            result = math_ops.sqrt(squares)
        else:
            result = math_ops.abs(tensor)
            if ord == 1:
                result = math_ops.reduce_sum(result, None if axis is None else axis[0], keepdims=True)
                if is_matrix:
                    result = math_ops.reduce_max(result, axis[-1], keepdims=True)
            elif ord == np.inf:
                if is_matrix:
                    result = math_ops.reduce_sum(result, axis[1], keepdims=True)
                result = math_ops.reduce_max(result, None if axis is None else axis[0], keepdims=True)
            else:
                powers = math_ops.reduce_sum(math_ops.pow(result, ord), axis, keepdims=True)
                result = math_ops.pow(powers, 1.0 / ord)
        return result if keepdims else array_ops.squeeze(result, axis)
