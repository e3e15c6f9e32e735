"""VGG19."""

from braid.tensorflow.python.keras.applications.vgg16 import (
    VGG19,
    decode_predictions,
    preprocess_input,
)  # noqa: F401
