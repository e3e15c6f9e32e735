"""Braid: distributed TensorFlow, implemented anew in C. This is its interface for Python.

    python3 -m braid train.py   runs a program that imports tensorflow with Braid in its place
    import braid.tensorflow     TensorFlow 1's interface under Braid's own name
"""

from braid import message_modules as _message_modules
from braid._native import version as _version

__version__ = _version()

_message_modules.install()


def install():
    """Has `import tensorflow` find Braid in this process, as `python3 -m braid` does.

    See braid.as_tensorflow.
    """
    from braid import as_tensorflow  # noqa: F401
