"""Rows of a tensor: they are in framework/ops.py."""

from braid.tensorflow.python.framework.ops import IndexedSlices, IndexedSlicesValue
