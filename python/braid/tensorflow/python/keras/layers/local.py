"""Convolutions whose kernel is another one at each place."""

from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras import activations
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras import constraints
from braid.tensorflow.python.keras import initializers
from braid.tensorflow.python.keras import regularizers
from braid.tensorflow.python.keras.engine.base_layer import Layer
from braid.tensorflow.python.keras.engine.input_spec import InputSpec
from braid.tensorflow.python.keras.utils import conv_utils
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.util.tf_export import keras_export


class _LocallyConnected(Layer):
    """The base: kernel [places, values of a window, filters], bias [places..., filters]."""

    def __init__(
        self,
        rank,
        filters,
        kernel_size,
        strides=1,
        padding="valid",
        data_format=None,
        activation=None,
        use_bias=True,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        kernel_regularizer=None,
        bias_regularizer=None,
        activity_regularizer=None,
        kernel_constraint=None,
        bias_constraint=None,
        implementation=1,
        **kwargs,
    ):
        super().__init__(activity_regularizer=regularizers.get(activity_regularizer), **kwargs)
        if padding != "valid" or implementation != 1:
            raise NotImplementedError(f"{type(self).__name__}(padding=, implementation=): only 'valid' and 1")
        self.rank, self.filters = rank, filters
        self.kernel_size = conv_utils.normalize_tuple(kernel_size, rank, "kernel_size")
        self.strides = conv_utils.normalize_tuple(strides, rank, "strides")
        self.padding, self.implementation = padding, implementation
        self.data_format = conv_utils.normalize_data_format(data_format)
        if self.data_format != "channels_last":
            raise NotImplementedError(f"{type(self).__name__}(data_format='channels_first')")
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.input_spec = InputSpec(ndim=rank + 2)

    def _output_sizes(self, input_shape):
        sizes = tensor_shape.TensorShape(input_shape).as_list()[1:-1]
        if None in sizes:
            raise ValueError(
                f"The spatial dimensions of the inputs to a {type(self).__name__} layer should be fully "
                f"defined, but layer received the inputs shape {input_shape}"
            )
        return [(n - k) // s + 1 for n, k, s in zip(sizes, self.kernel_size, self.strides)]

    def build(self, input_shape):
        channels = tensor_shape.TensorShape(input_shape).as_list()[-1]
        self._sizes = self._output_sizes(input_shape)
        places, window = 1, channels
        for n, k in zip(self._sizes, self.kernel_size):
            places, window = places * n, window * k
        self.kernel = self.add_weight(
            shape=(places, window, self.filters),
            initializer=self.kernel_initializer,
            name="kernel",
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                shape=tuple(self._sizes) + (self.filters,),
                initializer=self.bias_initializer,
                name="bias",
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.built = True

    def compute_output_shape(self, input_shape):
        batch = tensor_shape.TensorShape(input_shape)[0]
        return tensor_shape.TensorShape([batch] + self._output_sizes(input_shape) + [self.filters])

    def call(self, inputs):
        return self.activation(self._convolved(inputs))

    def _convolved(self, inputs):
        window = self.kernel.shape.as_list()[1]
        parts = []
        places = [[]]
        for n in self._sizes:
            places = [p + [i] for p in places for i in range(n)]
        for place in places:
            index = [slice(None)] + [
                slice(i * s, i * s + k) for i, s, k in zip(place, self.strides, self.kernel_size)
            ]
            parts.append(array_ops.reshape(inputs[tuple(index)], (1, -1, window)))
        # [places, batch, window] x [places, window, filters]
        result = K.batch_dot(K.concatenate(parts, axis=0), self.kernel)
        result = array_ops.transpose(result, [1, 0, 2])
        result = array_ops.reshape(result, [-1] + self._sizes + [self.filters])
        return result if self.bias is None else result + self.bias

    def get_config(self):
        config = {
            "filters": self.filters,
            "kernel_size": self.kernel_size,
            "strides": self.strides,
            "padding": self.padding,
            "data_format": self.data_format,
            "activation": activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "kernel_initializer": initializers.serialize(self.kernel_initializer),
            "bias_initializer": initializers.serialize(self.bias_initializer),
            "kernel_regularizer": regularizers.serialize(self.kernel_regularizer),
            "bias_regularizer": regularizers.serialize(self.bias_regularizer),
            "activity_regularizer": regularizers.serialize(self.activity_regularizer),
            "kernel_constraint": constraints.serialize(self.kernel_constraint),
            "bias_constraint": constraints.serialize(self.bias_constraint),
            "implementation": self.implementation,
        }
        return {**super().get_config(), **config}


@keras_export("keras.layers.LocallyConnected1D")
class LocallyConnected1D(_LocallyConnected):
    """Conv1D with a kernel for each step."""

    def __init__(self, filters, kernel_size, *args, **kwargs):
        super().__init__(1, filters, kernel_size, *args, **kwargs)


@keras_export("keras.layers.LocallyConnected2D")
class LocallyConnected2D(_LocallyConnected):
    """Conv2D with a kernel for each place."""

    def __init__(self, filters, kernel_size, *args, **kwargs):
        super().__init__(2, filters, kernel_size, *args, **kwargs)
