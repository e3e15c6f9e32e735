"""TensorFlow's ops for Python.

In TensorFlow `from tensorflow.python import ops` gives the module framework.ops, and an import of a module
gives this package. Here it is the package for both, which has what framework.ops defines.
"""

from braid.tensorflow.python.framework import ops as _framework_ops
from braid.tensorflow.python.ops import gen_ops

gen_ops.install()


def __getattr__(name):
    value = vars(_framework_ops).get(name)
    if getattr(value, "__module__", None) != _framework_ops.__name__:  # what it imports is not meant
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return value
