"""Graphs of random forests."""

from braid.tensorflow.contrib.tensor_forest.python import tensor_forest  # noqa: F401
from braid.tensorflow.contrib.tensor_forest.python.ops import (  # noqa: F401
    data_ops,
    model_ops,
    stats_ops,
    tensor_forest_ops,
)
