"""Modules of TensorFlow for TPUs alone. Programs import them at their head and use them with use_tpu=True.

Their names are found, and say that there are no TPUs when they are called.
"""

import sys

from braid.tensorflow import missing

_TEXT = "there are no TPUs. Braid has no such devices; use_tpu=False"


def refused(full):
    return missing.refused(full, _TEXT)


class _Module(missing.RefusingModule):
    def text(self):
        return _TEXT


def add_modules(package, names):
    """Puts modules into a package."""
    for name in names:
        full = f"{package}.{name}"
        if full not in sys.modules:
            sys.modules[full] = _Module(full, __doc__)
            setattr(sys.modules[package], name, sys.modules[full])


MODULES = (
    "async_checkpoint",
    "bfloat16",
    "datasets",
    "device_assignment",
    "error_handling",
    "feature_column",
    "functional",
    "session_support",
    "tensor_tracer",
    "topology",
    "tpu",
    "tpu_context",
    "tpu_embedding",
    "tpu_embedding_gradient",
    "tpu_feed",
    "tpu_sharding",
    "tpu_strategy_util",
    "tpu_system_metadata",
    "training_loop",
    "util",
)
