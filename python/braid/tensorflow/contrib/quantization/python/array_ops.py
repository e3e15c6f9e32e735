"""Tensors made quantized and back, and their concatenation."""

from braid.tensorflow.python.ops import gen_array_ops as quantized_gen_array_ops  # noqa: F401
from braid.tensorflow.python.ops.gen_array_ops import dequantize, quantize_v2, quantized_concat  # noqa: F401
