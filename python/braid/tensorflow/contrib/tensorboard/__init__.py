"""What plugins of TensorBoard read (tf.contrib.tensorboard)."""

from braid.tensorflow.contrib.tensorboard import plugins  # noqa: F401
