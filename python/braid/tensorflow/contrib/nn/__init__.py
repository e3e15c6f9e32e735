"""tf.contrib.nn: cross-entropies whose first argument is the logits, alpha dropout, and softmax over
samples."""

from braid.tensorflow.contrib.nn.python.ops.alpha_dropout import *  # noqa: F401,F403
from braid.tensorflow.contrib.nn.python.ops.cross_entropy import *  # noqa: F401,F403
from braid.tensorflow.contrib.nn.python.ops.sampling_ops import *  # noqa: F401,F403
from braid.tensorflow.contrib.nn.python.ops.scaled_softplus import *  # noqa: F401,F403
from braid.tensorflow.python.ops.nn_ops import conv1d_transpose  # noqa: F401
from braid.tensorflow.python.ops.nn_ops import nth_element  # noqa: F401


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.nn.{name}"))
