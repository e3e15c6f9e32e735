"""Convolutions whose kernel is another one at each place."""

import numpy as np

from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras import activations
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras import constraints
from braid.tensorflow.python.keras import initializers
from braid.tensorflow.python.keras import regularizers
from braid.tensorflow.python.keras.engine.base_layer import Layer
from braid.tensorflow.python.keras.engine.input_spec import InputSpec
from braid.tensorflow.python.keras.utils import conv_utils
from braid.tensorflow.python.keras.utils import generic_utils
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import sparse_ops
from braid.tensorflow.python.util.tf_export import keras_export


class _LocallyConnected(Layer):
    """The base. The bias is [places..., filters].

    implementation: 1 multiplies each window with its kernel, [places, values of a window, filters]; 2 the
    whole input with a matrix of which a mask hides what is not connected; 3 with a sparse matrix.
    """

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
        self.rank, self.filters = rank, filters
        self.kernel_size = conv_utils.normalize_tuple(kernel_size, rank, "kernel_size")
        self.strides = conv_utils.normalize_tuple(strides, rank, "strides")
        self.padding, self.implementation = conv_utils.normalize_padding(padding), implementation
        if self.padding != "valid" and implementation == 1:
            raise ValueError(
                f'Invalid border mode for {type(self).__name__} (only "valid" is supported if implementation is '
                f"1): {padding}"
            )
        self.data_format = conv_utils.normalize_data_format(data_format)
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.input_spec = InputSpec(ndim=rank + 2)

    def _split(self, input_shape):
        """(channels, lengths of the other axes) of the inputs."""
        sizes = tensor_shape.TensorShape(input_shape).as_list()[1:]
        channels, sizes = (
            (sizes[0], sizes[1:]) if self.data_format == "channels_first" else (sizes[-1], sizes[:-1])
        )
        return channels, tuple(sizes)

    def _joined(self, sizes, channels):
        first = self.data_format == "channels_first"
        return (channels,) + tuple(sizes) if first else tuple(sizes) + (channels,)

    def build(self, input_shape):
        channels, sizes = self._split(input_shape)
        if None in sizes:
            raise ValueError(
                f"The spatial dimensions of the inputs to a {type(self).__name__} layer should be fully "
                f"defined, but layer received the inputs shape {input_shape}"
            )
        geometry = (sizes, self.kernel_size, self.strides, self.padding)
        self._sizes = conv_utils.conv_output_shape(*geometry)
        if self.implementation == 1:
            shape = (int(np.prod(self._sizes)), int(np.prod(self.kernel_size)) * channels, self.filters)
        elif self.implementation == 2:
            shape = self._joined(sizes, channels) + self._joined(self._sizes, self.filters)
            self.kernel_mask = get_locallyconnected_mask(*geometry, self.data_format)
        elif self.implementation == 3:
            self.kernel_shape = (
                int(np.prod(self._sizes)) * self.filters,
                int(np.prod(sizes)) * channels,
            )
            self.kernel_idxs = sorted(
                conv_utils.conv_kernel_idxs(*geometry, channels, self.filters, self.data_format)
            )
            shape = (len(self.kernel_idxs),)
        else:
            raise ValueError(f"Unrecognized implementation mode: {self.implementation}.")
        self.kernel = self.add_weight(
            shape=shape,
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
        axis = 1 if self.data_format == "channels_first" else -1
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={axis: channels})
        self.built = True

    def compute_output_shape(self, input_shape):
        batch = tensor_shape.TensorShape(input_shape)[0]
        _, sizes = self._split(input_shape)
        lengths = [
            conv_utils.conv_output_length(*v, self.padding, s)
            for *v, s in zip(sizes, self.kernel_size, self.strides)
        ]
        return tensor_shape.TensorShape([batch] + list(self._joined(lengths, self.filters)))

    def call(self, inputs):
        shape = self._joined(self._sizes, self.filters)
        if self.implementation == 1:
            result = K.local_conv(
                inputs, self.kernel, self.kernel_size, self.strides, tuple(self._sizes), self.data_format
            )
        else:
            rows = array_ops.reshape(inputs, [-1, int(np.prod(inputs.shape.as_list()[1:]))])
            if self.implementation == 2:
                kernel = array_ops.reshape(self.kernel_mask * self.kernel, [rows.shape[1].value, -1])
                result = math_ops.matmul(rows, kernel)
            else:
                kernel = sparse_tensor.SparseTensor(
                    np.asarray(self.kernel_idxs, np.int64), self.kernel, self.kernel_shape
                )
                result = array_ops.transpose(
                    sparse_ops.sparse_tensor_dense_matmul(kernel, rows, adjoint_b=True)
                )
            result = array_ops.reshape(result, (-1,) + shape)
        if self.use_bias:
            result = K.bias_add(result, self.bias, data_format=self.data_format)
        return self.activation(result)

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

    @generic_utils.shows_parameters(_LocallyConnected)
    def __init__(self, filters, kernel_size, *args, **kwargs):
        super().__init__(1, filters, kernel_size, *args, **kwargs)


@keras_export("keras.layers.LocallyConnected2D")
class LocallyConnected2D(_LocallyConnected):
    """Conv2D with a kernel for each place."""

    @generic_utils.shows_parameters(_LocallyConnected, strides=(1, 1))
    def __init__(self, filters, kernel_size, *args, **kwargs):
        super().__init__(2, filters, kernel_size, *args, **kwargs)


def get_locallyconnected_mask(input_shape, kernel_shape, strides, padding, data_format):
    """Which values a convolution connects: [inputs, outputs] with axes of size 1 for channels."""
    mask = conv_utils.conv_kernel_mask(input_shape, kernel_shape, strides, padding)
    rank = mask.ndim // 2
    if data_format == "channels_first":
        mask = np.expand_dims(np.expand_dims(mask, 0), -rank - 1)
    elif data_format == "channels_last":
        mask = np.expand_dims(np.expand_dims(mask, rank), -1)
    else:
        raise ValueError(f"Unrecognized data_format: {data_format}")
    return mask.astype(np.float32)
