"""ResNet50."""

# flake8: noqa
from braid.tensorflow.python.keras.applications.resnet import (
    ResNet50,
    decode_predictions,
    preprocess_input,
)
