"""tf.contrib.seq2seq: decoders in a loop, attention, and beam search."""

from braid.tensorflow.contrib.seq2seq.python.ops.attention_wrapper import *  # noqa: F401,F403
from braid.tensorflow.contrib.seq2seq.python.ops.basic_decoder import *  # noqa: F401,F403
from braid.tensorflow.contrib.seq2seq.python.ops.beam_search_decoder import *  # noqa: F401,F403
from braid.tensorflow.contrib.seq2seq.python.ops.decoder import *  # noqa: F401,F403
from braid.tensorflow.contrib.seq2seq.python.ops.helper import *  # noqa: F401,F403
from braid.tensorflow.contrib.seq2seq.python.ops.loss import *  # noqa: F401,F403


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.seq2seq.{name}"))
