"""The TensorBoard callback of TensorFlow 1."""

from braid.tensorflow.python.keras.callbacks import TensorBoard  # noqa: F401
