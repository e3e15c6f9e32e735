"""tf.contrib.losses.metric_learning: losses of embeddings."""

from braid.tensorflow.contrib.losses.python.metric_learning.metric_loss_ops import *


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.losses.metric_learning.{name}"))
