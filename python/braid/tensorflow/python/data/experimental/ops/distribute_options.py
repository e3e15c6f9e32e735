"""DistributeOptions."""

from braid.tensorflow.python.data.ops.dataset_ops import DistributeOptions  # noqa: F401
