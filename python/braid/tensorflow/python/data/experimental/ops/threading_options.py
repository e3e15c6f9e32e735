"""ThreadingOptions."""

from braid.tensorflow.python.data.ops.dataset_ops import ThreadingOptions  # noqa: F401
