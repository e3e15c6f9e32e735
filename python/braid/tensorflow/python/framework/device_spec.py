"""Names of devices: they are in framework/device.py."""

from braid.tensorflow.python.framework.device import DeviceSpec, DeviceSpecV1, DeviceSpecV2
