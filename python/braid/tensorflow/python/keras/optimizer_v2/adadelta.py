"""Adadelta."""

from braid.tensorflow.python.keras.optimizer_v2.others import Adadelta  # noqa: F401
