"""TensorFlow's messages (GraphDef, ConfigProto, Summary, ...) as classes of protobuf.

They are made at run time from descriptors, in a pool of their own: a TensorFlow in the same process has
messages of the same names, and code that protoc generates binds to one version of protobuf.
"""

import importlib
import pathlib
import sys

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ModuleNotFoundError as e:
    raise ModuleNotFoundError(
        f"Braid needs the package protobuf, which {sys.executable} does not have: pip install protobuf (Debian: "
        "python3-protobuf)",
        name=e.name,
    ) from None

_FILE = pathlib.Path(__file__).with_name("protos.binpb")


pool = descriptor_pool.DescriptorPool()
files = []  # the names of the .proto files
for _file in descriptor_pb2.FileDescriptorSet.FromString(_FILE.read_bytes()).file:
    pool.AddSerializedFile(_file.SerializeToString())
    files.append(_file.name)


if hasattr(message_factory, "GetMessageClass"):  # protobuf 4.22 and later
    _make_class = message_factory.GetMessageClass
else:
    _make_class = message_factory.MessageFactory(pool).GetPrototype


def _module_of(descriptor):
    """The module that has the message: braid.message_modules makes it."""
    return "braid." + descriptor.file.name.removesuffix(".proto").replace("/", ".") + "_pb2"


def _reduce(self):
    """How a message is pickled. protobuf's looks the classes of inner messages up in a pool that has not these."""
    return type(self), (), self.__getstate__()


def _class_of(descriptor):
    made = _make_class(descriptor)
    made.__module__ = _module_of(descriptor)  # classes are pickled as names of their modules
    made.__qualname__ = descriptor.full_name.removeprefix(descriptor.file.package + ".")
    if descriptor.containing_type is not None:
        made.__reduce__ = _reduce
    for inner in descriptor.nested_types:  # not every implementation of protobuf has them: Summary.Value
        if not inner.GetOptions().map_entry:
            setattr(made, inner.name, _class_of(inner))
    return made


def message(name):
    """The class of a message by its full name, as "tensorflow.GraphDef".

    KeyError: there is no such message.
    """
    return _class_of(pool.FindMessageTypeByName(name))


def __getattr__(name):
    try:
        descriptor = pool.FindMessageTypeByName(f"tensorflow.{name}")
    except KeyError:
        raise AttributeError(f"TensorFlow has no message {name} that Braid knows") from None
    made = globals()[name] = getattr(importlib.import_module(_module_of(descriptor)), name)
    return made
