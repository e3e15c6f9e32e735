"""The losses of tf.contrib.losses."""

from braid.tensorflow.contrib.losses.python.losses.loss_ops import *  # noqa: F401,F403
