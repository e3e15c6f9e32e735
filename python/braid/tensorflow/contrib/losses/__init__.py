"""tf.contrib.losses: tf.losses with the arguments of before."""

from braid.tensorflow.contrib.losses.python.losses import *  # noqa: F401,F403
from braid.tensorflow.contrib.losses.python import metric_learning  # noqa: F401
