"""Tensors that stay in a session between steps, by handles."""

from braid.tensorflow.python.framework import device as pydev
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_data_flow_ops
from braid.tensorflow.python.util import compat
from braid.tensorflow.python.util.tf_export import tf_export


class TensorHandle:
    """What fetching a get_session_handle() gives. The tensor goes when the handle does."""

    def __init__(self, handle, dtype, session):
        self._handle = compat.as_str_any(handle)
        self._dtype = dtype
        self._session = session
        self._owns = True

    def __del__(self):
        if self._owns:
            self._session._dead_handles.append(self._handle)

    def __str__(self):
        return self._handle

    @property
    def handle(self):
        """The name of the tensor, to be fed."""
        return self._handle

    def _check(self):
        if not self._owns:
            raise TypeError(f"Persistent tensor {self._handle} may have already been deleted.")

    def eval(self):
        """The tensor's value."""
        self._check()
        with self._session.graph.as_default():
            holder, tensor = _node("get", self._handle, self._dtype)
        return self._session.run(tensor, {holder: self._handle})

    def delete(self):
        """Frees the tensor."""
        self._check()
        self._owns = False
        _delete(self._session, [self._handle])

    def get_raw_handle(self):
        """The name of the tensor, which from now on stays until it is deleted."""
        self._owns = False
        return self._handle


def _device_of(handle):
    return pydev.canonical_name(compat.as_str_any(handle).split(";")[-1])


def _make(what, handle, dtype, name=None):
    """(the placeholder of the handle, what reads or deletes the tensor), on the handle's device."""
    with ops.device(_device_of(handle)):
        holder = array_ops.placeholder(dtypes.string)
        if what == "get":
            return holder, gen_data_flow_ops.get_session_tensor(holder, dtype, name=name)
        return holder, gen_data_flow_ops.delete_session_tensor(holder, name=name)


def _node(what, handle, dtype):
    """As _make, once for each device and type in a graph."""
    nodes = ops.get_default_graph()._session_handle_nodes
    case = (what, _device_of(handle), dtype)
    if case not in nodes:
        nodes[case] = _make(what, handle, dtype)
    return nodes[case]


def _delete(session, handles):
    """Frees the tensors of handles."""
    for handle in handles:
        with session.graph.as_default():
            holder, deleter = _node("delete", handle, None)
        session.run(deleter, {holder: handle})


@tf_export(v1=["get_session_handle"])
def get_session_handle(data, name=None):
    """A tensor whose value, fetched, is a TensorHandle of `data`."""
    if not isinstance(data, ops.Tensor):
        raise TypeError("`data` must be of type Tensor.")
    with ops.colocate_with(data):
        handle = gen_data_flow_ops.get_session_handle(data, name=name)
    handle.graph._session_handles[handle] = data.dtype.base_dtype
    return handle


@tf_export(v1=["get_session_tensor"])
def get_session_tensor(handle, dtype, name=None):
    """(a placeholder to feed with a handle, the tensor of that handle). handle: one on the same device."""
    return _make("get", handle, dtype, name)


@tf_export(v1=["delete_session_tensor"])
def delete_session_tensor(handle, name=None):
    """(a placeholder to feed with a handle, the operation that frees its tensor)."""
    return _make("delete", handle, None, name)
