"""VGG19."""

# flake8: noqa
from braid.tensorflow.python.keras.applications.vgg16 import (
    VGG19,
    decode_predictions,
    preprocess_input,
)
