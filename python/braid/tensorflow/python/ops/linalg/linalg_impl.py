"""Linear algebra that is made of other ops (tf.linalg)."""

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import gen_linalg_ops
from braid.tensorflow.python.ops import linalg_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util import dispatch
from braid.tensorflow.python.util.tf_export import tf_export


def __getattr__(name):
    places = {
        "band_part": (array_ops, "matrix_band_part"),
        "det": (linalg_ops, "matrix_determinant"),
        "diag": (array_ops, "matrix_diag"),
        "diag_part": (array_ops, "matrix_diag_part"),
        "inv": (linalg_ops, "matrix_inverse"),
        "set_diag": (array_ops, "matrix_set_diag"),
        "slogdet": (gen_linalg_ops, "log_matrix_determinant"),
        "solve": (linalg_ops, "matrix_solve"),
        "logm": (gen_linalg_ops, "matrix_logarithm"),
        "sqrtm": (gen_linalg_ops, "matrix_square_root"),
        "tensor_diag": (array_ops, "diag"),
        "tensor_diag_part": (array_ops, "diag_part"),
        "transpose": (array_ops, "matrix_transpose"),
        "triangular_solve": (linalg_ops, "matrix_triangular_solve"),
        "lstsq": (linalg_ops, "matrix_solve_ls"),
        "matmul": (math_ops, "matmul"),
        "trace": (math_ops, "trace"),
        "eigh": (linalg_ops, "self_adjoint_eig"),
        "eigvalsh": (linalg_ops, "self_adjoint_eigvals"),
    }
    if name.startswith("__"):
        raise AttributeError(name)
    module, attribute = places.get(name, (linalg_ops, name))
    return getattr(module, attribute)


@tf_export("linalg.logdet")
@dispatch.add_dispatch_support
def logdet(matrix, name=None):
    """The logarithms of the determinants of positive definite matrices, by Cholesky's decomposition."""
    with ops.name_scope(name, "logdet", [matrix]):
        chol = gen_linalg_ops.cholesky(matrix)
        diagonal = math_ops.real(array_ops.matrix_diag_part(chol))
        return 2.0 * math_ops.reduce_sum(math_ops.log(diagonal), axis=[-1])


@tf_export("linalg.adjoint")
@dispatch.add_dispatch_support
def adjoint(matrix, name=None):
    """The conjugate transposes of the matrices in the last two dimensions."""
    with ops.name_scope(name, "adjoint", [matrix]):
        matrix = ops.convert_to_tensor(matrix, name="matrix")
        return array_ops.matrix_transpose(matrix, conjugate=True)


@tf_export("linalg.expm")
def matrix_exponential(input, name=None):
    """The exponentials of square matrices."""
    return gen_linalg_ops.matrix_exponential(input, name=name or "matrix_exponential")


@tf_export("linalg.tridiagonal_solve")
def tridiagonal_solve(
    diagonals,
    rhs,
    diagonals_format="compact",
    transpose_rhs=False,
    conjugate_rhs=False,
    name=None,
    partial_pivoting=True,
):
    """The solutions of systems whose matrices have three diagonals.

    diagonals_format: "compact" has [..., 3, n] (above, main, below; the last and first number are not looked
    at), "sequence" three tensors [..., n] or [..., n - 1], "matrix" [..., n, n]. rhs: [..., n] or [..., n,
    k].
    """
    with ops.name_scope(name, "tridiagonal_solve", [diagonals, rhs]):
        compact = _compact(diagonals, diagonals_format)
        rhs = ops.convert_to_tensor(rhs, name="rhs")
        is_vector = rhs.get_shape().ndims == compact.get_shape().ndims - 1
        if is_vector:
            if conjugate_rhs:
                rhs = math_ops.conj(rhs)
            rhs = array_ops.expand_dims(rhs, -1)
        elif transpose_rhs:
            rhs = array_ops.matrix_transpose(rhs, conjugate=conjugate_rhs)
        elif conjugate_rhs:
            rhs = math_ops.conj(rhs)
        made = gen_linalg_ops.tridiagonal_solve(compact, rhs, partial_pivoting)
        if is_vector:
            return array_ops.squeeze(made, -1)
        return array_ops.matrix_transpose(made) if transpose_rhs else made


def _padded(diagonal, size, is_above):
    """A diagonal with as many numbers as the main one has."""
    if diagonal.get_shape().dims[-1].value == size:
        return diagonal
    rank = diagonal.get_shape().ndims
    return array_ops.pad(diagonal, [[0, 0]] * (rank - 1) + [[0, 1] if is_above else [1, 0]])


