"""The ops that update variables (ApplyAdam and others), as the optimizers call them."""

from braid.tensorflow.python.ops.gen_training_ops import *  # noqa: F401,F403
