"""tf.contrib.cudnn_rnn: the cells that read what cuDNN's networks have learned."""

from braid.tensorflow.contrib.cudnn_rnn.python.ops import *  # noqa: F401,F403


def __getattr__(name):
    if name.startswith("Cudnn"):
        raise AttributeError(
            f"tf.contrib.cudnn_rnn.{name} is not in Braid, which does not call cuDNN's networks: use "
            "tf.nn.dynamic_rnn with a cell of tf.nn.rnn_cell"
        )
    raise AttributeError(name)
