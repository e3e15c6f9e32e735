"""The ops of neural networks, quantized ones among them (quantized_conv2d)."""

from braid.tensorflow.python.ops import gen_nn_ops


def __getattr__(name):
    return getattr(gen_nn_ops, name)


def __dir__():
    return dir(gen_nn_ops)
