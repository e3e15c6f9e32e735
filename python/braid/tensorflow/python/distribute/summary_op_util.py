"""Whether a replica writes summaries."""

from braid.tensorflow.python.distribute import distribution_strategy_context
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util


def skip_summary():
    """Whether this is a replica other than the first one, whose summaries are left out."""
    replica = distribution_strategy_context.get_replica_context()
    if not replica:
        return False
    index = replica.replica_id_in_sync_group
    if isinstance(index, ops.Tensor):
        index = tensor_util.constant_value(index)
    return bool(index and index > 0)
