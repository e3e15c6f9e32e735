"""Sparse features under their name in tf.contrib."""

from braid.tensorflow.python.estimator.canned.linear_optimizer.python.utils import sdca_ops as core


class SparseFeatureColumn(core._SparseFeatureColumn):
    """A group of sparse features: for each of N features its example, its index and its value (or None)."""
