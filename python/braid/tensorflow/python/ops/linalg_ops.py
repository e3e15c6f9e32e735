"""Linear algebra: solving, decompositions, norms."""

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import custom_gradient
from braid.tensorflow.python.ops import gen_linalg_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import script_ops
from braid.tensorflow.python.util import deprecation
from braid.tensorflow.python.util.tf_export import tf_export


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(gen_linalg_ops, name)


def _no_kernel(symbol, way):
    return NotImplementedError(f"tf.linalg.{symbol}: Braid has no kernel for it. {way}")


@tf_export("eye", "linalg.eye")
def eye(num_rows, num_columns=None, batch_shape=None, dtype=dtypes.float32, name=None):
    """Matrices with ones on the main diagonal, [batch_shape, num_rows, num_columns]."""
    with ops.name_scope(name, default_name="eye", values=[num_rows, num_columns, batch_shape]):
        is_square = num_columns is None
        batch_shape = [] if batch_shape is None else batch_shape
        num_columns = num_rows if is_square else num_columns
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
            return array_ops.matrix_diag(ones)
        return array_ops.matrix_set_diag(array_ops.zeros(shape, dtype=dtype), ones)


# ---- Solving ----


@tf_export("linalg.triangular_solve", v1=["linalg.triangular_solve", "matrix_triangular_solve"])
def matrix_triangular_solve(matrix, rhs, lower=True, adjoint=False, name=None):
    """The solutions of matrix * x = rhs for triangular matrices."""
    with ops.name_scope(name, "triangular_solve", [matrix, rhs]):
        return gen_linalg_ops.matrix_triangular_solve(matrix, rhs, lower=lower, adjoint=adjoint)


@tf_export("linalg.cholesky_solve", v1=["linalg.cholesky_solve", "cholesky_solve"])
def cholesky_solve(chol, rhs, name=None):
    """The solutions of A * x = rhs from the Cholesky decompositions of A."""
    with ops.name_scope(name, "cholesky_solve", [chol, rhs]):
        y = gen_linalg_ops.matrix_triangular_solve(chol, rhs, adjoint=False, lower=True)
        return gen_linalg_ops.matrix_triangular_solve(chol, y, adjoint=True, lower=True)


@tf_export("linalg.lstsq", v1=["linalg.lstsq", "matrix_solve_ls"])
def matrix_solve_ls(matrix, rhs, l2_regularizer=0.0, fast=True, name=None):
    """The least squares solutions of matrix * x = rhs, those of least norm where there are several.

    fast: by the normal equations and Cholesky's decomposition; otherwise by singular values, which matrices
    of less than full rank need. l2_regularizer: times the squared norm of x (fast only).
    """
    with ops.name_scope(name, "matrix_solve_ls", [matrix, rhs, l2_regularizer]):
        matrix = ops.convert_to_tensor(matrix, name="matrix")
        rhs = ops.convert_to_tensor(rhs, name="rhs")
        if not fast:
            s, u, v = svd(matrix)
            least = math_ops.reduce_max(s, -1, keepdims=True) * np.finfo(s.dtype.as_numpy_dtype).eps
            inverse = array_ops.where(s > least * 8, math_ops.reciprocal(s), array_ops.zeros_like(s))
            inverse = math_ops.cast(array_ops.expand_dims(inverse, -1), matrix.dtype)
            return math_ops.matmul(v, inverse * math_ops.matmul(u, rhs, adjoint_a=True))
        known = matrix.get_shape()[-2:]
        if not known.is_fully_defined():
            raise _no_kernel("lstsq", "The numbers of rows and columns must be known.")
        is_tall = known.dims[0].value >= known.dims[1].value
        gram = math_ops.matmul(matrix, matrix, adjoint_a=is_tall, adjoint_b=not is_tall)
        if not isinstance(l2_regularizer, ops.Tensor) and l2_regularizer:
            count = min(known.as_list())
            gram += math_ops.cast(l2_regularizer, matrix.dtype) * eye(count, dtype=matrix.dtype.base_dtype)
        chol = gen_linalg_ops.cholesky(gram)
        if is_tall:
            return cholesky_solve(chol, math_ops.matmul(matrix, rhs, adjoint_a=True))
        return math_ops.matmul(matrix, cholesky_solve(chol, rhs), adjoint_a=True)


# ---- Decompositions, by functions of the program (tf.py_func) ----


def _transposed_product(a, b):
    return math_ops.matmul(a, b, adjoint_a=True)


def _inverse_differences(x):
    """1 / (x_j - x_i), and 0 on the diagonal."""
    differences = array_ops.expand_dims(x, -2) - array_ops.expand_dims(x, -1)
    differences = array_ops.matrix_set_diag(differences, array_ops.ones_like(x))
    return array_ops.matrix_set_diag(math_ops.reciprocal(differences), array_ops.zeros_like(x))


def _eigh(tensor, name):
    """(eigenvalues, eigenvectors) of symmetric matrices, of which the lower triangle is taken."""

    def compute(x):
        values, vectors = np.linalg.eigh(x)
        return values.astype(x.real.dtype), vectors.astype(x.dtype)

    @custom_gradient.custom_gradient
    def decompose(x):
        values, vectors = script_ops.py_func(
            compute, [x], [x.dtype.real_dtype, x.dtype.base_dtype], stateful=False, name=name
        )
        values.set_shape(x.get_shape()[:-1])
        vectors.set_shape(x.get_shape())

        def grad(grad_values, grad_vectors):
            inner = array_ops.matrix_diag(math_ops.cast(grad_values, vectors.dtype))
            factors = math_ops.cast(_inverse_differences(values), vectors.dtype)
            inner += factors * _transposed_product(vectors, grad_vectors)
            made = math_ops.matmul(vectors, math_ops.matmul(inner, vectors, adjoint_b=True))
            made = array_ops.matrix_band_part(made + array_ops.matrix_transpose(made, conjugate=True), -1, 0)
            return array_ops.matrix_set_diag(made, 0.5 * array_ops.matrix_diag_part(made))

        return [values, vectors], grad

    return decompose(ops.convert_to_tensor(tensor, name="tensor"))


