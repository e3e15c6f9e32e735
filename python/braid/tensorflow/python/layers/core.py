"""tf.layers.dense, dropout and flatten."""


from braid.tensorflow.python.keras.layers import core as keras_layers
from braid.tensorflow.python.layers import base
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["layers.Dense"])
class Dense(keras_layers.Dense, base.Layer):
    """activation(inputs [..., n] * kernel [n, units] + bias [units])."""

    def __init__(
        self,
        units,
        activation=None,
        use_bias=True,
        kernel_initializer=None,
        bias_initializer=init_ops.zeros_initializer(),
        kernel_regularizer=None,
        bias_regularizer=None,
        activity_regularizer=None,
        kernel_constraint=None,
        bias_constraint=None,
        trainable=True,
        name=None,
        **kwargs,
    ):
        super().__init__(**base.keywords(locals()))


@tf_export(v1=["layers.dense"])
def dense(
    inputs,
    units,
    activation=None,
    use_bias=True,
    kernel_initializer=None,
    bias_initializer=init_ops.zeros_initializer(),
    kernel_regularizer=None,
    bias_regularizer=None,
    activity_regularizer=None,
    kernel_constraint=None,
    bias_constraint=None,
    trainable=True,
    name=None,
    reuse=None,
):
    """Dense, applied: activation(inputs * kernel + bias), with new weights or, with `reuse`, those of `name`."""
    return base.apply_layer(Dense, locals())


@tf_export(v1=["layers.Dropout"])
class Dropout(keras_layers.Dropout, base.Layer):
    """In training, a part `rate` of the inputs set to 0 and the others scaled to the same mean."""

    def __init__(self, rate=0.5, noise_shape=None, seed=None, name=None, **kwargs):
        super().__init__(**base.keywords(locals()))

    def call(self, inputs, training=False):
        return super().call(inputs, training=training)


@tf_export(v1=["layers.dropout"])
def dropout(inputs, rate=0.5, noise_shape=None, seed=None, training=False, name=None):
    """Dropout, applied. `training` is a bool or a tensor."""
    return base.apply_layer(Dropout, locals())


@tf_export(v1=["layers.Flatten"])
class Flatten(keras_layers.Flatten, base.Layer):
    """[batch, ...] as [batch, all the rest]."""

    def __init__(self, data_format=None, **kwargs):
        super().__init__(**base.keywords(locals()))


@tf_export(v1=["layers.flatten"])
def flatten(inputs, name=None, data_format="channels_last"):
    """Flatten, applied."""
    return base.apply_layer(Flatten, locals())


# Their names of before.
FullyConnected = Dense
fully_connected = dense
