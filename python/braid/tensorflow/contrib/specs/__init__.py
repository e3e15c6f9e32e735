"""tf.contrib.specs: networks written as expressions of functions. See tf.contrib.specs.python."""

from braid.tensorflow.contrib.specs import python  # noqa: F401
