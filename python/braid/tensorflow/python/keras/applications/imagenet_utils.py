"""What the models of images share."""

import json

import numpy as np

from braid.tensorflow.python.keras import backend
from braid.tensorflow.python.keras.engine.input_layer import Input
from braid.tensorflow.python.keras.utils import layer_utils
from braid.tensorflow.python.keras.utils.data_utils import get_file
from braid.tensorflow.python.util.tf_export import keras_export

_INDEX = "https://storage.googleapis.com/download.tensorflow.org/data/imagenet_class_index.json"
_classes = []


@keras_export("keras.applications.imagenet_utils.preprocess_input")
def preprocess_input(x, data_format=None, mode="caffe", **kwargs):
    """Images of 0 .. 255 as a model takes them.

    mode: "caffe" for blue, green, red without their means; "tf" for -1 .. 1; "torch" for normalized channels.
    """
    if (data_format or backend.image_data_format()) != "channels_last":
        raise NotImplementedError("preprocess_input(data_format='channels_first')")
    if isinstance(x, np.ndarray):
        x = x.astype(backend.floatx(), copy=False)
    constant = (lambda v: np.array(v, backend.floatx())) if isinstance(x, np.ndarray) else backend.constant
    if mode == "tf":
        return x / 127.5 - 1.0
    if mode == "torch":
        return (x / 255.0 - constant([0.485, 0.456, 0.406])) / constant([0.229, 0.224, 0.225])
    if mode == "caffe":
        return x[..., ::-1] - constant([103.939, 116.779, 123.68])
    raise ValueError(f"Unknown mode {mode}")


@keras_export("keras.applications.imagenet_utils.decode_predictions")
def decode_predictions(preds, top=5, **kwargs):
    """For each image the `top` classes: (id, name, score). Names are in
    ~/.keras/models/imagenet_class_index.json."""
    if len(preds.shape) != 2 or preds.shape[1] != 1000:
        raise ValueError(
            "`decode_predictions` expects a batch of predictions (i.e. a 2D array of shape (samples, 1000)). "
            f"Found array with shape: {preds.shape}"
        )
    if not _classes:
        with open(
            get_file("imagenet_class_index.json", _INDEX, cache_subdir="models"), encoding="utf-8"
        ) as file:
            _classes.append(json.load(file))
    result = []
    for row in preds:
        best = row.argsort()[-top:][::-1]
        result.append([tuple(_classes[0][str(i)]) + (row[i],) for i in best])
    return result


def input_of(input_tensor, input_shape, size, include_top, weights):
    """The Input of a model of images [size, size, 3]."""
    if include_top and weights == "imagenet" and input_shape not in (None, (size, size, 3)):
        raise ValueError(
            f"When setting `include_top=True` and loading `imagenet` weights, `input_shape` should be "
            f"{(size, size, 3)}."
        )
    if input_shape is None:
        input_shape = (size, size, 3) if include_top else (None, None, 3)
    if input_tensor is None:
        return Input(shape=input_shape)
    return (
        input_tensor
        if backend.is_keras_tensor(input_tensor)
        else Input(tensor=input_tensor, shape=input_shape)
    )


def inputs_of(img_input, input_tensor):
    """What the model begins with."""
    if input_tensor is None:
        return img_input
    found = layer_utils.get_source_inputs(input_tensor)
    return found if hasattr(input_tensor, "_keras_history") else img_input


def load(model, weights, name, include_top):
    """Reads weights: a file's, or those of ImageNet from ~/.keras/models."""
    if weights is None:
        return model
    if weights == "imagenet":
        file = f"{name}_weights_tf_dim_ordering_tf_kernels{'' if include_top else '_notop'}.h5"
        weights = get_file(
            file, "https://storage.googleapis.com/tensorflow/keras-applications/", cache_subdir="models"
        )
    model.load_weights(weights)
    return model


def check(weights, include_top, classes):
    """ValueError for arguments that contradict each other."""
    import os

    if not (weights in ("imagenet", None) or os.path.exists(weights)):
        raise ValueError(
            "The `weights` argument should be either `None` (random initialization), `imagenet` "
            "(pre-training on ImageNet), or the path to the weights file to be loaded."
        )
    if weights == "imagenet" and include_top and classes != 1000:
        raise ValueError(
            'If using `weights` as `"imagenet"` with `include_top` as true, `classes` should be 1000'
        )


def classify(x, include_top, pooling, classes, name):
    """The end of a model: a layer of classes, or pooled features."""
    from braid.tensorflow.python.keras import layers

    if include_top:
        x = layers.GlobalAveragePooling2D(name="avg_pool")(x)
        return layers.Dense(classes, activation="softmax", name=name)(x)
    if pooling == "avg":
        return layers.GlobalAveragePooling2D(name="avg_pool")(x)
    if pooling == "max":
        return layers.GlobalMaxPooling2D(name="max_pool")(x)
    return x


def model_of(img_input, x, input_tensor, name, weights, include_top):
    """The model from the input to x, with weights."""
    from braid.tensorflow.python.keras.engine.training import Model

    return load(Model(inputs_of(img_input, input_tensor), x, name=name), weights, name, include_top)
