"""Dual coordinate ascent for linear models."""

from braid.tensorflow.contrib.linear_optimizer.python.ops.sdca_ops import SdcaModel
from braid.tensorflow.contrib.linear_optimizer.python.ops.sparse_feature_column import SparseFeatureColumn
from braid.tensorflow.contrib.linear_optimizer.python.sdca_optimizer import SDCAOptimizer
