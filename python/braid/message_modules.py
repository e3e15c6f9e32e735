"""The modules of TensorFlow's messages: tensorflow.core.framework.graph_pb2 and so on.

There are no files: a finder makes a module of each .proto file that braid.protos knows, when it is imported.
"""

import importlib.machinery
import sys
import types

_PACKAGE = "braid."
_SUFFIX = "_pb2"


def _files():
    from braid import protos

    return protos.files


class _Finder:
    """Finds braid.tensorflow.X_pb2 for tensorflow/X.proto, and the packages above it that have no directory."""

    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if not fullname.startswith(_PACKAGE + "tensorflow."):
            return None
        place = fullname[len(_PACKAGE) :].replace(".", "/")
        if fullname.endswith(_SUFFIX):
            if place[: -len(_SUFFIX)] + ".proto" in _files():
                return importlib.machinery.ModuleSpec(fullname, cls)
        elif any(name.startswith(place + "/") for name in _files()):
            return importlib.machinery.ModuleSpec(fullname, cls, is_package=True)
        return None

    @staticmethod
    def create_module(spec):
        return types.ModuleType(spec.name)

    @staticmethod
    def exec_module(module):
        place = module.__name__[len(_PACKAGE) :].replace(".", "/")
        if module.__name__.endswith(_SUFFIX):
            _fill(module, place[: -len(_SUFFIX)] + ".proto")
        else:
            module.__doc__ = "TensorFlow's messages."


def _fill(module, name):
    """Gives a module what protoc would: the classes of messages, enums, and the enums' constants."""
    from google.protobuf.internal import enum_type_wrapper

    from braid import protos

    file = protos.pool.FindFileByName(name)
    module.__doc__ = f"The messages of {name}."
    module.DESCRIPTOR = file
    for message in file.message_types_by_name.values():
        setattr(module, message.name, protos.message(message.full_name))
    for enum in file.enum_types_by_name.values():
        setattr(module, enum.name, enum_type_wrapper.EnumTypeWrapper(enum))
        for value in enum.values:
            setattr(module, value.name, value.number)


def install():
    """Adds the finder behind the others."""
    if _Finder not in sys.meta_path:
        sys.meta_path.append(_Finder)
