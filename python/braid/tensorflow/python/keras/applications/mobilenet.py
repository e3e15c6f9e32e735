"""MobileNet (Howard et al. 2017, arXiv:1704.04861)."""

from braid.tensorflow.python.keras import layers
from braid.tensorflow.python.keras.applications import imagenet_utils
from braid.tensorflow.python.keras.engine.training import Model
from braid.tensorflow.python.util.tf_export import keras_export

decode_predictions = imagenet_utils.decode_predictions
keras_export("keras.applications.mobilenet.decode_predictions").export_constant(
    __name__, "decode_predictions"
)


@keras_export("keras.applications.mobilenet.preprocess_input")
def preprocess_input(x, **kwargs):
    """Images of 0 .. 255 as -1 .. 1."""
    return imagenet_utils.preprocess_input(x, mode="tf", **kwargs)


def _conv_block(x, filters, alpha, strides):
    x = layers.ZeroPadding2D(padding=((0, 1), (0, 1)), name="conv1_pad")(x)
    x = layers.Conv2D(
        int(filters * alpha), (3, 3), padding="valid", use_bias=False, strides=strides, name="conv1"
    )(x)
    x = layers.BatchNormalization(axis=-1, name="conv1_bn")(x)
    return layers.ReLU(6.0, name="conv1_relu")(x)


def _depthwise_block(x, filters, alpha, depth_multiplier, strides, number):
    if strides != (1, 1):
        x = layers.ZeroPadding2D(((0, 1), (0, 1)), name=f"conv_pad_{number}")(x)
    x = layers.DepthwiseConv2D(
        (3, 3),
        padding="same" if strides == (1, 1) else "valid",
        depth_multiplier=depth_multiplier,
        strides=strides,
        use_bias=False,
        name=f"conv_dw_{number}",
    )(x)
    x = layers.BatchNormalization(axis=-1, name=f"conv_dw_{number}_bn")(x)
    x = layers.ReLU(6.0, name=f"conv_dw_{number}_relu")(x)
    x = layers.Conv2D(
        int(filters * alpha), (1, 1), padding="same", use_bias=False, strides=(1, 1), name=f"conv_pw_{number}"
    )(x)
    x = layers.BatchNormalization(axis=-1, name=f"conv_pw_{number}_bn")(x)
    return layers.ReLU(6.0, name=f"conv_pw_{number}_relu")(x)


@keras_export("keras.applications.mobilenet.MobileNet", "keras.applications.MobileNet")
def MobileNet(
    input_shape=None,
    alpha=1.0,
    depth_multiplier=1,
    dropout=1e-3,
    include_top=True,
    weights="imagenet",
    input_tensor=None,
    pooling=None,
    classes=1000,
    **kwargs,
):
    """MobileNet. alpha: the width. weights: None, or a file."""
    imagenet_utils.check(weights, include_top, classes)
    if weights == "imagenet":
        raise NotImplementedError("MobileNet(weights='imagenet'): give the path of a file")
    img_input = imagenet_utils.input_of(input_tensor, input_shape, 224, include_top, weights)
    x = _conv_block(img_input, 32, alpha, strides=(2, 2))
    plan = (
        [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + [(1024, 2), (1024, 1)]
    )
    for number, (filters, stride) in enumerate(plan, 1):
        x = _depthwise_block(x, filters, alpha, depth_multiplier, (stride, stride), number)
    if include_top:
        x = layers.GlobalAveragePooling2D()(x)
        x = layers.Reshape((1, 1, int(1024 * alpha)), name="reshape_1")(x)
        x = layers.Dropout(dropout, name="dropout")(x)
        x = layers.Conv2D(classes, (1, 1), padding="same", name="conv_preds")(x)
        x = layers.Reshape((classes,), name="reshape_2")(x)
        x = layers.Activation("softmax", name="act_softmax")(x)
    elif pooling == "avg":
        x = layers.GlobalAveragePooling2D()(x)
    elif pooling == "max":
        x = layers.GlobalMaxPooling2D()(x)
    size = 224 if input_shape is None else input_shape[0]
    model = Model(imagenet_utils.inputs_of(img_input, input_tensor), x, name=f"mobilenet_{alpha:0.2f}_{size}")
    if weights is not None:
        model.load_weights(weights)
    return model
