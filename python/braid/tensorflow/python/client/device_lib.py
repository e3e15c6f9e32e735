"""The devices of this process."""

from braid.tensorflow.core.framework import device_attributes_pb2
from braid.tensorflow.python.client import session
from braid.tensorflow.python.framework import ops


def list_local_devices(session_config=None):
    """The DeviceAttributes of the devices that a session here has. session_config: a ConfigProto."""
    with session.Session(graph=ops.Graph(), config=session_config) as sess:
        devices = sess.list_devices()
    return [
        device_attributes_pb2.DeviceAttributes(
            name="/" + device.name.rpartition("/")[2],
            device_type=device.device_type,
            memory_limit=device.memory_limit_bytes,
            incarnation=device.incarnation,
        )
        for device in devices
    ]
