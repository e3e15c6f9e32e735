"""Linear algebra that is made of other ops (tf.linalg)."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_linalg_ops
from braid.tensorflow.python.ops import linalg_ops
from braid.tensorflow.python.ops import math_ops
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
def logdet(matrix, name=None):
    """The logarithms of the determinants of positive definite matrices, by Cholesky's decomposition."""
    with ops.name_scope(name, "logdet", [matrix]):
        chol = gen_linalg_ops.cholesky(matrix)
        diagonal = math_ops.real(array_ops.matrix_diag_part(chol))
        return 2.0 * math_ops.reduce_sum(math_ops.log(diagonal), axis=[-1])


@tf_export("linalg.adjoint")
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
        above, main, below = (array_ops.matrix_diag_part(matrix, k=k) for k in (1, 0, -1))
        size = matrix.get_shape().dims[-1].value
        if size is not None:
            for diagonal, length in ((above, size - 1), (main, size), (below, size - 1)):
                diagonal.set_shape(matrix.get_shape()[:-2].concatenate([length]))
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
