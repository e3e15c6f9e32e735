"""MultiLabelHead."""

from braid.tensorflow.python.estimator.head.base_head import MultiLabelHead  # noqa: F401
