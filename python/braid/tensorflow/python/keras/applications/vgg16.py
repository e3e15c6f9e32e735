"""VGG16 and VGG19 (Simonyan & Zisserman 2015, arXiv:1409.1556)."""

from braid.tensorflow.python.keras import layers
from braid.tensorflow.python.keras.applications import imagenet_utils
from braid.tensorflow.python.keras.engine.training import Model
from braid.tensorflow.python.util.tf_export import keras_export

decode_predictions = imagenet_utils.decode_predictions
preprocess_input = imagenet_utils.preprocess_input
keras_export(
    "keras.applications.vgg16.decode_predictions", "keras.applications.vgg19.decode_predictions"
).export_constant(__name__, "decode_predictions")
keras_export(
    "keras.applications.vgg16.preprocess_input", "keras.applications.vgg19.preprocess_input"
).export_constant(__name__, "preprocess_input")


def _vgg(name, depths, include_top, weights, input_tensor, input_shape, pooling, classes):
    imagenet_utils.check(weights, include_top, classes)
    x = img_input = imagenet_utils.input_of(input_tensor, input_shape, 224, include_top, weights)
    for block, (depth, filters) in enumerate(zip(depths, (64, 128, 256, 512, 512)), 1):
        for i in range(1, depth + 1):
            x = layers.Conv2D(
                filters, (3, 3), activation="relu", padding="same", name=f"block{block}_conv{i}"
            )(x)
        x = layers.MaxPooling2D((2, 2), strides=(2, 2), name=f"block{block}_pool")(x)
    if include_top:
        x = layers.Flatten(name="flatten")(x)
        x = layers.Dense(4096, activation="relu", name="fc1")(x)
        x = layers.Dense(4096, activation="relu", name="fc2")(x)
        x = layers.Dense(classes, activation="softmax", name="predictions")(x)
    elif pooling == "avg":
        x = layers.GlobalAveragePooling2D()(x)
    elif pooling == "max":
        x = layers.GlobalMaxPooling2D()(x)
    model = Model(imagenet_utils.inputs_of(img_input, input_tensor), x, name=name)
    return imagenet_utils.load(model, weights, name, include_top)


@keras_export("keras.applications.vgg16.VGG16", "keras.applications.VGG16")
def VGG16(
    include_top=True,
    weights="imagenet",
    input_tensor=None,
    input_shape=None,
    pooling=None,
    classes=1000,
    **kwargs,
):
    """VGG16. weights: None, "imagenet" from ~/.keras/models, or a file."""
    return _vgg("vgg16", (2, 2, 3, 3, 3), include_top, weights, input_tensor, input_shape, pooling, classes)


@keras_export("keras.applications.vgg19.VGG19", "keras.applications.VGG19")
def VGG19(
    include_top=True,
    weights="imagenet",
    input_tensor=None,
    input_shape=None,
    pooling=None,
    classes=1000,
    **kwargs,
):
    """VGG19. weights: None, "imagenet" from ~/.keras/models, or a file."""
    return _vgg("vgg19", (2, 2, 4, 4, 4), include_top, weights, input_tensor, input_shape, pooling, classes)
