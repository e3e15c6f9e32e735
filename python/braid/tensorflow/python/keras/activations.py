"""Activation functions by name."""

from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras.utils.generic_utils import deserialize_keras_object
from braid.tensorflow.python.keras.utils.generic_utils import serialize_keras_object
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.activations.softmax")
def softmax(x, axis=-1):
    """The softmax over an axis."""
    rank = K.ndim(x)
    if rank == 2:
        return nn.softmax(x)
    if rank is not None and rank > 2:
        e = math_ops.exp(x - math_ops.reduce_max(x, axis=axis, keepdims=True))
        return e / math_ops.reduce_sum(e, axis=axis, keepdims=True)
    raise ValueError(f"Cannot apply softmax to a tensor that is 1D. Received input: {x}")


@keras_export("keras.activations.elu")
def elu(x, alpha=1.0):
    return K.elu(x, alpha)


@keras_export("keras.activations.selu")
def selu(x):
    return nn.selu(x)


@keras_export("keras.activations.softplus")
def softplus(x):
    return nn.softplus(x)


@keras_export("keras.activations.softsign")
def softsign(x):
    return nn.softsign(x)


@keras_export("keras.activations.relu")
def relu(x, alpha=0.0, max_value=None, threshold=0):
    return K.relu(x, alpha=alpha, max_value=max_value, threshold=threshold)


@keras_export("keras.activations.tanh")
def tanh(x):
    return nn.tanh(x)


@keras_export("keras.activations.sigmoid")
def sigmoid(x):
    return nn.sigmoid(x)


@keras_export("keras.activations.exponential")
def exponential(x):
    return math_ops.exp(x)


@keras_export("keras.activations.hard_sigmoid")
def hard_sigmoid(x):
    return K.hard_sigmoid(x)


@keras_export("keras.activations.linear")
def linear(x):
    return x


def swish(x):
    return nn.swish(x)


@keras_export("keras.activations.serialize")
def serialize(activation):
    """The name of an activation."""
    name = getattr(activation, "__name__", None)
    if name is None:  # a layer
        return serialize_keras_object(activation)
    return "softmax" if name == "softmax_v2" else name


@keras_export("keras.activations.deserialize")
def deserialize(name, custom_objects=None):
    """The activation of a name."""
    return deserialize_keras_object(
        name,
        module_objects=globals(),
        custom_objects=custom_objects,
        printable_module_name="activation function",
    )


@keras_export("keras.activations.get")
def get(identifier):
    """An activation: of a name, a function, linear for None."""
    if identifier is None:
        return linear
    if isinstance(identifier, str):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    if isinstance(identifier, dict):
        return deserialize_keras_object(identifier, printable_module_name="activation")
    raise TypeError(f"Could not interpret activation function identifier: {identifier!r}")
