"""Ops of features."""

from braid.tensorflow.python.ops.gen_tensor_forest_ops import (  # noqa: F401
    reinterpret_string_to_float,
    scatter_add_ndim,
)
