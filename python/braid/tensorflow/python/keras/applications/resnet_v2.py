"""ResNet50, 101 and 152 with activations before convolutions (He et al. 2016, arXiv:1603.05027)."""

from braid.tensorflow.python.keras import layers
from braid.tensorflow.python.keras.applications import imagenet_utils
from braid.tensorflow.python.util.tf_export import keras_export

decode_predictions = imagenet_utils.decode_predictions
keras_export("keras.applications.resnet_v2.decode_predictions").export_constant(
    __name__, "decode_predictions"
)


@keras_export("keras.applications.resnet_v2.preprocess_input")
def preprocess_input(x, **kwargs):
    """Images of 0 .. 255 as -1 .. 1."""
    return imagenet_utils.preprocess_input(x, mode="tf", **kwargs)


def _normalized(x, name):
    return layers.BatchNormalization(axis=3, epsilon=1.001e-5, name=name + "_bn")(x)


def _block(x, filters, stride, shortcut, name):
    """Three convolutions beside a shortcut, which is one, too, where sizes change."""
    before = layers.Activation("relu", name=name + "_preact_relu")(_normalized(x, name + "_preact"))
    if shortcut:
        short = layers.Conv2D(4 * filters, 1, strides=stride, name=name + "_0_conv")(before)
    else:
        short = layers.MaxPooling2D(1, strides=stride)(x) if stride > 1 else x
    x = layers.Conv2D(filters, 1, strides=1, use_bias=False, name=name + "_1_conv")(before)
    x = layers.Activation("relu", name=name + "_1_relu")(_normalized(x, name + "_1"))
    x = layers.ZeroPadding2D(padding=((1, 1), (1, 1)), name=name + "_2_pad")(x)
    x = layers.Conv2D(filters, 3, strides=stride, use_bias=False, name=name + "_2_conv")(x)
    x = layers.Activation("relu", name=name + "_2_relu")(_normalized(x, name + "_2"))
    x = layers.Conv2D(4 * filters, 1, name=name + "_3_conv")(x)
    return layers.Add(name=name + "_out")([short, x])


def _resnet(name, depths, include_top, weights, input_tensor, input_shape, pooling, classes):
    imagenet_utils.check(weights, include_top, classes)
    img_input = imagenet_utils.input_of(input_tensor, input_shape, 224, include_top, weights)
    x = layers.ZeroPadding2D(padding=((3, 3), (3, 3)), name="conv1_pad")(img_input)
    x = layers.Conv2D(64, 7, strides=2, use_bias=True, name="conv1_conv")(x)
    x = layers.ZeroPadding2D(padding=((1, 1), (1, 1)), name="pool1_pad")(x)
    x = layers.MaxPooling2D(3, strides=2, name="pool1_pool")(x)
    for stage, (depth, filters) in enumerate(zip(depths, (64, 128, 256, 512)), 2):
        for i in range(1, depth + 1):
            stride = 2 if i == depth and stage < 5 else 1
            x = _block(x, filters, stride, i == 1, f"conv{stage}_block{i}")
    x = layers.Activation("relu", name="post_relu")(_normalized(x, "post"))
    x = imagenet_utils.classify(x, include_top, pooling, classes, "probs")
    return imagenet_utils.model_of(img_input, x, input_tensor, name, weights, include_top)


@keras_export("keras.applications.resnet_v2.ResNet50V2", "keras.applications.ResNet50V2")
def ResNet50V2(
    include_top=True,
    weights="imagenet",
    input_tensor=None,
    input_shape=None,
    pooling=None,
    classes=1000,
    **kwargs,
):
    """ResNet50V2. weights: None, "imagenet" from ~/.keras/models, or a file."""
    return _resnet(
        "resnet50v2", (3, 4, 6, 3), include_top, weights, input_tensor, input_shape, pooling, classes
    )


@keras_export("keras.applications.resnet_v2.ResNet101V2", "keras.applications.ResNet101V2")
def ResNet101V2(
    include_top=True,
    weights="imagenet",
    input_tensor=None,
    input_shape=None,
    pooling=None,
    classes=1000,
    **kwargs,
):
    """ResNet101V2. weights: None, "imagenet" from ~/.keras/models, or a file."""
    return _resnet(
        "resnet101v2", (3, 4, 23, 3), include_top, weights, input_tensor, input_shape, pooling, classes
    )


@keras_export("keras.applications.resnet_v2.ResNet152V2", "keras.applications.ResNet152V2")
def ResNet152V2(
    include_top=True,
    weights="imagenet",
    input_tensor=None,
    input_shape=None,
    pooling=None,
    classes=1000,
    **kwargs,
):
    """ResNet152V2. weights: None, "imagenet" from ~/.keras/models, or a file."""
    return _resnet(
        "resnet152v2", (3, 8, 36, 3), include_top, weights, input_tensor, input_shape, pooling, classes
    )
