"""MultiHead."""

from braid.tensorflow.python.estimator.head.base_head import MultiHead  # noqa: F401
