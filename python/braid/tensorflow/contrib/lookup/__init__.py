"""Tables under their names in tf.contrib.lookup."""

from braid.tensorflow.contrib.lookup.lookup_ops import *


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.lookup.{name}"))
