"""tf.contrib.compiler: scopes and computations that TensorFlow may compile; Braid runs their nodes one by one."""

from braid.tensorflow.contrib.compiler import jit, xla  # noqa: F401
