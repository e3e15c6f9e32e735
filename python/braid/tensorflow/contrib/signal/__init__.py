"""tf.contrib.signal: the names of tf.signal."""


def __getattr__(name):
    import braid.tensorflow as tf

    return getattr(tf.signal, name)
