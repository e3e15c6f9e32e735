"""Hue, saturation and value of pictures, changed in YIQ: brightness and two axes of color."""

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import image_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import random_ops

_TO_YIQ = np.float32([[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]])
_TO_RGB = np.float32([[1, 0.95617069, 0.62143257], [1, -0.2726886, -0.64681324], [1, -1.103744, 1.70062309]])


def random_hsv_in_yiq(
    image,
    max_delta_hue=0,
    lower_saturation=1,
    upper_saturation=1,
    lower_value=1,
    upper_value=1,
    seed=None,
):
    """Pictures changed by random amounts: a hue from [-max_delta_hue, max_delta_hue], and factors of
    saturation and value between their bounds. ValueError: the bounds are negative or in the wrong order.
    """
    if max_delta_hue < 0:
        raise ValueError("max_delta must be non-negative.")
    if lower_saturation < 0:
        raise ValueError("lower_saturation must be non-negative.")
    if lower_value < 0:
        raise ValueError("lower_value must be non-negative.")
    if lower_saturation > upper_saturation:
        raise ValueError("lower_saturation must be < upper_saturation.")
    if lower_value > upper_value:
        raise ValueError("lower_value must be < upper_value.")

    def between(low, high):
        return low if low == high else random_ops.random_uniform([], low, high, seed=seed)

    hue = 0 if max_delta_hue == 0 else between(-max_delta_hue, max_delta_hue)
    saturation = between(lower_saturation, upper_saturation)
    return adjust_hsv_in_yiq(image, hue, saturation, between(lower_value, upper_value))


def adjust_hsv_in_yiq(image, delta_hue=0, scale_saturation=1, scale_value=1, name=None):
    """Pictures of RGB with their colors turned by `delta_hue` radians, these multiplied by
    `scale_saturation`, and all by `scale_value`. The shape and type of the result are those of `image`.
    """
    with ops.name_scope(name, "adjust_hsv_in_yiq", [image]):
        image = ops.convert_to_tensor(image, name="image")
        shape = image.get_shape()
        if shape.ndims is not None:
            if shape.ndims < 3:
                raise ValueError(f"input must be at least 3-D, got shape {shape}")
            image.set_shape(shape[:-1].concatenate(tensor_shape.TensorShape([3])))
        hue, saturation, value = (
            ops.convert_to_tensor(x, dtype=dtypes.float32) for x in (delta_hue, scale_saturation, scale_value)
        )
        along = value * saturation * math_ops.cos(hue)
        across = value * saturation * math_ops.sin(hue)
        zero = array_ops.zeros_like(value)
        turn = array_ops.stack([[value, zero, zero], [zero, along, -across], [zero, across, along]])
        change = math_ops.matmul(_TO_RGB, math_ops.matmul(turn, _TO_YIQ))
        rgb = image_ops.convert_image_dtype(image, dtypes.float32)
        rows = math_ops.matmul(array_ops.reshape(rgb, [-1, 3]), change, transpose_b=True)
        changed = array_ops.reshape(rows, array_ops.shape(rgb))
        changed.set_shape(image.get_shape())
        return image_ops.convert_image_dtype(changed, image.dtype)
