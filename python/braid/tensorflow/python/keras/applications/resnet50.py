"""ResNet50."""

from braid.tensorflow.python.keras.applications.resnet import (
    ResNet50,
    decode_predictions,
    preprocess_input,
)  # noqa: F401
