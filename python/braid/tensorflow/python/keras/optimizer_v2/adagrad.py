"""Adagrad."""

from braid.tensorflow.python.keras.optimizer_v2.others import Adagrad  # noqa: F401
