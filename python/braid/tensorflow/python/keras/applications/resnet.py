"""ResNet50, 101 and 152 (He et al. 2016, arXiv:1512.03385)."""

from braid.tensorflow.python.keras import layers
from braid.tensorflow.python.keras.applications import imagenet_utils
from braid.tensorflow.python.keras.engine.training import Model
from braid.tensorflow.python.util.tf_export import keras_export

decode_predictions = imagenet_utils.decode_predictions
preprocess_input = imagenet_utils.preprocess_input
keras_export(
    "keras.applications.resnet.decode_predictions", "keras.applications.resnet50.decode_predictions"
).export_constant(__name__, "decode_predictions")
keras_export(
    "keras.applications.resnet.preprocess_input", "keras.applications.resnet50.preprocess_input"
).export_constant(__name__, "preprocess_input")

_EPSILON = 1.001e-5


def _normalized(x, name):
    return layers.BatchNormalization(axis=3, epsilon=_EPSILON, name=name + "_bn")(x)


def _block(x, filters, stride, shortcut, name):
    """Three convolutions beside a shortcut, which is one, too, where sizes change."""
    if shortcut:
        short = layers.Conv2D(4 * filters, 1, strides=stride, name=name + "_0_conv")(x)
        short = _normalized(short, name + "_0")
    else:
        short = x
    x = layers.Conv2D(filters, 1, strides=stride, name=name + "_1_conv")(x)
    x = layers.Activation("relu", name=name + "_1_relu")(_normalized(x, name + "_1"))
    x = layers.Conv2D(filters, 3, padding="SAME", name=name + "_2_conv")(x)
    x = layers.Activation("relu", name=name + "_2_relu")(_normalized(x, name + "_2"))
    x = _normalized(layers.Conv2D(4 * filters, 1, name=name + "_3_conv")(x), name + "_3")
    x = layers.Add(name=name + "_add")([short, x])
    return layers.Activation("relu", name=name + "_out")(x)


def _resnet(name, depths, include_top, weights, input_tensor, input_shape, pooling, classes):
    imagenet_utils.check(weights, include_top, classes)
    img_input = imagenet_utils.input_of(input_tensor, input_shape, 224, include_top, weights)
    x = layers.ZeroPadding2D(padding=((3, 3), (3, 3)), name="conv1_pad")(img_input)
    x = layers.Conv2D(64, 7, strides=2, name="conv1_conv")(x)
    x = layers.Activation("relu", name="conv1_relu")(_normalized(x, "conv1"))
    x = layers.ZeroPadding2D(padding=((1, 1), (1, 1)), name="pool1_pad")(x)
    x = layers.MaxPooling2D(3, strides=2, name="pool1_pool")(x)
    for stage, (depth, filters) in enumerate(zip(depths, (64, 128, 256, 512)), 2):
        for i in range(1, depth + 1):
            stride = 2 if i == 1 and stage > 2 else 1
            x = _block(x, filters, stride, i == 1, f"conv{stage}_block{i}")
    if include_top:
        x = layers.GlobalAveragePooling2D(name="avg_pool")(x)
        x = layers.Dense(classes, activation="softmax", name="probs")(x)
    elif pooling == "avg":
        x = layers.GlobalAveragePooling2D(name="avg_pool")(x)
    elif pooling == "max":
        x = layers.GlobalMaxPooling2D(name="max_pool")(x)
    model = Model(imagenet_utils.inputs_of(img_input, input_tensor), x, name=name)
    return imagenet_utils.load(model, weights, name, include_top)


@keras_export(
    "keras.applications.resnet50.ResNet50",
    "keras.applications.resnet.ResNet50",
    "keras.applications.ResNet50",
)
def ResNet50(
    include_top=True,
    weights="imagenet",
    input_tensor=None,
    input_shape=None,
    pooling=None,
    classes=1000,
    **kwargs,
):
    """ResNet50. weights: None, "imagenet" from ~/.keras/models, or a file."""
    return _resnet(
        "resnet50", (3, 4, 6, 3), include_top, weights, input_tensor, input_shape, pooling, classes
    )


@keras_export("keras.applications.resnet.ResNet101", "keras.applications.ResNet101")
def ResNet101(
    include_top=True,
    weights="imagenet",
    input_tensor=None,
    input_shape=None,
    pooling=None,
    classes=1000,
    **kwargs,
):
    """ResNet101. weights: None, "imagenet" from ~/.keras/models, or a file."""
    return _resnet(
        "resnet101", (3, 4, 23, 3), include_top, weights, input_tensor, input_shape, pooling, classes
    )


@keras_export("keras.applications.resnet.ResNet152", "keras.applications.ResNet152")
def ResNet152(
    include_top=True,
    weights="imagenet",
    input_tensor=None,
    input_shape=None,
    pooling=None,
    classes=1000,
    **kwargs,
):
    """ResNet152. weights: None, "imagenet" from ~/.keras/models, or a file."""
    return _resnet(
        "resnet152", (3, 8, 36, 3), include_top, weights, input_tensor, input_shape, pooling, classes
    )
