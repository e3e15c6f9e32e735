"""OptimizationOptions."""

from braid.tensorflow.python.data.ops.dataset_options import (
    MapVectorizationOptions,
    OptimizationOptions,
)  # noqa: F401
