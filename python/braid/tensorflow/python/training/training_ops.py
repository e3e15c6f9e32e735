"""The ops that update variables (ApplyAdam and others), as the optimizers call them."""

from braid.tensorflow.python.ops import gen_training_ops


def __getattr__(name):
    return getattr(gen_training_ops, name)
