"""Summaries for TensorBoard: ops that make them, and writers of event files.

`from tensorflow.python import summary` gives the names of the module `summary`, too.
"""

import importlib
import importlib.util


def __getattr__(name):
    if name.startswith("_") or importlib.util.find_spec(f"{__name__}.{name}") is not None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.summary"), name)
