"""DenseNet121, 169 and 201 (Huang et al. 2017, arXiv:1608.06993)."""

from braid.tensorflow.python.keras import layers
from braid.tensorflow.python.keras.applications import imagenet_utils
from braid.tensorflow.python.util.tf_export import keras_export

decode_predictions = imagenet_utils.decode_predictions
keras_export("keras.applications.densenet.decode_predictions").export_constant(__name__, "decode_predictions")


@keras_export("keras.applications.densenet.preprocess_input")
def preprocess_input(x, **kwargs):
    """Images of 0 .. 255 as normalized channels."""
    return imagenet_utils.preprocess_input(x, mode="torch", **kwargs)


def _activated(x, name):
    x = layers.BatchNormalization(axis=3, epsilon=1.001e-5, name=name + "_bn")(x)
    return layers.Activation("relu", name=name + "_relu")(x)


def _dense_block(x, blocks, name):
    for i in range(1, blocks + 1):
        own = f"{name}_block{i}"
        y = _activated(x, own + "_0")
        y = layers.Conv2D(128, 1, use_bias=False, name=own + "_1_conv")(y)
        y = _activated(y, own + "_1")
        y = layers.Conv2D(32, 3, padding="same", use_bias=False, name=own + "_2_conv")(y)
        x = layers.Concatenate(axis=3, name=own + "_concat")([x, y])
    return x


def _transition(x, name):
    x = _activated(x, name)
    x = layers.Conv2D(x.shape[3].value // 2, 1, use_bias=False, name=name + "_conv")(x)
    return layers.AveragePooling2D(2, strides=2, name=name + "_pool")(x)


def _densenet(name, blocks, include_top, weights, input_tensor, input_shape, pooling, classes):
    imagenet_utils.check(weights, include_top, classes)
    img_input = imagenet_utils.input_of(input_tensor, input_shape, 224, include_top, weights)
    x = layers.ZeroPadding2D(padding=((3, 3), (3, 3)))(img_input)
    x = layers.Conv2D(64, 7, strides=2, use_bias=False, name="conv1/conv")(x)
    x = layers.BatchNormalization(axis=3, epsilon=1.001e-5, name="conv1/bn")(x)
    x = layers.Activation("relu", name="conv1/relu")(x)
    x = layers.ZeroPadding2D(padding=((1, 1), (1, 1)))(x)
    x = layers.MaxPooling2D(3, strides=2, name="pool1")(x)
    for stage, count in enumerate(blocks, 2):
        x = _dense_block(x, count, f"conv{stage}")
        if stage < 5:
            x = _transition(x, f"pool{stage}")
    x = layers.BatchNormalization(axis=3, epsilon=1.001e-5, name="bn")(x)
    x = layers.Activation("relu", name="relu")(x)
    x = imagenet_utils.classify(x, include_top, pooling, classes, "fc1000")
    return imagenet_utils.model_of(img_input, x, input_tensor, name, weights, include_top)


@keras_export("keras.applications.densenet.DenseNet121", "keras.applications.DenseNet121")
def DenseNet121(
    include_top=True,
    weights="imagenet",
    input_tensor=None,
    input_shape=None,
    pooling=None,
    classes=1000,
    **kwargs,
):
    """DenseNet121. weights: None, "imagenet" from ~/.keras/models, or a file."""
    return _densenet(
        "densenet121", (6, 12, 24, 16), include_top, weights, input_tensor, input_shape, pooling, classes
    )


@keras_export("keras.applications.densenet.DenseNet169", "keras.applications.DenseNet169")
def DenseNet169(
    include_top=True,
    weights="imagenet",
    input_tensor=None,
    input_shape=None,
    pooling=None,
    classes=1000,
    **kwargs,
):
    """DenseNet169. weights: None, "imagenet" from ~/.keras/models, or a file."""
    return _densenet(
        "densenet169", (6, 12, 32, 32), include_top, weights, input_tensor, input_shape, pooling, classes
    )


@keras_export("keras.applications.densenet.DenseNet201", "keras.applications.DenseNet201")
def DenseNet201(
    include_top=True,
    weights="imagenet",
    input_tensor=None,
    input_shape=None,
    pooling=None,
    classes=1000,
    **kwargs,
):
    """DenseNet201. weights: None, "imagenet" from ~/.keras/models, or a file."""
    return _densenet(
        "densenet201", (6, 12, 48, 32), include_top, weights, input_tensor, input_shape, pooling, classes
    )
