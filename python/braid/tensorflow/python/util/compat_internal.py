"""Paths in any form."""

from braid.tensorflow.python.util.compat import path_to_str  # noqa: F401
