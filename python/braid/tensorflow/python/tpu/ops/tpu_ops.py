"""Ops of TPUs, which libraries import and call only on TPUs: each says when it is called that there are none."""

from braid.tensorflow.contrib.tpu import cross_replica_sum  # noqa: F401
from braid.tensorflow.python.tpu import without_tpus


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return without_tpus.refused(f"tensorflow.python.tpu.ops.tpu_ops.{name}")
