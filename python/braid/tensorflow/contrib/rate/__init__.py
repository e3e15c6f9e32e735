"""tf.contrib.rate: how fast a value changes."""

from braid.tensorflow.contrib.rate.rate import Rate  # noqa: F401
