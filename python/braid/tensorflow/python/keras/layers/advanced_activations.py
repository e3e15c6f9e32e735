"""Activations with settings or weights, as layers."""

from braid.tensorflow.python.keras import activations
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras import constraints
from braid.tensorflow.python.keras import initializers
from braid.tensorflow.python.keras import regularizers
from braid.tensorflow.python.keras.engine.base_layer import Layer
from braid.tensorflow.python.keras.engine.input_spec import InputSpec
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import keras_export


class _Elementwise(Layer):
    """Outputs of the shape of the inputs."""

    _NAMES = ()

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), **{name: float(getattr(self, name)) for name in self._NAMES}}


@keras_export("keras.layers.LeakyReLU")
class LeakyReLU(_Elementwise):
    """alpha * x for x < 0, else x."""

    _NAMES = ("alpha",)

    def __init__(self, alpha=0.3, **kwargs):
        super().__init__(**kwargs)
        self.alpha = K.cast_to_floatx(alpha)

    def call(self, inputs):
        return K.relu(inputs, alpha=float(self.alpha))


@keras_export("keras.layers.PReLU")
class PReLU(_Elementwise):
    """alpha * x for x < 0, else x, with a learned alpha. shared_axes: those with one alpha for all."""

    def __init__(
        self,
        alpha_initializer="zeros",
        alpha_regularizer=None,
        alpha_constraint=None,
        shared_axes=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.alpha_initializer = initializers.get(alpha_initializer)
        self.alpha_regularizer = regularizers.get(alpha_regularizer)
        self.alpha_constraint = constraints.get(alpha_constraint)
        if shared_axes is None or isinstance(shared_axes, (list, tuple)):
            self.shared_axes = None if shared_axes is None else list(shared_axes)
        else:
            self.shared_axes = [shared_axes]

    def build(self, input_shape):
        lengths = input_shape.as_list()
        shape = lengths[1:]
        for axis in self.shared_axes or []:
            shape[axis - 1] = 1
        self.alpha = self.add_weight(
            shape=shape,
            name="alpha",
            initializer=self.alpha_initializer,
            regularizer=self.alpha_regularizer,
            constraint=self.alpha_constraint,
        )
        axes = {i: lengths[i] for i in range(1, len(lengths)) if i not in (self.shared_axes or [])}
        self.input_spec = InputSpec(ndim=len(lengths), axes=axes)
        self.built = True

    def call(self, inputs):
        return K.relu(inputs) + -self.alpha * K.relu(-inputs)

    def get_config(self):
        return {
            **super().get_config(),
            "alpha_initializer": initializers.serialize(self.alpha_initializer),
            "alpha_regularizer": regularizers.serialize(self.alpha_regularizer),
            "alpha_constraint": constraints.serialize(self.alpha_constraint),
            "shared_axes": self.shared_axes,
        }


@keras_export("keras.layers.ELU")
class ELU(_Elementwise):
    """alpha * (exp(x) - 1) for x < 0, else x."""

    _NAMES = ("alpha",)

    def __init__(self, alpha=1.0, **kwargs):
        super().__init__(**kwargs)
        self.alpha = K.cast_to_floatx(alpha)

    def call(self, inputs):
        return K.elu(inputs, float(self.alpha))


@keras_export("keras.layers.ThresholdedReLU")
class ThresholdedReLU(_Elementwise):
    """x for x > theta, else 0."""

    _NAMES = ("theta",)

    def __init__(self, theta=1.0, **kwargs):
        super().__init__(**kwargs)
        self.theta = K.cast_to_floatx(theta)

    def call(self, inputs):
        theta = math_ops.cast(float(self.theta), inputs.dtype)
        return inputs * math_ops.cast(math_ops.greater(inputs, theta), inputs.dtype)


@keras_export("keras.layers.Softmax")
class Softmax(_Elementwise):
    """The softmax over an axis."""

    def __init__(self, axis=-1, **kwargs):
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs):
        return activations.softmax(inputs, axis=self.axis)

    def get_config(self):
        return {**super().get_config(), "axis": self.axis}


@keras_export("keras.layers.ReLU")
class ReLU(_Elementwise):
    """K.relu with its settings."""

    def __init__(self, max_value=None, negative_slope=0, threshold=0, **kwargs):
        super().__init__(**kwargs)
        if max_value is not None and max_value < 0.0:
            raise ValueError(f"max_value of Relu layer cannot be negative value: {max_value}")
        if negative_slope < 0.0:
            raise ValueError(f"negative_slope of Relu layer cannot be negative value: {negative_slope}")
        self.max_value, self.negative_slope, self.threshold = max_value, negative_slope, threshold

    def call(self, inputs):
        return K.relu(inputs, alpha=self.negative_slope, max_value=self.max_value, threshold=self.threshold)

    def get_config(self):
        return {
            **super().get_config(),
            "max_value": self.max_value,
            "negative_slope": self.negative_slope,
            "threshold": self.threshold,
        }
