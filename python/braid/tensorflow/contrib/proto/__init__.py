"""tf.contrib.proto: tf.io's ops of messages."""

from braid.tensorflow.python.ops.proto_ops import decode_proto, encode_proto  # noqa: F401


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.proto.{name}"))
