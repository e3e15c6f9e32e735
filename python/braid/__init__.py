"""Braid: distributed TensorFlow, implemented anew in C. This is its interface for Python."""

from braid._native import version as _version

__version__ = _version()
