"""Ops on ensembles of trees."""

from braid.tensorflow.contrib.boosted_trees.python.ops import gen_training_ops as _ops


def __getattr__(name):
    return getattr(_ops, name)