def _sequence(diagonals, diagonals_format):
    """The diagonals above the main one, the main one and the one below, each [..., n]."""
    if diagonals_format == "compact":
        diagonals = ops.convert_to_tensor(diagonals, name="diagonals")
        return [diagonals[..., i, :] for i in range(3)]
    if diagonals_format == "sequence":
        if not isinstance(diagonals, (tuple, list)) or len(diagonals) != 3:
            raise ValueError("Expected diagonals to be a sequence of length 3.")
        above, main, below = (ops.convert_to_tensor(d) for d in diagonals)
    elif diagonals_format == "matrix":
        matrix = ops.convert_to_tensor(diagonals, name="diagonals")
        rows, columns = matrix.get_shape().as_list()[-2:]
        if rows is not None and columns is not None and rows != columns:
            raise ValueError(
                f"Expected last two dimensions of diagonals to be same, got {rows} and {columns}"
            )
        batch = [[0, 0]] * (matrix.get_shape().ndims - 1)
        # With a column of zeros more, the diagonals beside the main one are as long as it.
        above = array_ops.matrix_diag_part(array_ops.pad(matrix, batch + [[0, 1]]), k=1)
        below = array_ops.matrix_diag_part(array_ops.pad(matrix, batch + [[1, 0]]))
        return [above, array_ops.matrix_diag_part(matrix), below]
    else:
        raise ValueError("Unrecognized diagonals_format: {}".format(diagonals_format))
    size = main.get_shape().dims[-1].value
    return [_padded(above, size, True), main, _padded(below, size, False)]


def _compact(diagonals, diagonals_format):
    if diagonals_format == "compact":
        return ops.convert_to_tensor(diagonals, name="diagonals")
    return array_ops.stack(_sequence(diagonals, diagonals_format), axis=-2)


@tf_export("linalg.tridiagonal_matmul")
def tridiagonal_matmul(diagonals, rhs, diagonals_format="compact", name=None):
    """The products of matrices that have three diagonals and of matrices; see tf.linalg.tridiagonal_solve."""
    with ops.name_scope(name, "tridiagonal_matmul", [diagonals, rhs]):
        above, main, below = _sequence(diagonals, diagonals_format)
        rows = [array_ops.expand_dims(d, -2) for d in (above, main, below)]
        return gen_linalg_ops.tridiagonal_mat_mul(*rows, ops.convert_to_tensor(rhs))


def _checked_matrix(a, validate_args):
    """a as a tensor of matrices of floats."""
    a = ops.convert_to_tensor(a, name="a")
    if not a.dtype.is_floating:
        raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {a.dtype.name}).")
    if a.shape.ndims is not None and a.shape.ndims < 2:
        raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {a.shape.ndims}).")
    if not validate_args or a.shape.ndims is not None:
        return a
    check = check_ops.assert_rank_at_least(a, 2, message="Input `a` must have at least 2 dimensions.")
    with ops.control_dependencies([check]):
        return array_ops.identity(a)


def _greatest_size(a):
    """The greater one of the sizes of matrices, of their type."""
    sizes = a.shape[-2:]
    known = max(sizes.as_list()) if sizes.is_fully_defined() else None
    return math_ops.cast(math_ops.reduce_max(array_ops.shape(a)[-2:]) if known is None else known, a.dtype)


@tf_export("linalg.matrix_rank")
def matrix_rank(a, tol=None, validate_args=False, name=None):
    """How many singular values of the matrices are above `tol`; None: what is above rounding errors."""
    with ops.name_scope(name or "matrix_rank"):
        a = _checked_matrix(a, validate_args)
        values = linalg_ops.svd(a, compute_uv=False)
        if tol is None:
            epsilon = np.finfo(a.dtype.as_numpy_dtype).eps
            tol = epsilon * _greatest_size(a) * math_ops.reduce_max(values, axis=-1, keepdims=True)
        return math_ops.reduce_sum(math_ops.cast(values > tol, dtypes.int32), axis=-1)


@tf_export("linalg.pinv")
def pinv(a, rcond=None, validate_args=False, name=None):
    """The inverses of Moore and Penrose. Singular values below rcond times the largest are taken as 0."""
    with ops.name_scope(name or "pinv"):
        a = _checked_matrix(a, validate_args)
        dtype = a.dtype.as_numpy_dtype
        if rcond is None:
            rows, columns = (
                array_ops.shape(a)[i]
                if a.shape.ndims is None or a.shape.dims[i].value is None
                else a.shape.dims[i].value
                for i in (-2, -1)
            )
            if isinstance(rows, int) and isinstance(columns, int):
                size = float(max(rows, columns))
            else:
                size = math_ops.cast(math_ops.maximum(rows, columns), a.dtype)
            rcond = 10.0 * size * np.finfo(dtype).eps
        rcond = ops.convert_to_tensor(rcond, dtype=a.dtype, name="rcond")
        values, left, right = linalg_ops.svd(a, full_matrices=False, compute_uv=True)
        cutoff = array_ops.expand_dims(rcond * math_ops.reduce_max(values, axis=-1), -1)
        # 1 / infinity is 0, also in the gradient.
        values = array_ops.where_v2(values > cutoff, values, np.array(np.inf, dtype))
        inverse = math_ops.matmul(right / array_ops.expand_dims(values, -2), left, adjoint_b=True)
        if a.shape.ndims is not None:
            inverse.set_shape(a.shape[:-2].concatenate([a.shape[-1], a.shape[-2]]))
        return inverse
