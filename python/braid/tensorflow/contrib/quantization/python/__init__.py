"""Ops on quantized tensors."""

from braid.tensorflow.contrib.quantization.python.array_ops import (  # noqa: F401
    dequantize,
    quantize_v2,
    quantized_concat,
    quantized_gen_array_ops,
)
from braid.tensorflow.python.ops import gen_math_ops, gen_nn_ops


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    module = gen_math_ops if hasattr(gen_math_ops, name) else gen_nn_ops
    return getattr(module, name)


def __dir__():
    return sorted({*globals(), *dir(gen_math_ops), *dir(gen_nn_ops)})
