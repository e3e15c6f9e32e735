"""tf.contrib.grid_rnn: cells with several dimensions."""

from braid.tensorflow.contrib.grid_rnn.python.ops.grid_rnn_cell import *  # noqa: F401,F403
