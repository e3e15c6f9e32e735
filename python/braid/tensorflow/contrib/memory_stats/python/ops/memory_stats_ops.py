"""How much memory the tensors of a process take."""

from braid.tensorflow.python.ops import gen_memory_stats_ops


def BytesInUse():
    """The bytes that the tensors of the process take."""
    return gen_memory_stats_ops.bytes_in_use()


def BytesLimit():
    """The most bytes that the process takes for tensors; -1: there is no limit."""
    return gen_memory_stats_ops.bytes_limit()


def MaxBytesInUse():
    """The most bytes that the process has had from the system for tensors, free ones included."""
    return gen_memory_stats_ops.max_bytes_in_use()
