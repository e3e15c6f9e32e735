"""Inception-ResNet v2 (Szegedy et al. 2017, arXiv:1602.07261)."""

from braid.tensorflow.python.keras import layers
from braid.tensorflow.python.keras.applications import imagenet_utils
from braid.tensorflow.python.util.tf_export import keras_export

decode_predictions = imagenet_utils.decode_predictions
keras_export("keras.applications.inception_resnet_v2.decode_predictions").export_constant(
    __name__, "decode_predictions"
)


@keras_export("keras.applications.inception_resnet_v2.preprocess_input")
def preprocess_input(x, **kwargs):
    """Images of 0 .. 255 as -1 .. 1."""
    return imagenet_utils.preprocess_input(x, mode="tf", **kwargs)


def _conv(x, filters, size, strides=1, padding="same", name=None):
    x = layers.Conv2D(filters, size, strides=strides, padding=padding, use_bias=False, name=name)(x)
    x = layers.BatchNormalization(axis=3, scale=False, name=name and name + "_bn")(x)
    return layers.Activation("relu", name=name and name + "_ac")(x)


def _convs(x, *steps):
    """Convolutions one after another: (filters, size), with "valid" and strides of 2 for a third."""
    for filters, size, *halved in steps:
        x = _conv(x, filters, size, *([2, "valid"] if halved else []))
    return x


def _halved(x, name, *branches):
    """Branches that end with strides of 2, beside a maximum."""
    ends = [_convs(x, *steps) for steps in branches]
    ends.append(layers.MaxPooling2D(3, strides=2, padding="valid")(x))
    return layers.Concatenate(axis=3, name=name)(ends)


def _scaled_sum(inputs, scale):
    return inputs[0] + inputs[1] * scale


def _residual(x, scale, name, branches, activation="relu"):
    """x and, scaled, what branches make of it."""
    ends = [_convs(x, *steps) for steps in branches]
    mixed = layers.Concatenate(axis=3, name=name + "_mixed")(ends)
    channels = x.shape.as_list()[3]
    up = layers.Conv2D(channels, 1, padding="same", name=name + "_conv")(mixed)
    x = layers.Lambda(_scaled_sum, arguments={"scale": scale}, name=name)([x, up])
    return x if activation is None else layers.Activation(activation, name=name + "_ac")(x)


_BLOCK35 = [[(32, 1)], [(32, 1), (32, 3)], [(32, 1), (48, 3), (64, 3)]]
_BLOCK17 = [[(192, 1)], [(128, 1), (160, (1, 7)), (192, (7, 1))]]
_BLOCK8 = [[(192, 1)], [(192, 1), (224, (1, 3)), (256, (3, 1))]]


@keras_export(
    "keras.applications.inception_resnet_v2.InceptionResNetV2", "keras.applications.InceptionResNetV2"
)
def InceptionResNetV2(
    include_top=True,
    weights="imagenet",
    input_tensor=None,
    input_shape=None,
    pooling=None,
    classes=1000,
    **kwargs,
):
    """Inception-ResNet v2. weights: None, "imagenet" from ~/.keras/models, or a file."""
    imagenet_utils.check(weights, include_top, classes)
    img_input = imagenet_utils.input_of(input_tensor, input_shape, 299, include_top, weights)
    x = _conv(img_input, 32, 3, 2, "valid")
    x = _conv(x, 32, 3, padding="valid")
    x = _conv(x, 64, 3)
    x = layers.MaxPooling2D(3, strides=2)(x)
    x = _conv(x, 80, 1, padding="valid")
    x = _conv(x, 192, 3, padding="valid")
    x = layers.MaxPooling2D(3, strides=2)(x)
    ends = [_convs(x, *s) for s in ([(96, 1)], [(48, 1), (64, 5)], [(64, 1), (96, 3), (96, 3)])]
    ends.append(_conv(layers.AveragePooling2D(3, strides=1, padding="same")(x), 64, 1))
    x = layers.Concatenate(axis=3, name="mixed_5b")(ends)
    for i in range(1, 11):
        x = _residual(x, 0.17, f"block35_{i}", _BLOCK35)
    x = _halved(x, "mixed_6a", [(384, 3, True)], [(256, 1), (256, 3), (384, 3, True)])
    for i in range(1, 21):
        x = _residual(x, 0.1, f"block17_{i}", _BLOCK17)
    x = _halved(
        x,
        "mixed_7a",
        [(256, 1), (384, 3, True)],
        [(256, 1), (288, 3, True)],
        [(256, 1), (288, 3), (320, 3, True)],
    )
    for i in range(1, 10):
        x = _residual(x, 0.2, f"block8_{i}", _BLOCK8)
    x = _residual(x, 1.0, "block8_10", _BLOCK8, activation=None)
    x = _conv(x, 1536, 1, name="conv_7b")
    if include_top or pooling is None:
        x = imagenet_utils.classify(x, include_top, None, classes, "predictions")
    else:
        x = (layers.GlobalAveragePooling2D if pooling == "avg" else layers.GlobalMaxPooling2D)()(x)
    return imagenet_utils.model_of(img_input, x, input_tensor, "inception_resnet_v2", weights, include_top)
