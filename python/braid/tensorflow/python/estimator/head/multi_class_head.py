"""MultiClassHead."""

from braid.tensorflow.python.estimator.head.base_head import MultiClassHead  # noqa: F401
