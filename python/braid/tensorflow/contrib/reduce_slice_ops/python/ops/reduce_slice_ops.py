"""Slices of a tensor along an axis, each joined into one row: (data, indices, axis, name=None)."""

from braid.tensorflow.python.ops.gen_reduce_slice_ops import (  # noqa: F401
    reduce_slice_max,
    reduce_slice_min,
    reduce_slice_prod,
    reduce_slice_sum,
)
