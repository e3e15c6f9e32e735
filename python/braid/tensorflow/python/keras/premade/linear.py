"""LinearModel: a sum of products with weights."""

from braid.tensorflow.python.keras import activations
from braid.tensorflow.python.keras import initializers
from braid.tensorflow.python.keras import regularizers
from braid.tensorflow.python.keras.engine import training
from braid.tensorflow.python.keras.layers import core
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.experimental.LinearModel")
class LinearModel(training.Model):
    """activation(inputs * weights + bias); of several inputs, or a dict of them, the products are added.

    units: the number of outputs.
    """

    def __init__(
        self,
        units=1,
        activation=None,
        use_bias=True,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        kernel_regularizer=None,
        bias_regularizer=None,
        **kwargs,
    ):
        self.units = units
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        super().__init__(**kwargs)

    def _layer(self, shape, name=None):
        layer = core.Dense(
            units=self.units,
            use_bias=False,
            kernel_initializer=self.kernel_initializer,
            kernel_regularizer=self.kernel_regularizer,
            name=name,
        )
        layer.build(shape)
        layer.built = True
        return layer

    def build(self, input_shape):
        self.dense_layers = []
        if isinstance(input_shape, list):
            self.dense_layers += [self._layer(shape) for shape in input_shape]
        elif isinstance(input_shape, dict):
            self.dense_layers += [self._layer(shape, name) for name, shape in sorted(input_shape.items())]
        else:
            self.dense_layers.append(self._layer(input_shape))
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                shape=self.units,
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                dtype=self.dtype,
                trainable=True,
            )
        self.built = True

    def call(self, inputs):
        if isinstance(inputs, dict):
            inputs = [inputs[name] for name in sorted(inputs)]
        elif not isinstance(inputs, (tuple, list)):
            inputs = [inputs]
        result = None
        for x, layer in zip(inputs, self.dense_layers):
            output = layer(x)
            result = output if result is None else result + output
        if self.use_bias:
            result = nn.bias_add(result, self.bias)
        return result if self.activation is None else self.activation(result)

    def get_config(self):
        return {
            "units": self.units,
            "activation": activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "kernel_initializer": initializers.serialize(self.kernel_initializer),
            "bias_initializer": initializers.serialize(self.bias_initializer),
            "kernel_regularizer": regularizers.serialize(self.kernel_regularizer),
            "bias_regularizer": regularizers.serialize(self.bias_regularizer),
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        return cls(**config)
