"""TensorFlow's ops for Python."""

from braid.tensorflow.python.ops import gen_ops

gen_ops.install()
