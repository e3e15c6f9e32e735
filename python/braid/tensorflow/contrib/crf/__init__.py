"""tf.contrib.crf: linear-chain conditional random fields."""

from braid.tensorflow.contrib.crf.python.ops.crf import *  # noqa: F401,F403


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.crf.{name}"))
