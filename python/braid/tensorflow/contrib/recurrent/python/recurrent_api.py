"""The public functions of tf.contrib.recurrent."""

from braid.tensorflow.contrib.recurrent.python.ops.functional_rnn import (  # noqa: F401
    bidirectional_functional_rnn,
    functional_rnn,
)
from braid.tensorflow.contrib.recurrent.python.ops.recurrent import Recurrent  # noqa: F401
