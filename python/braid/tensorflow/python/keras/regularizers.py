"""Regularizers: losses of weights."""

from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras.utils.generic_utils import deserialize_keras_object
from braid.tensorflow.python.keras.utils.generic_utils import serialize_keras_object
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.regularizers.Regularizer")
class Regularizer:
    """A function from a weight to a loss."""

    def __call__(self, x):
        return 0.0

    @classmethod
    def from_config(cls, config):
        return cls(**config)


@keras_export("keras.regularizers.L1L2")
class L1L2(Regularizer):
    """l1 * sum(|x|) + l2 * sum(x ** 2)."""

    def __init__(self, l1=0.0, l2=0.0):
        self.l1 = K.cast_to_floatx(l1)
        self.l2 = K.cast_to_floatx(l2)

    def __call__(self, x):
        if not self.l1 and not self.l2:
            return K.constant(0.0)
        loss = 0.0
        if self.l1:
            loss += math_ops.reduce_sum(self.l1 * math_ops.abs(x))
        if self.l2:
            loss += math_ops.reduce_sum(self.l2 * math_ops.square(x))
        return loss

    def get_config(self):
        return {"l1": float(self.l1), "l2": float(self.l2)}


@keras_export("keras.regularizers.l1")
def l1(l=0.01):
    """l * sum(|x|)."""
    return L1L2(l1=l)


@keras_export("keras.regularizers.l2")
def l2(l=0.01):
    """l * sum(x ** 2)."""
    return L1L2(l2=l)


@keras_export("keras.regularizers.l1_l2")
def l1_l2(l1=0.01, l2=0.01):
    """Both."""
    return L1L2(l1=l1, l2=l2)


@keras_export("keras.regularizers.serialize")
def serialize(regularizer):
    return serialize_keras_object(regularizer)


@keras_export("keras.regularizers.deserialize")
def deserialize(config, custom_objects=None):
    return deserialize_keras_object(
        config, module_objects=globals(), custom_objects=custom_objects, printable_module_name="regularizer"
    )


@keras_export("keras.regularizers.get")
def get(identifier):
    """A regularizer: of a name or settings, or a function; None for None."""
    if identifier is None:
        return None
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        is_ours = identifier in globals()  # a class, or a function that makes an object
        return deserialize({"class_name": identifier, "config": {}} if is_ours else identifier)
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret regularizer identifier: {identifier}")
