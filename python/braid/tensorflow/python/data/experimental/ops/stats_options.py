"""StatsOptions."""

from braid.tensorflow.python.data.ops.dataset_options import StatsOptions  # noqa: F401
