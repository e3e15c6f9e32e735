"""FeedingQueueRunner, where tf.contrib.training has it."""

from braid.tensorflow.python.estimator.inputs.queues.feeding_queue_runner import (  # noqa: F401
    FeedingQueueRunner,
)
