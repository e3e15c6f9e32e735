"""tf.contrib.nn: cross-entropies whose first argument is the logits, and alpha dropout."""

from braid.tensorflow.contrib.nn.python.ops import *  # noqa: F401,F403
