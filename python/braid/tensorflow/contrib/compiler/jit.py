"""tf.contrib.compiler.jit."""

from braid.tensorflow.python.compiler.xla.jit import experimental_jit_scope  # noqa: F401
