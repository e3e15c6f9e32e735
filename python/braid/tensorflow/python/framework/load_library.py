"""Loading libraries with ops of a program's own, which Braid does not have."""

import errno
import os

from braid.tensorflow.python.framework import errors_impl
from braid.tensorflow.python.util.tf_export import tf_export

_WAY = "an op for Braid is a C file (ARCHITECTURE.md), and tf.py_func calls a function in Python"


def _check_there(library):
    """NotFoundError of a library that the system would not find: programs that can do without it catch this."""
    library = os.fsdecode(library)
    places = [""] if os.sep in library else os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    if not any(os.path.exists(os.path.join(place, library)) for place in places):
        message = f"{library}: cannot open shared object file: No such file or directory"
        raise errors_impl.NotFoundError(None, None, message)


@tf_export("load_op_library")
def load_op_library(library_filename):
    _check_there(library_filename)
    raise NotImplementedError(f"{library_filename}: tf.load_op_library is not in Braid; {_WAY}")


@tf_export("load_library")
def load_library(library_location):
    if not os.path.exists(library_location):
        message = "The file or folder to load kernel libraries from does not exist."
        raise OSError(errno.ENOENT, message, library_location)
    raise NotImplementedError(f"{library_location}: tf.load_library is not in Braid; {_WAY}")


@tf_export(v1=["load_file_system_library"])
def load_file_system_library(library_filename):
    _check_there(library_filename)
    raise NotImplementedError(f"{library_filename}: tf.load_file_system_library is not in Braid")
