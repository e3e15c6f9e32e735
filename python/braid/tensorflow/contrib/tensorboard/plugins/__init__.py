"""Plugins of TensorBoard."""

from braid.tensorflow.contrib.tensorboard.plugins import projector  # noqa: F401
