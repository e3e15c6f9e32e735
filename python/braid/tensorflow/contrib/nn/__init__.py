"""tf.contrib.nn: cross-entropies whose first argument is the logits, and alpha dropout."""

from braid.tensorflow.contrib.nn.python.ops import *  # noqa: F401,F403


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.nn.{name}"))
