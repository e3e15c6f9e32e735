"""tf.contrib.layers: layers as functions, whose arguments arg_scope may give; regularizers and initializers."""

from braid.tensorflow.contrib.framework.python.ops.arg_scope import *  # noqa: F401,F403
from braid.tensorflow.contrib.layers.python.layers import *  # noqa: F401,F403

SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY = 0xDECAFCAFFE


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.layers.{name}"))
