"""Polyharmonic splines through points."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import linalg_ops
from braid.tensorflow.python.ops import math_ops

EPSILON = 0.0000000001


def _squared_distances(x, y):
    """[b, n, m] of points [b, n, d] and [b, m, d]."""
    x_norm = math_ops.reduce_sum(math_ops.square(x), 2, keepdims=True)
    y_norm = array_ops.expand_dims(math_ops.reduce_sum(math_ops.square(y), 2), 1)
    return x_norm - 2 * math_ops.matmul(x, y, adjoint_b=True) + y_norm


def _phi(r, order):
    """The basis function of squared distances: distance^order, times its logarithm where the order is
    even."""
    with ops.name_scope("phi"):
        above = math_ops.maximum(r, EPSILON)
        if order == 1:
            return math_ops.sqrt(above)
        if order == 2:
            return 0.5 * r * math_ops.log(above)
        if order == 4:
            return 0.5 * math_ops.square(r) * math_ops.log(above)
        power = math_ops.pow(above, 0.5 * order)
        return 0.5 * power * math_ops.log(above) if order % 2 == 0 else power


def _solve_interpolation(points, values, order, regularization_weight):
    """(weights of the basis functions at the points, coefficients of the linear part)."""
    d = tensor_shape.dimension_value(points.shape[-1])
    k = tensor_shape.dimension_value(values.shape[-1])
    if d is None:
        raise ValueError("The dimensionality of the input points (d) must be statically-inferrable.")
    if k is None:
        raise ValueError("The dimensionality of the output values (k) must be statically-inferrable.")
    b, n, _ = array_ops.unstack(array_ops.shape(points), num=3)
    basis = _phi(_squared_distances(points, points), order)
    if regularization_weight > 0:
        basis += regularization_weight * linalg_ops.eye(n, dtype=points.dtype)[None]
    linear = array_ops.concat([points, array_ops.ones_like(points[..., :1])], 2)
    # The weights are orthogonal to all linear functions.
    above = array_ops.concat([basis, linear], 2)
    below = array_ops.concat(
        [array_ops.transpose(linear, [0, 2, 1]), array_ops.zeros([b, d + 1, d + 1], points.dtype)], 2
    )
    wanted = array_ops.concat([values, array_ops.zeros([b, d + 1, k], points.dtype)], 1)
    solution = linalg_ops.matrix_solve(array_ops.concat([above, below], 1), wanted)
    return solution[:, :n, :], solution[:, n:, :]


def interpolate_spline(
    train_points, train_values, query_points, order, regularization_weight=0.0, name="interpolate_spline"
):
    """The values [b, m, k] at query_points [b, m, d] of the splines through train_values [b, n, k] at
    train_points [b, n, d].

    order: 1 (piecewise linear in one dimension), 2 (thin plates), 3, ... regularization_weight: above 0, the
    splines do not go through the values, but are smooth.
    """
    with ops.name_scope(name):
        points = ops.convert_to_tensor(train_points)
        values = ops.convert_to_tensor(train_values)
        queries = ops.convert_to_tensor(query_points)
        with ops.name_scope("solve"):
            w, v = _solve_interpolation(points, values, order, regularization_weight)
        with ops.name_scope("predict"):
            basis = _phi(_squared_distances(queries, points), order)
            linear = array_ops.concat([queries, array_ops.ones_like(queries[..., :1])], 2)
            return math_ops.matmul(basis, w) + math_ops.matmul(linear, v)
