"""tf.contrib.losses: tf.losses with the arguments of before."""

from braid.tensorflow.contrib.losses.python.losses import *  # noqa: F401,F403
from braid.tensorflow.contrib.losses.python import metric_learning  # noqa: F401


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.losses.{name}"))
