"""Rows of a tensor: they are in framework/ops.py."""

from braid.tensorflow.python.framework.ops import (  # noqa: F401
    IndexedSlices,
    IndexedSlicesSpec,
    IndexedSlicesValue,
)
