"""tf.contrib.rnn: the cells of tf.nn.rnn_cell, and others."""

from braid.tensorflow.contrib.rnn.python.ops.fused_rnn_cell import *  # noqa: F401,F403
from braid.tensorflow.contrib.rnn.python.ops.gru_ops import *  # noqa: F401,F403
from braid.tensorflow.contrib.rnn.python.ops.lstm_ops import *  # noqa: F401,F403
from braid.tensorflow.contrib.rnn.python.ops.rnn import *  # noqa: F401,F403
from braid.tensorflow.contrib.rnn.python.ops.rnn_cell import *  # noqa: F401,F403
from braid.tensorflow.python.ops.rnn import (  # noqa: F401
    _best_effort_input_batch_size as best_effort_input_batch_size,
)
from braid.tensorflow.python.ops.rnn import _transpose_batch_time as transpose_batch_time  # noqa: F401
from braid.tensorflow.python.ops.rnn import static_bidirectional_rnn  # noqa: F401
from braid.tensorflow.python.ops.rnn import static_rnn  # noqa: F401
from braid.tensorflow.python.ops.rnn import static_state_saving_rnn  # noqa: F401
from braid.tensorflow.python.ops.rnn_cell_impl import BasicLSTMCell  # noqa: F401
from braid.tensorflow.python.ops.rnn_cell_impl import BasicRNNCell  # noqa: F401
from braid.tensorflow.python.ops.rnn_cell_impl import DeviceWrapper  # noqa: F401
from braid.tensorflow.python.ops.rnn_cell_impl import DropoutWrapper  # noqa: F401
from braid.tensorflow.python.ops.rnn_cell_impl import GRUCell  # noqa: F401
from braid.tensorflow.python.ops.rnn_cell_impl import LSTMCell  # noqa: F401
from braid.tensorflow.python.ops.rnn_cell_impl import LSTMStateTuple  # noqa: F401
from braid.tensorflow.python.ops.rnn_cell_impl import LayerRNNCell  # noqa: F401
from braid.tensorflow.python.ops.rnn_cell_impl import MultiRNNCell  # noqa: F401
from braid.tensorflow.python.ops.rnn_cell_impl import RNNCell  # noqa: F401
from braid.tensorflow.python.ops.rnn_cell_impl import ResidualWrapper  # noqa: F401


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.rnn.{name}"))
