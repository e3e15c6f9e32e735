"""encode_proto, where tf.contrib.proto has it."""

from braid.tensorflow.python.ops.proto_ops import encode_proto  # noqa: F401
