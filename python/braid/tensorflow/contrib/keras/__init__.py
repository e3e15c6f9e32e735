"""tf.contrib.keras: the names of tf.keras."""


def __getattr__(name):
    import braid.tensorflow as tf

    return getattr(tf.keras, name)
