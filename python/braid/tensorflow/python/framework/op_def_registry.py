"""The definitions of all ops."""

from braid import _native, protos
from braid.tensorflow.python.framework import op_def_library


def get_registered_ops():
    """OpDefs by name."""
    return {op.name: op for op in protos.OpList.FromString(_native.op_def_list()).op}


def get(name):
    return op_def_library.op_def_or_none(name)


def register_op_list(op_list):
    """Nothing to do: the engine has its ops."""
