"""Whether a replica writes summaries."""

from braid.tensorflow.python.distribute import distribution_strategy_context


def skip_summary():
    """Whether this is a replica other than the first one, whose summaries are left out."""
    replica = distribution_strategy_context.get_replica_context()
    return bool(replica) and replica._id > 0
