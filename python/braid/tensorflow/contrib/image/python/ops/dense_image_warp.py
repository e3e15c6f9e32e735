"""Pictures whose pixels are moved, each by its own vector."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops


def _interpolate_bilinear(grid, query_points, name="interpolate_bilinear", indexing="ij"):
    """The values [batch, n, channels] at points [batch, n, 2] of a grid [batch, height, width, channels].

    indexing: "ij", points are (row, column), or "xy". Points outside have the values of the border.
    """
    if indexing not in ("ij", "xy"):
        raise ValueError("Indexing mode must be 'ij' or 'xy'")
    with ops.name_scope(name):
        grid = ops.convert_to_tensor(grid)
        points = ops.convert_to_tensor(query_points)
        if grid.get_shape().ndims != 4:
            raise ValueError(f"Grid must be 4 dimensional. Received size: {grid.get_shape()}")
        if points.get_shape().ndims not in (3, None):
            raise ValueError("Query points must be 3 dimensional.")
        batch, height, width, channels = array_ops.unstack(array_ops.shape(grid), num=4)
        checks = [
            check_ops.assert_equal(
                array_ops.shape(points)[2], 2, message="Query points must be size 2 in dim 2."
            ),
            check_ops.assert_greater_equal(height, 2, message="Grid height must be at least 2."),
            check_ops.assert_greater_equal(width, 2, message="Grid width must be at least 2."),
        ]
        with ops.control_dependencies(checks):
            points = array_ops.identity(points)
        axes = array_ops.unstack(points, num=2, axis=2)
        if indexing == "xy":
            axes = axes[::-1]
        below, alphas = [], []
        for size, coordinate in zip((height, width), axes):
            last = math_ops.cast(size - 2, points.dtype)
            zero = math_ops.cast(0.0, points.dtype)
            floor = math_ops.minimum(math_ops.maximum(zero, math_ops.floor(coordinate)), last)
            below.append(math_ops.cast(floor, dtypes.int32))
            alpha = math_ops.cast(coordinate - floor, grid.dtype)
            alpha = math_ops.minimum(math_ops.maximum(math_ops.cast(0.0, grid.dtype), alpha), 1.0)
            alphas.append(array_ops.expand_dims(alpha, 2))
        flat = array_ops.reshape(grid, [batch * height * width, channels])
        offsets = array_ops.reshape(math_ops.range(batch) * height * width, [batch, 1])

        def at(down, right):
            place = offsets + (below[0] + down) * width + below[1] + right
            return array_ops.gather(flat, place)

        def mixed(first, second, alpha):
            return alpha * (second - first) + first

        top = mixed(at(0, 0), at(0, 1), alphas[1])
        bottom = mixed(at(1, 0), at(1, 1), alphas[1])
        return mixed(top, bottom, alphas[0])


def dense_image_warp(image, flow, name="dense_image_warp"):
    """Pictures [batch, height, width, channels] whose pixel (row, column) is the given one at (row, column) -
    flow[batch, row, column]."""
    with ops.name_scope(name):
        image, flow = ops.convert_to_tensor(image), ops.convert_to_tensor(flow)
        batch, height, width, channels = array_ops.unstack(array_ops.shape(image), num=4)
        columns, rows = array_ops.meshgrid(math_ops.range(width), math_ops.range(height))
        grid = math_ops.cast(array_ops.stack([rows, columns], axis=2), flow.dtype)
        points = array_ops.reshape(grid[None] - flow, [batch, height * width, 2])
        warped = _interpolate_bilinear(image, points)
        return array_ops.reshape(warped, [batch, height, width, channels])
