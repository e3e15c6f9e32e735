"""RMSprop."""

from braid.tensorflow.python.keras.optimizer_v2.others import RMSprop  # noqa: F401
