"""Loading libraries with ops of a program's own, which Braid does not have."""

from braid.tensorflow.python.util.tf_export import tf_export

_WAY = "an op for Braid is a C file (ARCHITECTURE.md), and tf.py_func calls a function in Python"


@tf_export("load_op_library")
def load_op_library(library_filename):
    raise NotImplementedError(f"{library_filename}: tf.load_op_library is not in Braid; {_WAY}")


@tf_export("load_library")
def load_library(library_location):
    raise NotImplementedError(f"{library_location}: tf.load_library is not in Braid; {_WAY}")


@tf_export(v1=["load_file_system_library"])
def load_file_system_library(library_filename):
    raise NotImplementedError(f"{library_filename}: tf.load_file_system_library is not in Braid")
