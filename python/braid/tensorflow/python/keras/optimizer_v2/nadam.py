"""Nadam."""

from braid.tensorflow.python.keras.optimizer_v2.others import Nadam  # noqa: F401
