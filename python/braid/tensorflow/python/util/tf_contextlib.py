"""contextlib.contextmanager whose functions show their signature to tf_inspect."""

import contextlib

from braid.tensorflow.python.util import tf_decorator


def contextmanager(target):
    """As contextlib.contextmanager."""
    return tf_decorator.make_decorator(target, contextlib.contextmanager(target), "contextmanager")
