"""tf.contrib.crf: linear-chain conditional random fields."""

from braid.tensorflow.contrib.crf.python.ops.crf import *  # noqa: F401,F403
