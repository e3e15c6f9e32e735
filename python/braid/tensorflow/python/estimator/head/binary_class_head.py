"""BinaryClassHead."""

from braid.tensorflow.python.estimator.head.base_head import BinaryClassHead  # noqa: F401
