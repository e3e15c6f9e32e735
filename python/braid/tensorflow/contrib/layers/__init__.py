"""tf.contrib.layers: layers as functions, whose arguments arg_scope may give; regularizers and initializers."""

from braid.tensorflow.contrib.framework.python.ops.arg_scope import *  # noqa: F401,F403
from braid.tensorflow.contrib.layers.python.layers import *  # noqa: F401,F403
