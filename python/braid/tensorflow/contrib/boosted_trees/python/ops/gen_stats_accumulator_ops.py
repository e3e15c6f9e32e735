"""The functions of the ops themselves."""

from braid.tensorflow.python.ops import gen_stats_accumulator_ops as _ops


def __getattr__(name):
    return getattr(_ops, name)
