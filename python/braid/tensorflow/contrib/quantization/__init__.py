"""tf.contrib.quantization: ops on quantized tensors, and the other ops of mathematics and neural networks."""

from braid.tensorflow.contrib.quantization import python as _python
from braid.tensorflow.contrib.quantization.python import array_ops as quantized_array_ops  # noqa: F401
from braid.tensorflow.contrib.quantization.python.array_ops import (  # noqa: F401
    dequantize,
    quantize_v2,
    quantized_concat,
    quantized_gen_array_ops,
)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(_python, name)


def __dir__():
    return sorted({*globals(), *dir(_python)})
