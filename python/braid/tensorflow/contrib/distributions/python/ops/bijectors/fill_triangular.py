"""Triangular matrices from vectors."""

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions import bijector
from braid.tensorflow.python.ops.distributions import util


__all__ = ["FillTriangular"]


def _matrix_size(count):
    """n, of a vector of n * (n + 1) / 2 numbers."""
    size = (np.sqrt(1 + 8 * count) - 1) / 2
    if size != int(size):
        raise ValueError("Vector length is not a triangular number.")
    return int(size)


class FillTriangular(bijector.Bijector):
    """Lower (or upper) triangular matrices from their numbers, in the order of
    tf.contrib.distributions.fill_triangular."""

    def __init__(self, upper=False, validate_args=False, name="fill_triangular"):
        self._upper = upper
        super().__init__(
            forward_min_event_ndims=1, inverse_min_event_ndims=2, validate_args=validate_args, name=name
        )

    def _forward(self, x):
        return util.fill_triangular(x, upper=self._upper)

    def _inverse(self, y):
        return util.fill_triangular_inverse(y, upper=self._upper)

    def _forward_log_det_jacobian(self, x):
        return array_ops.zeros_like(x[..., 0])

    def _inverse_log_det_jacobian(self, y):
        return array_ops.zeros_like(y[..., 0, 0])

    def _forward_event_shape(self, input_shape):
        count = input_shape.dims[-1].value
        size = None if count is None else _matrix_size(count)
        return input_shape[:-1].concatenate([size, size])

    def _inverse_event_shape(self, output_shape):
        rows, columns = (d.value for d in output_shape.dims[-2:])
        if rows is None or columns is None:
            return output_shape[:-2].concatenate([None])
        if rows != columns:
            raise ValueError(f"Matrix must be square. (saw [{rows}, {columns}])")
        return output_shape[:-2].concatenate([rows * (rows + 1) // 2])

    def _forward_event_shape_tensor(self, input_shape):
        count = math_ops.cast(input_shape[-1], dtypes.float64)
        size = math_ops.cast(math_ops.round((math_ops.sqrt(1 + 8 * count) - 1) / 2), input_shape.dtype)
        if self.validate_args:
            message = "Vector length is not a triangular number"
            check = check_ops.assert_equal(size * (size + 1) // 2, input_shape[-1], message=message)
            size = control_flow_ops.with_dependencies([check], size)
        return array_ops.concat([input_shape[:-1], [size, size]], 0)

    def _inverse_event_shape_tensor(self, output_shape):
        size = output_shape[-1]
        if self.validate_args:
            check = check_ops.assert_equal(size, output_shape[-2], message="Matrix must be square.")
            size = control_flow_ops.with_dependencies([check], size)
        return array_ops.concat([output_shape[:-2], [size * (size + 1) // 2]], 0)
