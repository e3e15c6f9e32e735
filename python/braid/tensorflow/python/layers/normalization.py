"""tf.layers.batch_normalization."""


from braid.tensorflow.python.keras.layers import normalization as keras_layers
from braid.tensorflow.python.layers import base
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["layers.BatchNormalization"])
class BatchNormalization(keras_layers.BatchNormalization, base.Layer):
    """keras' BatchNormalization, whose updates of moving averages go to UPDATE_OPS."""

    def __init__(
        self,
        axis=-1,
        momentum=0.99,
        epsilon=1e-3,
        center=True,
        scale=True,
        beta_initializer=init_ops.zeros_initializer(),
        gamma_initializer=init_ops.ones_initializer(),
        moving_mean_initializer=init_ops.zeros_initializer(),
        moving_variance_initializer=init_ops.ones_initializer(),
        beta_regularizer=None,
        gamma_regularizer=None,
        beta_constraint=None,
        gamma_constraint=None,
        renorm=False,
        renorm_clipping=None,
        renorm_momentum=0.99,
        fused=None,
        trainable=True,
        virtual_batch_size=None,
        adjustment=None,
        name=None,
        **kwargs,
    ):
        super().__init__(**base.keywords(locals()))

    def call(self, inputs, training=False):
        return super().call(inputs, training=training)


@tf_export(v1=["layers.batch_normalization"])
def batch_normalization(
    inputs,
    axis=-1,
    momentum=0.99,
    epsilon=1e-3,
    center=True,
    scale=True,
    beta_initializer=init_ops.zeros_initializer(),
    gamma_initializer=init_ops.ones_initializer(),
    moving_mean_initializer=init_ops.zeros_initializer(),
    moving_variance_initializer=init_ops.ones_initializer(),
    beta_regularizer=None,
    gamma_regularizer=None,
    beta_constraint=None,
    gamma_constraint=None,
    training=False,
    trainable=True,
    name=None,
    reuse=None,
    renorm=False,
    renorm_clipping=None,
    renorm_momentum=0.99,
    fused=None,
    virtual_batch_size=None,
    adjustment=None,
):
    """BatchNormalization, applied. Its updates, in the collection UPDATE_OPS, must be run with each step of training."""
    return base.apply_layer(BatchNormalization, locals())


# Their names of before.
BatchNorm = BatchNormalization
batch_norm = batch_normalization
