"""OptimizationOptions."""

from braid.tensorflow.python.data.ops.dataset_ops import OptimizationOptions  # noqa: F401
