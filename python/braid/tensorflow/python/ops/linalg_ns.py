"""Linear algebra (tf.linalg)."""

from braid.tensorflow.python.ops.linalg import linalg_impl


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(linalg_impl, name)
