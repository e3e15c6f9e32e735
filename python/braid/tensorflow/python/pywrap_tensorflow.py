"""What programs take from TensorFlow's module of wrapped C++: readers of checkpoints, writers of events.

Braid's own extension module is braid._native.
"""

import socket
import sys
import time

from google.protobuf import message as protobuf_message

from braid import _native
from braid.tensorflow.core.framework import graph_pb2
from braid.tensorflow.core.util import event_pb2
from braid.tensorflow.python.framework import arrays, equal_graph_def
from braid.tensorflow.python.lib.io import tf_record
from braid.tensorflow.python.training.py_checkpoint_reader import CheckpointReader  # noqa: F401
from braid.tensorflow.python.training.py_checkpoint_reader import NewCheckpointReader  # noqa: F401
from braid.tensorflow.python.util import compat
from braid.tensorflow.python.util.tf_export import tf_export

pywrap_tensorflow = sys.modules[__name__]
tf_export(v1=["pywrap_tensorflow"]).export_constant(__name__, "pywrap_tensorflow")


class EventsWriter:
    """Writes Event messages to the file PREFIX.out.tfevents.SECONDS.HOST."""

    def __init__(self, file_prefix):
        host = socket.gethostname()
        self._path = "%s.out.tfevents.%010d.%s" % (compat.as_str_any(file_prefix), time.time(), host)
        self._writer = None

    def FileName(self):
        """The path, as bytes."""
        return compat.as_bytes(self._path)

    def WriteEvent(self, event):
        if not hasattr(event, "SerializeToString"):
            raise TypeError(f"Expected an event_pb2.Event proto, but got {event}")
        self._open()
        self._writer.write(event.SerializeToString())

    def _open(self):
        if self._writer is None:
            self._writer = tf_record.TFRecordWriter(self._path)
            first = event_pb2.Event(wall_time=time.time(), file_version="brain.Event:2")
            self._writer.write(first.SerializeToString())

    def InitWithSuffix(self, suffix):
        """Makes the file, whose name has this end."""
        self._path += compat.as_str_any(suffix)
        self._open()

    def Flush(self):
        """Hands all events to the system. True."""
        if self._writer is not None:
            self._writer.flush()
        return True

    def Close(self):
        """Ends the file. True."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        return True


def IsGoogleCudaEnabled():
    return False


def EqualGraphDefWrapper(actual, expected):
    """What differs in two serialized GraphDefs, as bytes; b"" if their nodes are the same."""
    parsed = []
    for name, serialized in (("actual", actual), ("expected", expected)):
        if not isinstance(serialized, bytes):
            raise TypeError(f"expected bytes, {type(serialized).__name__} found")
        try:
            parsed.append(graph_pb2.GraphDef.FromString(serialized))
        except protobuf_message.DecodeError:
            return compat.as_bytes(f"{name} is not a valid serialized GraphDef")
    return compat.as_bytes(equal_graph_def.difference(*parsed))


def TF_TryEvaluateConstant_wrapper(graph, output):
    """The value of Tensor._as_tf_output() as an array, None if only a run tells. graph is Graph._c_graph."""
    op, index = output
    value = op.constant(index)
    return None if value is None else arrays.view(value)


class _Buffer:
    """TF_Buffer: bytes of the library."""

    def __init__(self, data):
        self.data = data


def TF_GetAllOpList():
    """The definitions of all ops, a buffer with an OpList."""
    return _Buffer(_native.op_def_list())


def TF_GetBuffer(buf):
    """The bytes in a buffer."""
    return buf.data


def TF_DeleteBuffer(buf):
    """Gives its bytes up."""
    buf.data = b""


def __getattr__(name):
    raise AttributeError(
        f"pywrap_tensorflow.{name}: Braid has nothing of TensorFlow's C++; its public interface does the same"
    )
