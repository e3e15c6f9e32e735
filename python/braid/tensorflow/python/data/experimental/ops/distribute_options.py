"""DistributeOptions."""

from braid.tensorflow.python.data.ops.dataset_options import AutoShardPolicy, DistributeOptions  # noqa: F401
