"""tf.contrib.libsvm: records in the format of LIBSVM."""

from braid.tensorflow.contrib.libsvm.python.ops.libsvm_ops import decode_libsvm  # noqa: F401