@tf_export("linalg.eigh", v1=["linalg.eigh", "self_adjoint_eig"])
def self_adjoint_eig(tensor, name=None):
    """(the eigenvalues, rising, [..., n]; the eigenvectors as columns, [..., n, n]) of symmetric matrices."""
    values, vectors = _eigh(tensor, name)
    return values, vectors


@tf_export("linalg.eigvalsh", v1=["linalg.eigvalsh", "self_adjoint_eigvals"])
def self_adjoint_eigvals(tensor, name=None):
    """The eigenvalues of symmetric matrices, rising, [..., n]."""
    return _eigh(tensor, name)[0]


def _svd(tensor, name):
    """(s, u, v) of real or complex matrices, without the vectors beyond the least size."""

    def compute(x):
        u, s, vh = np.linalg.svd(x, full_matrices=False)
        return s.astype(x.real.dtype), u.astype(x.dtype), np.conj(np.swapaxes(vh, -1, -2)).astype(x.dtype)

    @custom_gradient.custom_gradient
    def decompose(x):
        dtype = x.dtype.base_dtype
        s, u, v = script_ops.py_func(
            compute, [x], [dtype.real_dtype, dtype, dtype], stateful=False, name=name
        )
        known = x.get_shape().with_rank_at_least(2)
        if known.ndims is not None:
            rows, columns = known.dims[-2].value, known.dims[-1].value
            least = None if None in (rows, columns) else min(rows, columns)
            outer = known[:-2]
            s.set_shape(outer.concatenate([least]))
            u.set_shape(outer.concatenate([rows, least]))
            v.set_shape(outer.concatenate([columns, least]))

        def grad(grad_s, grad_u, grad_v):
            factors = _inverse_differences(math_ops.square(s))
            row, column = array_ops.expand_dims(s, -2), array_ops.expand_dims(s, -1)
            by_u = _transposed_product(u, grad_u)
            by_v = _transposed_product(v, grad_v)
            by_u = factors * (by_u - array_ops.matrix_transpose(by_u)) * row
            by_v = factors * (by_v - array_ops.matrix_transpose(by_v)) * column
            inner = array_ops.matrix_diag(grad_s) + by_u + by_v
            made = math_ops.matmul(u, math_ops.matmul(inner, v, adjoint_b=True))
            rest_u = (grad_u - math_ops.matmul(u, _transposed_product(u, grad_u))) / row
            rest_v = (grad_v - math_ops.matmul(v, _transposed_product(v, grad_v))) / row
            made += math_ops.matmul(rest_u, v, adjoint_b=True)
            return made + math_ops.matmul(u, rest_v, adjoint_b=True)

        return [s, u, v], grad

    return decompose(ops.convert_to_tensor(tensor, name="tensor"))


@tf_export("linalg.svd", v1=["linalg.svd", "svd"])
def svd(tensor, full_matrices=False, compute_uv=True, name=None):
    """The singular values s, falling, and the vectors u and v: tensor = u * s @ adjoint(v). Returns (s, u,
    v), or s.

    full_matrices: u and v are square; they have no gradient then.
    """
    if not compute_uv:
        return _svd(tensor, name)[0]
    if not full_matrices:
        s, u, v = _svd(tensor, name)
        return s, u, v

    def compute(x):
        u, s, vh = np.linalg.svd(x, full_matrices=True)
        return s.astype(x.real.dtype), u.astype(x.dtype), np.conj(np.swapaxes(vh, -1, -2)).astype(x.dtype)

    tensor = ops.convert_to_tensor(tensor, name="tensor")
    dtype = tensor.dtype.base_dtype
    s, u, v = script_ops.py_func(
        compute, [tensor], [dtype.real_dtype, dtype, dtype], stateful=False, name=name
    )
    known = tensor.get_shape().with_rank_at_least(2)
    if known.ndims is not None:
        rows, columns = known.dims[-2].value, known.dims[-1].value
        s.set_shape(known[:-2].concatenate([None if None in (rows, columns) else min(rows, columns)]))
        u.set_shape(known[:-2].concatenate([rows, rows]))
        v.set_shape(known[:-2].concatenate([columns, columns]))
    return s, u, v


# ---- Norms ----


def _spectral_norm(tensor, axis, keepdims):
    """The greatest singular values of the matrices in two dimensions."""
    count = tensor.get_shape().ndims
    if count is None:
        raise NotImplementedError("tf.norm(ord=2): the rank must be known")
    rows, columns = (a % count for a in axis)
    others = [i for i in range(count) if i not in (rows, columns)]
    largest = math_ops.reduce_max(
        svd(array_ops.transpose(tensor, others + [rows, columns]), compute_uv=False), -1
    )
    if keepdims:
        for place in sorted((rows, columns)):
            largest = array_ops.expand_dims(largest, place)
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
        if not all(isinstance(a, (int, np.integer)) for a in axis) or axis[0] == axis[1]:
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
