"""RegressionHead."""

from braid.tensorflow.python.estimator.head.base_head import RegressionHead  # noqa: F401
