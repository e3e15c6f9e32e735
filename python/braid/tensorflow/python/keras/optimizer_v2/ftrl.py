"""Ftrl."""

from braid.tensorflow.python.keras.optimizer_v2.others import Ftrl  # noqa: F401
