"""Layers whose kernels are multiplied by masks of zeros and ones."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.layers import convolutional
from braid.tensorflow.python.layers import core
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops

MASK_COLLECTION = "masks"
THRESHOLD_COLLECTION = "thresholds"
MASKED_WEIGHT_COLLECTION = "masked_weights"
WEIGHT_COLLECTION = "kernel"
MASKED_WEIGHT_NAME = "weights/masked_weight"


def collect(mask, threshold, masked_weights, weights):
    """Adds a kernel and what belongs to it to the collections that Pruning goes through."""
    if any(m is mask for m in ops.get_collection_ref(MASK_COLLECTION)):
        return
    ops.add_to_collection(THRESHOLD_COLLECTION, threshold)
    ops.add_to_collection(MASK_COLLECTION, mask)
    ops.add_to_collection(MASKED_WEIGHT_COLLECTION, masked_weights)
    ops.add_to_collection(WEIGHT_COLLECTION, weights)


def add_mask(layer, kernel):
    """(mask, threshold, kernel * mask) for a layer's kernel."""
    mask = layer.add_variable(
        name="mask",
        shape=kernel.shape.as_list(),
        initializer=init_ops.ones_initializer(),
        trainable=False,
        dtype=layer.dtype,
    )
    threshold = layer.add_variable(
        name="threshold",
        shape=[],
        initializer=init_ops.zeros_initializer(),
        trainable=False,
        dtype=layer.dtype,
    )
    masked = math_ops.multiply(mask, kernel, MASKED_WEIGHT_NAME)
    collect(mask, threshold, masked, kernel)
    return mask, threshold, masked


class MaskedConv2D(convolutional.Conv2D):
    """A convolution along two axes with a masked kernel."""

    def build(self, input_shape):
        super().build(input_shape)
        self.built = False  # variables follow
        self.mask, self.threshold, self.masked_kernel = add_mask(self, self.kernel)
        self.built = True

    def call(self, inputs):
        return self._finish(self._convolution_op(inputs, self.masked_kernel))


class MaskedFullyConnected(core.Dense):
    """A dense layer with a masked kernel."""

    def build(self, input_shape):
        super().build(input_shape)
        self.built = False  # variables follow
        self.mask, self.threshold, self.masked_kernel = add_mask(self, self.kernel)
        self.built = True

    def call(self, inputs):
        rank = inputs.shape.ndims
        if rank is not None and rank > 2:
            outputs = math_ops.tensordot(inputs, self.masked_kernel, [[rank - 1], [0]])
            outputs.set_shape(tensor_shape.TensorShape(inputs.shape.as_list()[:-1] + [self.units]))
        else:
            outputs = math_ops.matmul(inputs, self.masked_kernel)
        if self.use_bias:
            outputs = nn_ops.bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)
