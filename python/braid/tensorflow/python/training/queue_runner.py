"""tf.train.queue_runner."""

from braid.tensorflow.python.training.queue_runner_impl import *  # noqa: F401,F403
