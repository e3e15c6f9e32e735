"""Roots of symmetric positive semidefinite matrices by products of matrices."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.ops import control_flow_ops, linalg_ops, math_ops


def _eye(size):
    return linalg_ops.eye(math_ops.cast(size, dtypes.int32))


def _norm(matrix):
    return math_ops.sqrt(math_ops.reduce_sum(matrix * matrix))


def matrix_square_root(mat_a, mat_a_size, iter_count=100, ridge_epsilon=1e-4):
    """The root of mat_a + ridge_epsilon * I by the coupled Newton-Schulz iteration (Higham, Stable iterations
    for the matrix square root, 1997, equation 2.6b), which ends when the error grows."""
    identity = _eye(mat_a_size)
    mat_a = mat_a + ridge_epsilon * identity
    norm = _norm(mat_a)

    def improves(i, _y, _best, _z, error, last_error):
        return math_ops.logical_and(i < iter_count, error < last_error)

    def step(i, y, _best, z, error, _last_error):
        factor = 0.5 * (3.0 * identity - math_ops.matmul(z, y))
        new_y, new_z = math_ops.matmul(y, factor), math_ops.matmul(factor, z)
        residual = mat_a - norm * math_ops.matmul(new_y, new_y)
        return i + 1, new_y, y, new_z, _norm(residual) / norm, error

    first = mat_a / norm
    begin = [0, first, first, identity, norm, norm + 1.0]
    best = control_flow_ops.while_loop(improves, step, begin)[2]
    return best * math_ops.sqrt(norm)


def matrix_inverse_pth_root(mat_g, mat_g_size, alpha, iter_count=100, epsilon=1e-6, ridge_epsilon=1e-6):
    """(mat_g + ridge_epsilon * I) to the power of alpha, which is -1 / p for a positive integer p, by the
    Schur-Newton iteration of Guo and Higham (2006, equation 3.2)."""
    if mat_g_size == 1:
        return math_ops.pow(mat_g + ridge_epsilon, alpha)
    identity = _eye(mat_g_size)
    p = round(-1.0 / alpha)
    if p < 1 or abs(-1.0 / alpha - p) > 1e-6:
        raise ValueError(f"alpha has to be -1 / p for a positive integer p, not {alpha}.")

    def power(matrix):
        exponent, result = p, None
        while exponent > 0:
            if exponent % 2:
                result = matrix if result is None else math_ops.matmul(matrix, result)
            exponent //= 2
            if exponent:
                matrix = math_ops.matmul(matrix, matrix)
        return result

    def is_far(i, m, _x):
        distance = math_ops.reduce_max(math_ops.abs(m - identity))
        return math_ops.logical_and(i < iter_count, distance > epsilon)

    def step(i, m, x):
        factor = (1 - alpha) * identity + alpha * m
        return i + 1, math_ops.matmul(power(factor), m), math_ops.matmul(x, factor)

    damped = mat_g + ridge_epsilon * identity
    z = (1 - 1 / alpha) / (2 * linalg_ops.norm(damped))
    begin = [0, damped * z, identity * math_ops.pow(z, -alpha)]
    return control_flow_ops.while_loop(is_far, step, begin)[2]
