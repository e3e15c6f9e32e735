"""Operations on the bits of integers (tf.bitwise): those of gen_bitwise_ops."""

from braid.tensorflow.python.ops import gen_bitwise_ops


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(gen_bitwise_ops, name)
