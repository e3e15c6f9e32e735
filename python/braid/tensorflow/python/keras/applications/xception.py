"""Xception (Chollet 2017, arXiv:1610.02357)."""

from braid.tensorflow.python.keras import layers
from braid.tensorflow.python.keras.applications import imagenet_utils
from braid.tensorflow.python.util.tf_export import keras_export

decode_predictions = imagenet_utils.decode_predictions
keras_export("keras.applications.xception.decode_predictions").export_constant(__name__, "decode_predictions")


@keras_export("keras.applications.xception.preprocess_input")
def preprocess_input(x, **kwargs):
    """Images of 0 .. 255 as -1 .. 1."""
    return imagenet_utils.preprocess_input(x, mode="tf", **kwargs)


def _normalized(x, name=None):
    return layers.BatchNormalization(axis=-1, name=name)(x)


def _separable(x, filters, block, number, activation=None):
    """A separable convolution behind an activation, which has the number of the one given."""
    if activation is not None:
        x = layers.Activation("relu", name=f"{block}_sepconv{activation}_act")(x)
    name = f"{block}_sepconv{number}"
    x = layers.SeparableConv2D(filters, (3, 3), padding="same", use_bias=False, name=name)(x)
    return _normalized(x, name + "_bn")


@keras_export("keras.applications.xception.Xception", "keras.applications.Xception")
def Xception(
    include_top=True,
    weights="imagenet",
    input_tensor=None,
    input_shape=None,
    pooling=None,
    classes=1000,
    **kwargs,
):
    """Xception. weights: None, "imagenet" from ~/.keras/models, or a file."""
    imagenet_utils.check(weights, include_top, classes)
    img_input = imagenet_utils.input_of(input_tensor, input_shape, 299, include_top, weights)
    x = layers.Conv2D(32, (3, 3), strides=(2, 2), use_bias=False, name="block1_conv1")(img_input)
    x = layers.Activation("relu", name="block1_conv1_act")(_normalized(x, "block1_conv1_bn"))
    x = layers.Conv2D(64, (3, 3), use_bias=False, name="block1_conv2")(x)
    x = layers.Activation("relu", name="block1_conv2_act")(_normalized(x, "block1_conv2_bn"))
    for number, (first, second) in ((2, (128, 128)), (3, (256, 256)), (4, (728, 728)), (13, (728, 1024))):
        if number == 13:
            for middle in range(5, 13):
                before = x
                for i in (1, 2, 3):
                    x = _separable(x, 728, f"block{middle}", i, i)
                x = layers.add([x, before])
        short = layers.Conv2D(second, (1, 1), strides=(2, 2), padding="same", use_bias=False)(x)
        short = _normalized(short)
        block = f"block{number}"
        x = _separable(x, first, block, 1, None if number == 2 else 1)
        x = _separable(x, second, block, 2, 2)
        x = layers.MaxPooling2D((3, 3), strides=(2, 2), padding="same", name=block + "_pool")(x)
        x = layers.add([x, short])
    for number, filters in ((1, 1536), (2, 2048)):
        x = _separable(x, filters, "block14", number)
        x = layers.Activation("relu", name=f"block14_sepconv{number}_act")(x)
    if include_top or pooling is None:
        x = imagenet_utils.classify(x, include_top, None, classes, "predictions")
    else:
        x = (layers.GlobalAveragePooling2D if pooling == "avg" else layers.GlobalMaxPooling2D)()(x)
    return imagenet_utils.model_of(img_input, x, input_tensor, "xception", weights, include_top)
