"""StatsOptions."""

from braid.tensorflow.python.data.ops.dataset_ops import StatsOptions  # noqa: F401
