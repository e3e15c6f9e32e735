"""MobileNetV2 (Sandler et al. 2018, arXiv:1801.04381)."""

from braid.tensorflow.python.keras import layers
from braid.tensorflow.python.keras.applications import imagenet_utils
from braid.tensorflow.python.keras.engine.training import Model
from braid.tensorflow.python.keras.utils.data_utils import get_file
from braid.tensorflow.python.util.tf_export import keras_export

decode_predictions = imagenet_utils.decode_predictions
keras_export("keras.applications.mobilenet_v2.decode_predictions").export_constant(
    __name__, "decode_predictions"
)


@keras_export("keras.applications.mobilenet_v2.preprocess_input")
def preprocess_input(x, **kwargs):
    """Images of 0 .. 255 as -1 .. 1."""
    return imagenet_utils.preprocess_input(x, mode="tf", **kwargs)


def _divisible(value, by=8):
    """The nearest multiple that is not more than a tenth below."""
    near = max(by, int(value + by / 2) // by * by)
    return near + by if near < 0.9 * value else near


def _normalized(x, name):
    return layers.BatchNormalization(axis=-1, epsilon=1e-3, momentum=0.999, name=name)(x)


def _padding(x):
    """What ZeroPadding2D adds before a convolution of 3 x 3 in steps of 2."""
    return tuple((1 - (1 - n.value % 2 if n.value is not None else 1), 1) for n in x.shape[1:3])


def _block(inputs, filters, alpha, stride, expansion, number):
    """A narrow convolution behind a wide one, beside the inputs where the sizes are the same."""
    channels = inputs.shape[3].value
    filters = _divisible(int(filters * alpha))
    x, prefix = inputs, f"block_{number}_" if number else "expanded_conv_"
    if number:
        x = layers.Conv2D(expansion * channels, 1, padding="same", use_bias=False, name=prefix + "expand")(x)
        x = layers.ReLU(6.0, name=prefix + "expand_relu")(_normalized(x, prefix + "expand_BN"))
    if stride == 2:
        x = layers.ZeroPadding2D(padding=_padding(x), name=prefix + "pad")(x)
    x = layers.DepthwiseConv2D(
        3,
        strides=stride,
        use_bias=False,
        padding="same" if stride == 1 else "valid",
        name=prefix + "depthwise",
    )(x)
    x = layers.ReLU(6.0, name=prefix + "depthwise_relu")(_normalized(x, prefix + "depthwise_BN"))
    x = layers.Conv2D(filters, 1, padding="same", use_bias=False, name=prefix + "project")(x)
    x = _normalized(x, prefix + "project_BN")
    return layers.Add(name=prefix + "add")([inputs, x]) if channels == filters and stride == 1 else x


@keras_export("keras.applications.mobilenet_v2.MobileNetV2", "keras.applications.MobileNetV2")
def MobileNetV2(
    input_shape=None,
    alpha=1.0,
    include_top=True,
    weights="imagenet",
    input_tensor=None,
    pooling=None,
    classes=1000,
    **kwargs,
):
    """MobileNetV2. alpha: the width. weights: None, "imagenet" from ~/.keras/models, or a file."""
    imagenet_utils.check(weights, include_top, classes)
    size = 224 if input_shape is None or input_shape[0] is None else input_shape[0]
    default = size if weights == "imagenet" else 224
    img_input = imagenet_utils.input_of(input_tensor, input_shape, default, include_top, weights)
    x = layers.ZeroPadding2D(padding=_padding(img_input), name="Conv1_pad")(img_input)
    x = layers.Conv2D(
        _divisible(32 * alpha), 3, strides=(2, 2), padding="valid", use_bias=False, name="Conv1"
    )(x)
    x = layers.ReLU(6.0, name="Conv1_relu")(_normalized(x, "bn_Conv1"))
    number = 0
    for filters, count, stride in (
        (16, 1, 1),
        (24, 2, 2),
        (32, 3, 2),
        (64, 4, 2),
        (96, 3, 1),
        (160, 3, 2),
        (320, 1, 1),
    ):
        for i in range(count):
            x = _block(x, filters, alpha, stride if i == 0 else 1, 6 if number else 1, number)
            number += 1
    last = _divisible(1280 * alpha) if alpha > 1.0 else 1280
    x = layers.Conv2D(last, 1, use_bias=False, name="Conv_1")(x)
    x = layers.ReLU(6.0, name="out_relu")(_normalized(x, "Conv_1_bn"))
    if include_top:
        x = layers.GlobalAveragePooling2D()(x)
        x = layers.Dense(classes, activation="softmax", use_bias=True, name="Logits")(x)
    elif pooling == "avg":
        x = layers.GlobalAveragePooling2D()(x)
    elif pooling == "max":
        x = layers.GlobalMaxPooling2D()(x)
    inputs = imagenet_utils.inputs_of(img_input, input_tensor)
    model = Model(inputs, x, name=f"mobilenetv2_{alpha:0.2f}_{size}")
    if weights == "imagenet":
        file = f"mobilenet_v2_weights_tf_dim_ordering_tf_kernels_{alpha}_{size}{'' if include_top else '_no_top'}.h5"
        origin = "https://github.com/JonathanCMitchell/mobilenet_v2_keras/releases/download/v1.1/" + file
        weights = get_file(file, origin, cache_subdir="models")
    if weights is not None:
        model.load_weights(weights)
    return model
