"""Adamax."""

from braid.tensorflow.python.keras.optimizer_v2.others import Adamax  # noqa: F401
