"""All of tf.nn.rnn_cell."""

from braid.tensorflow.python.ops.rnn_cell_impl import *  # noqa: F401,F403
