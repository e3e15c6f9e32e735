"""The ops of mathematics, quantized ones among them (quantized_mat_mul)."""

from braid.tensorflow.python.ops import gen_math_ops


def __getattr__(name):
    return getattr(gen_math_ops, name)


def __dir__():
    return dir(gen_math_ops)
