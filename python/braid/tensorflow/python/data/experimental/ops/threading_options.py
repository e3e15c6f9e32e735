"""ThreadingOptions."""

from braid.tensorflow.python.data.ops.dataset_options import ThreadingOptions  # noqa: F401
