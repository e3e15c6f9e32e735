"""Fields of serialized protocol buffer messages as tensors, and messages of tensors."""

from braid.tensorflow.python.ops.gen_decode_proto_ops import decode_proto_v2 as decode_proto
from braid.tensorflow.python.ops.gen_encode_proto_ops import encode_proto
from braid.tensorflow.python.util.tf_export import tf_export

tf_export("io.decode_proto").export_constant(__name__, "decode_proto")
tf_export("io.encode_proto").export_constant(__name__, "encode_proto")
