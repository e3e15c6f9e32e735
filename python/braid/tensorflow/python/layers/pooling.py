"""tf.layers.max_pooling2d and its kind."""


from braid.tensorflow.python.keras.layers import pooling as keras_layers
from braid.tensorflow.python.layers import base
from braid.tensorflow.python.util.tf_export import tf_export


def _check(strides):
    if strides is None:
        raise ValueError("Argument `strides` must not be None.")


@tf_export(v1=["layers.AveragePooling1D"])
class AveragePooling1D(keras_layers.AveragePooling1D, base.Layer):
    """The mean of each window of one axis."""

    def __init__(self, pool_size, strides, padding="valid", data_format="channels_last", name=None, **kwargs):
        _check(strides)
        super().__init__(**base.keywords(locals()))


@tf_export(v1=["layers.average_pooling1d"])
def average_pooling1d(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None):
    """AveragePooling1D, applied."""
    return base.apply_layer(AveragePooling1D, locals())


@tf_export(v1=["layers.AveragePooling2D"])
class AveragePooling2D(keras_layers.AveragePooling2D, base.Layer):
    """The mean of each window of two axes."""

    def __init__(self, pool_size, strides, padding="valid", data_format="channels_last", name=None, **kwargs):
        _check(strides)
        super().__init__(**base.keywords(locals()))


@tf_export(v1=["layers.average_pooling2d"])
def average_pooling2d(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None):
    """AveragePooling2D, applied."""
    return base.apply_layer(AveragePooling2D, locals())


@tf_export(v1=["layers.AveragePooling3D"])
class AveragePooling3D(keras_layers.AveragePooling3D, base.Layer):
    """The mean of each window of three axes."""

    def __init__(self, pool_size, strides, padding="valid", data_format="channels_last", name=None, **kwargs):
        _check(strides)
        super().__init__(**base.keywords(locals()))


@tf_export(v1=["layers.average_pooling3d"])
def average_pooling3d(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None):
    """AveragePooling3D, applied."""
    return base.apply_layer(AveragePooling3D, locals())


@tf_export(v1=["layers.MaxPooling1D"])
class MaxPooling1D(keras_layers.MaxPooling1D, base.Layer):
    """The largest of each window of one axis."""

    def __init__(self, pool_size, strides, padding="valid", data_format="channels_last", name=None, **kwargs):
        _check(strides)
        super().__init__(**base.keywords(locals()))


@tf_export(v1=["layers.max_pooling1d"])
def max_pooling1d(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None):
    """MaxPooling1D, applied."""
    return base.apply_layer(MaxPooling1D, locals())


@tf_export(v1=["layers.MaxPooling2D"])
class MaxPooling2D(keras_layers.MaxPooling2D, base.Layer):
    """The largest of each window of two axes."""

    def __init__(self, pool_size, strides, padding="valid", data_format="channels_last", name=None, **kwargs):
        _check(strides)
        super().__init__(**base.keywords(locals()))


@tf_export(v1=["layers.max_pooling2d"])
def max_pooling2d(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None):
    """MaxPooling2D, applied."""
    return base.apply_layer(MaxPooling2D, locals())


@tf_export(v1=["layers.MaxPooling3D"])
class MaxPooling3D(keras_layers.MaxPooling3D, base.Layer):
    """The largest of each window of three axes."""

    def __init__(self, pool_size, strides, padding="valid", data_format="channels_last", name=None, **kwargs):
        _check(strides)
        super().__init__(**base.keywords(locals()))


@tf_export(v1=["layers.max_pooling3d"])
def max_pooling3d(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None):
    """MaxPooling3D, applied."""
    return base.apply_layer(MaxPooling3D, locals())


# Their names of before.
MaxPool2D = MaxPooling2D
max_pool2d = max_pooling2d
AvgPool2D = AveragePooling2D
avg_pool2d = average_pooling2d
