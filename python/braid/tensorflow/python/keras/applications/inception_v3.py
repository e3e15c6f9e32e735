"""Inception V3 (Szegedy et al. 2016, arXiv:1512.00567)."""

from braid.tensorflow.python.keras import layers
from braid.tensorflow.python.keras.applications import imagenet_utils
from braid.tensorflow.python.util.tf_export import keras_export

decode_predictions = imagenet_utils.decode_predictions
keras_export("keras.applications.inception_v3.decode_predictions").export_constant(
    __name__, "decode_predictions"
)


@keras_export("keras.applications.inception_v3.preprocess_input")
def preprocess_input(x, **kwargs):
    """Images of 0 .. 255 as -1 .. 1."""
    return imagenet_utils.preprocess_input(x, mode="tf", **kwargs)


def _conv(x, filters, rows, columns, padding="same", strides=(1, 1)):
    x = layers.Conv2D(filters, (rows, columns), strides=strides, padding=padding, use_bias=False)(x)
    x = layers.BatchNormalization(axis=3, scale=False)(x)
    return layers.Activation("relu")(x)


def _convs(x, *steps):
    """Convolutions one after another: (filters, rows, columns), with "valid" and strides of 2 for a fourth."""
    for filters, rows, columns, *halved in steps:
        x = _conv(x, filters, rows, columns, *(["valid", (2, 2)] if halved else []))
    return x


def _pooled(x, filters):
    x = layers.AveragePooling2D((3, 3), strides=(1, 1), padding="same")(x)
    return _conv(x, filters, 1, 1)


def _joined(branches, name=None):
    return layers.concatenate(branches, axis=3, name=name)


@keras_export("keras.applications.inception_v3.InceptionV3", "keras.applications.InceptionV3")
def InceptionV3(
    include_top=True,
    weights="imagenet",
    input_tensor=None,
    input_shape=None,
    pooling=None,
    classes=1000,
    **kwargs,
):
    """Inception V3. weights: None, "imagenet" from ~/.keras/models, or a file."""
    imagenet_utils.check(weights, include_top, classes)
    img_input = imagenet_utils.input_of(input_tensor, input_shape, 299, include_top, weights)
    x = _conv(img_input, 32, 3, 3, "valid", (2, 2))
    x = _conv(x, 32, 3, 3, "valid")
    x = _conv(x, 64, 3, 3)
    x = layers.MaxPooling2D((3, 3), strides=(2, 2))(x)
    x = _conv(x, 80, 1, 1, "valid")
    x = _conv(x, 192, 3, 3, "valid")
    x = layers.MaxPooling2D((3, 3), strides=(2, 2))(x)
    for number, pool in enumerate((32, 64, 64)):
        branches = [
            _conv(x, 64, 1, 1),
            _convs(x, (48, 1, 1), (64, 5, 5)),
            _convs(x, (64, 1, 1), (96, 3, 3), (96, 3, 3)),
            _pooled(x, pool),
        ]
        x = _joined(branches, f"mixed{number}")
    branches = [
        _convs(x, (384, 3, 3, True)),
        _convs(x, (64, 1, 1), (96, 3, 3), (96, 3, 3, True)),
        layers.MaxPooling2D((3, 3), strides=(2, 2))(x),
    ]
    x = _joined(branches, "mixed3")
    for number, n in enumerate((128, 160, 160, 192), 4):
        branches = [
            _conv(x, 192, 1, 1),
            _convs(x, (n, 1, 1), (n, 1, 7), (192, 7, 1)),
            _convs(x, (n, 1, 1), (n, 7, 1), (n, 1, 7), (n, 7, 1), (192, 1, 7)),
            _pooled(x, 192),
        ]
        x = _joined(branches, f"mixed{number}")
    branches = [
        _convs(x, (192, 1, 1), (320, 3, 3, True)),
        _convs(x, (192, 1, 1), (192, 1, 7), (192, 7, 1), (192, 3, 3, True)),
        layers.MaxPooling2D((3, 3), strides=(2, 2))(x),
    ]
    x = _joined(branches, "mixed8")
    for i in range(2):
        single = _conv(x, 320, 1, 1)
        short = _conv(x, 384, 1, 1)
        short = _joined([_conv(short, 384, 1, 3), _conv(short, 384, 3, 1)], f"mixed9_{i}")
        long = _convs(x, (448, 1, 1), (384, 3, 3))
        long = _joined([_conv(long, 384, 1, 3), _conv(long, 384, 3, 1)])
        x = _joined([single, short, long, _pooled(x, 192)], f"mixed{9 + i}")
    if include_top or pooling is None:
        x = imagenet_utils.classify(x, include_top, None, classes, "predictions")
    else:
        x = (layers.GlobalAveragePooling2D if pooling == "avg" else layers.GlobalMaxPooling2D)()(x)
    return imagenet_utils.model_of(img_input, x, input_tensor, "inception_v3", weights, include_top)
