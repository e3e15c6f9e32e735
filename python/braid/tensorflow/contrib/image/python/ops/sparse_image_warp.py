"""Pictures of which some points are moved, and the others with them."""

import numpy as np

from braid.tensorflow.contrib.image.python.ops import dense_image_warp
from braid.tensorflow.contrib.image.python.ops import interpolate_spline
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops


def _get_grid_locations(image_height, image_width):
    """(row, column) of each pixel."""
    return np.stack(np.meshgrid(np.arange(image_height), np.arange(image_width), indexing="ij"), -1)


def _get_boundary_locations(image_height, image_width, num_points_per_edge):
    """The corners, and so many points on each edge."""
    rows = np.linspace(0, image_height - 1, num_points_per_edge + 2)
    columns = np.linspace(0, image_width - 1, num_points_per_edge + 2)
    ys, xs = np.meshgrid(rows, columns, indexing="ij")
    is_boundary = (xs == 0) | (xs == image_width - 1) | (ys == 0) | (ys == image_height - 1)
    return np.stack([ys[is_boundary], xs[is_boundary]], axis=-1)


def sparse_image_warp(
    image,
    source_control_point_locations,
    dest_control_point_locations,
    interpolation_order=2,
    regularization_weight=0.0,
    num_boundary_points=0,
    name="sparse_image_warp",
):
    """(pictures in which what was at source points [batch, n, 2] is at destination points, the flow of each
    pixel).

    The flow between the points is a spline (interpolate_spline). num_boundary_points: the border stays where
    it is: corners, and so many points less 1 on each edge.
    """
    image = ops.convert_to_tensor(image)
    source = ops.convert_to_tensor(source_control_point_locations)
    destination = ops.convert_to_tensor(dest_control_point_locations)
    flows = destination - source
    with ops.name_scope(name):
        batch, height, width, _ = image.get_shape().as_list()
        if height is None or width is None:
            raise ValueError(f"The sizes of the pictures must be known, found {image.get_shape()}.")
        batch = array_ops.shape(image)[0] if batch is None else batch

        def for_batch(array, dtype):
            return array_ops.tile(
                ops.convert_to_tensor(array[None].astype(dtype.as_numpy_dtype)), [batch, 1, 1]
            )

        if num_boundary_points > 0:
            border = _get_boundary_locations(height, width, num_boundary_points - 1)
            destination = array_ops.concat([destination, for_batch(border, destination.dtype)], 1)
            flows = array_ops.concat([flows, for_batch(0 * border, flows.dtype)], 1)
        grid = _get_grid_locations(height, width).reshape([height * width, 2])
        flow = interpolate_spline.interpolate_spline(
            destination, flows, for_batch(grid, image.dtype), interpolation_order, regularization_weight
        )
        flow = array_ops.reshape(flow, [batch, height, width, 2])
        return dense_image_warp.dense_image_warp(image, flow), flow
