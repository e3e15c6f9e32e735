"""Devices of the process (tf.config)."""

import collections
import os

from braid.tensorflow.python.util.tf_export import tf_export

PhysicalDevice = collections.namedtuple("PhysicalDevice", ["name", "device_type"])
LogicalDevice = collections.namedtuple("LogicalDevice", ["name", "device_type"])
tf_export("config.PhysicalDevice").export_constant(__name__, "PhysicalDevice")
tf_export("config.LogicalDevice").export_constant(__name__, "LogicalDevice")


@tf_export("config.experimental.list_physical_devices", "config.list_physical_devices")
def list_physical_devices(device_type=None):
    """The devices: one CPU, of all processors."""
    return [PhysicalDevice("/physical_device:CPU:0", "CPU")] if device_type in (None, "CPU") else []


@tf_export("config.experimental.list_logical_devices", "config.list_logical_devices")
def list_logical_devices(device_type=None):
    return [LogicalDevice("/device:CPU:0", "CPU")] if device_type in (None, "CPU") else []


@tf_export("config.experimental.get_visible_devices", "config.get_visible_devices")
def get_visible_devices(device_type=None):
    return list_physical_devices(device_type)


@tf_export("config.threading.get_inter_op_parallelism_threads")
def get_inter_op_parallelism_threads():
    """0: a session chooses. tf.ConfigProto sets it for each session."""
    return 0


@tf_export("config.threading.get_intra_op_parallelism_threads")
def get_intra_op_parallelism_threads():
    return 0


def _refuse(name, way):
    raise NotImplementedError(f"tf.config.{name} is not in Braid: {way}")


@tf_export("config.threading.set_inter_op_parallelism_threads")
def set_inter_op_parallelism_threads(num_threads):
    _refuse(
        "threading.set_inter_op_parallelism_threads", "tf.ConfigProto(inter_op_parallelism_threads=N) does it"
    )


@tf_export("config.threading.set_intra_op_parallelism_threads")
def set_intra_op_parallelism_threads(num_threads):
    _refuse(
        "threading.set_intra_op_parallelism_threads", "tf.ConfigProto(intra_op_parallelism_threads=N) does it"
    )


@tf_export("config.get_soft_device_placement")
def get_soft_device_placement():
    return False


@tf_export("config.set_soft_device_placement")
def set_soft_device_placement(enabled):
    _refuse("set_soft_device_placement", "tf.ConfigProto(allow_soft_placement=True) does it")


@tf_export("config.experimental.set_memory_growth")
def set_memory_growth(device, enable):
    """Nothing to do: memory is taken when it is needed."""


@tf_export("config.experimental.get_memory_growth")
def get_memory_growth(device):
    return True


def num_processors():
    return os.cpu_count()
