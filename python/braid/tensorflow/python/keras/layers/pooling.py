"""Pooling over windows, for keras and for tf.layers, and over everything."""

from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras.engine.base_layer import Layer
from braid.tensorflow.python.keras.engine.input_spec import InputSpec
from braid.tensorflow.python.keras.utils import conv_utils
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.util.tf_export import keras_export


class _Pooling(Layer):
    """What pools of every rank share. `pool_function` is an op of values, ksize, strides, padding and layout."""

    _rank = None

    def __init__(
        self,
        pool_function,
        pool_size,
        strides,
        padding="valid",
        data_format=None,
        name=None,
        **kwargs,
    ):
        super().__init__(name=name, **kwargs)
        self.pool_function = pool_function
        self.pool_size = conv_utils.normalize_tuple(pool_size, self._rank, "pool_size")
        self.strides = conv_utils.normalize_tuple(
            pool_size if strides is None else strides, self._rank, "strides"
        )
        self.padding = conv_utils.normalize_padding(padding)
        self.data_format = conv_utils.normalize_data_format(data_format)
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def _windows(self, sizes):
        """The sizes with 1 for the batch and the channels."""
        if self.data_format == "channels_last":
            return (1,) + sizes + (1,)
        return (1, 1) + sizes

    def call(self, inputs):
        return self.pool_function(
            inputs,
            ksize=self._windows(self.pool_size),
            strides=self._windows(self.strides),
            padding=self.padding.upper(),
            data_format=conv_utils.convert_data_format(self.data_format, self._rank + 2),
        )

    def compute_output_shape(self, input_shape):
        sizes = tensor_shape.TensorShape(input_shape).as_list()
        first = 1 if self.data_format == "channels_last" else 2
        for axis in range(self._rank):
            sizes[first + axis] = conv_utils.conv_output_length(
                sizes[first + axis], self.pool_size[axis], self.padding, self.strides[axis]
            )
        return tensor_shape.TensorShape(sizes)

    def get_config(self):
        config = {
            "strides": self.strides,
            "pool_size": self.pool_size,
            "padding": self.padding,
            "data_format": self.data_format,
        }
        return {**super().get_config(), **config}


class Pooling1D(_Pooling):
    """Pooling of [batch, steps, channels], done on images one high."""

    _rank = 1

    def call(self, inputs):
        axis = 2 if self.data_format == "channels_last" else 3
        outputs = self.pool_function(
            array_ops.expand_dims(inputs, axis),
            ksize=self._windows(self.pool_size + (1,)),
            strides=self._windows(self.strides + (1,)),
            padding=self.padding.upper(),
            data_format=conv_utils.convert_data_format(self.data_format, 4),
        )
        return array_ops.squeeze(outputs, axis)


class Pooling2D(_Pooling):
    _rank = 2


class Pooling3D(_Pooling):
    _rank = 3

    def call(self, inputs):
        if self.data_format == "channels_first":
            # The kernels know one layout.
            inputs = array_ops.transpose(inputs, (0, 2, 3, 4, 1))
        outputs = self.pool_function(
            inputs, (1,) + self.pool_size + (1,), (1,) + self.strides + (1,), padding=self.padding.upper()
        )
        if self.data_format == "channels_first":
            outputs = array_ops.transpose(outputs, (0, 4, 1, 2, 3))
        return outputs


@keras_export("keras.layers.MaxPool1D", "keras.layers.MaxPooling1D")
class MaxPooling1D(Pooling1D):
    def __init__(self, pool_size=2, strides=None, padding="valid", data_format="channels_last", **kwargs):
        super().__init__(nn_ops.max_pool, pool_size, strides, padding, data_format, **kwargs)


@keras_export("keras.layers.AveragePooling1D", "keras.layers.AvgPool1D")
class AveragePooling1D(Pooling1D):
    def __init__(self, pool_size=2, strides=None, padding="valid", data_format="channels_last", **kwargs):
        super().__init__(nn_ops.avg_pool, pool_size, strides, padding, data_format, **kwargs)


@keras_export("keras.layers.MaxPool2D", "keras.layers.MaxPooling2D")
class MaxPooling2D(Pooling2D):
    def __init__(self, pool_size=(2, 2), strides=None, padding="valid", data_format=None, **kwargs):
        super().__init__(nn_ops.max_pool, pool_size, strides, padding, data_format, **kwargs)


@keras_export("keras.layers.AveragePooling2D", "keras.layers.AvgPool2D")
class AveragePooling2D(Pooling2D):
    def __init__(self, pool_size=(2, 2), strides=None, padding="valid", data_format=None, **kwargs):
        super().__init__(nn_ops.avg_pool, pool_size, strides, padding, data_format, **kwargs)


