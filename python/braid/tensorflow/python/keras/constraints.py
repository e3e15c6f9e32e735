"""Constraints: what a weight becomes after an update."""

from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras.utils.generic_utils import deserialize_keras_object
from braid.tensorflow.python.keras.utils.generic_utils import serialize_keras_object
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.constraints.Constraint")
class Constraint:
    """A function from a weight to the one that is kept."""

    def __call__(self, w):
        return w

    def get_config(self):
        return {}


def _norms(w, axis):
    return K.sqrt(math_ops.reduce_sum(math_ops.square(w), axis=axis, keepdims=True))


@keras_export("keras.constraints.MaxNorm", "keras.constraints.max_norm")
class MaxNorm(Constraint):
    """Norms along an axis up to max_value."""

    def __init__(self, max_value=2, axis=0):
        self.max_value, self.axis = max_value, axis

    def __call__(self, w):
        norms = _norms(w, self.axis)
        return w * (K.clip(norms, 0, self.max_value) / (K.epsilon() + norms))

    def get_config(self):
        return {"max_value": self.max_value, "axis": self.axis}


@keras_export("keras.constraints.NonNeg", "keras.constraints.non_neg")
class NonNeg(Constraint):
    """No negative numbers."""

    def __call__(self, w):
        return w * math_ops.cast(math_ops.greater_equal(w, 0.0), K.floatx())


@keras_export("keras.constraints.UnitNorm", "keras.constraints.unit_norm")
class UnitNorm(Constraint):
    """Norms along an axis of 1."""

    def __init__(self, axis=0):
        self.axis = axis

    def __call__(self, w):
        return w / (K.epsilon() + _norms(w, self.axis))

    def get_config(self):
        return {"axis": self.axis}


@keras_export("keras.constraints.MinMaxNorm", "keras.constraints.min_max_norm")
class MinMaxNorm(Constraint):
    """Norms along an axis between two values; moved there by `rate` at an update."""

    def __init__(self, min_value=0.0, max_value=1.0, rate=1.0, axis=0):
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w):
        norms = _norms(w, self.axis)
        wanted = self.rate * K.clip(norms, self.min_value, self.max_value) + (1 - self.rate) * norms
        return w * (wanted / (K.epsilon() + norms))

    def get_config(self):
        return {
            "min_value": self.min_value,
            "max_value": self.max_value,
            "rate": self.rate,
            "axis": self.axis,
        }


@keras_export("keras.constraints.RadialConstraint", "keras.constraints.radial_constraint")
class RadialConstraint(Constraint):
    """The kernel of a 2-D convolution the same along each square around its middle."""

    def __call__(self, w):
        if w.shape.ndims != 4:
            raise ValueError(f"The weight tensor must be of rank 4, but is of shape: {w.shape}")
        size = w.shape[0].value
        half = size // 2
        diagonal = array_ops.stack([w[i, i] for i in range(size)])
        # TensorFlow takes the middle's value before the middle of the diagonal, the n-th square's after it.
        rings = [
            max(abs(2 * i - size + 1), abs(2 * j - size + 1)) // 2 for i in range(size) for j in range(size)
        ]
        places = [half + r - size % 2 if r else max(half - 1, 0) for r in rings]
        return array_ops.reshape(array_ops.gather(diagonal, places), array_ops.shape(w))


max_norm = MaxNorm
non_neg = NonNeg
unit_norm = UnitNorm
min_max_norm = MinMaxNorm
radial_constraint = RadialConstraint
maxnorm = MaxNorm
nonneg = NonNeg
unitnorm = UnitNorm


@keras_export("keras.constraints.serialize")
def serialize(constraint):
    return serialize_keras_object(constraint)


@keras_export("keras.constraints.deserialize")
def deserialize(config, custom_objects=None):
    return deserialize_keras_object(
        config, module_objects=globals(), custom_objects=custom_objects, printable_module_name="constraint"
    )


@keras_export("keras.constraints.get")
def get(identifier):
    """A constraint: of a name or settings, or a function; None for None."""
    if identifier is None:
        return None
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        return deserialize({"class_name": str(identifier), "config": {}})
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret constraint identifier: {identifier}")
