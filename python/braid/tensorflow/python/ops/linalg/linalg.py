"""Linear algebra (tf.linalg)."""

import importlib
import re

from braid.tensorflow.python.ops.linalg import linalg_impl


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name.startswith("LinearOperator"):
        module = re.sub(r"(?<!^)(?=[A-Z])", "_", re.sub(r"[23]D$", "", name)).lower()
        module = module.replace("scaled_identity", "identity")
        return getattr(importlib.import_module(f"braid.tensorflow.python.ops.linalg.{module}"), name)
    return getattr(linalg_impl, name)