@keras_export("keras.layers.MaxPool3D", "keras.layers.MaxPooling3D")
class MaxPooling3D(Pooling3D):
    def __init__(self, pool_size=(2, 2, 2), strides=None, padding="valid", data_format=None, **kwargs):
        super().__init__(nn_ops.max_pool3d, pool_size, strides, padding, data_format, **kwargs)


@keras_export("keras.layers.AveragePooling3D", "keras.layers.AvgPool3D")
class AveragePooling3D(Pooling3D):
    def __init__(self, pool_size=(2, 2, 2), strides=None, padding="valid", data_format=None, **kwargs):
        super().__init__(nn_ops.avg_pool3d, pool_size, strides, padding, data_format, **kwargs)


class _GlobalPooling(Layer):
    """A reduction of all axes but the batch and the channels."""

    _rank = None
    _reduce = None

    def __init__(self, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.data_format = conv_utils.normalize_data_format(data_format)
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def call(self, inputs):
        first = 1 if self.data_format == "channels_last" else 2
        return type(self)._reduce(inputs, axis=list(range(first, first + self._rank)))

    def compute_output_shape(self, input_shape):
        sizes = tensor_shape.TensorShape(input_shape).as_list()
        return tensor_shape.TensorShape(
            [sizes[0], sizes[-1] if self.data_format == "channels_last" else sizes[1]]
        )

    def get_config(self):
        return {**super().get_config(), "data_format": self.data_format}


@keras_export("keras.layers.GlobalMaxPool1D", "keras.layers.GlobalMaxPooling1D")
class GlobalMaxPooling1D(_GlobalPooling):
    _rank, _reduce = 1, staticmethod(lambda x, axis: math_ops.reduce_max(x, axis=axis))

    def __init__(self, data_format="channels_last", **kwargs):
        super().__init__(data_format, **kwargs)


@keras_export("keras.layers.GlobalAveragePooling1D", "keras.layers.GlobalAvgPool1D")
class GlobalAveragePooling1D(_GlobalPooling):
    _rank, _reduce = 1, staticmethod(lambda x, axis: math_ops.reduce_mean(x, axis=axis))

    def __init__(self, data_format="channels_last", **kwargs):
        super().__init__(data_format, **kwargs)
        self.supports_masking = True

    def call(self, inputs, mask=None):
        if mask is None:
            return super().call(inputs)
        axis = 1 if self.data_format == "channels_last" else 2
        mask = array_ops.expand_dims(math_ops.cast(mask, inputs.dtype), 2 if axis == 1 else 1)
        return math_ops.reduce_sum(inputs * mask, axis=axis) / math_ops.reduce_sum(mask, axis=axis)

    def compute_mask(self, inputs, mask=None):
        return None


@keras_export("keras.layers.GlobalMaxPool2D", "keras.layers.GlobalMaxPooling2D")
class GlobalMaxPooling2D(_GlobalPooling):
    _rank, _reduce = 2, staticmethod(lambda x, axis: math_ops.reduce_max(x, axis=axis))


@keras_export("keras.layers.GlobalAveragePooling2D", "keras.layers.GlobalAvgPool2D")
class GlobalAveragePooling2D(_GlobalPooling):
    _rank, _reduce = 2, staticmethod(lambda x, axis: math_ops.reduce_mean(x, axis=axis))


@keras_export("keras.layers.GlobalMaxPool3D", "keras.layers.GlobalMaxPooling3D")
class GlobalMaxPooling3D(_GlobalPooling):
    _rank, _reduce = 3, staticmethod(lambda x, axis: math_ops.reduce_max(x, axis=axis))


@keras_export("keras.layers.GlobalAveragePooling3D", "keras.layers.GlobalAvgPool3D")
class GlobalAveragePooling3D(_GlobalPooling):
    _rank, _reduce = 3, staticmethod(lambda x, axis: math_ops.reduce_mean(x, axis=axis))


AvgPool1D, MaxPool1D = AveragePooling1D, MaxPooling1D
AvgPool2D, MaxPool2D = AveragePooling2D, MaxPooling2D
AvgPool3D, MaxPool3D = AveragePooling3D, MaxPooling3D
GlobalMaxPool1D, GlobalMaxPool2D, GlobalMaxPool3D = GlobalMaxPooling1D, GlobalMaxPooling2D, GlobalMaxPooling3D
GlobalAvgPool1D, GlobalAvgPool2D = GlobalAveragePooling1D, GlobalAveragePooling2D
GlobalAvgPool3D = GlobalAveragePooling3D
