"""Bilinear interpolation of images, with its gradient."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import gen_resampler_ops


def resampler(data, warp, name="resampler"):
    """Images [batch, height, width, channels] at the places (x, y) of warp [batch, .., 2].

    The result is [batch, .., channels]. Around the images there are zeros.
    """
    with ops.name_scope(name, "resampler", [data, warp]):
        data = ops.convert_to_tensor(data, name="data")
        warp = ops.convert_to_tensor(warp, name="warp")
        return gen_resampler_ops.resampler(data, warp)
