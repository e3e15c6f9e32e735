"""tf.config: what sessions without a ConfigProto of their own have."""

import collections
import os

from braid import protos
from braid.tensorflow.python.util.tf_export import tf_export

PhysicalDevice = collections.namedtuple("PhysicalDevice", ["name", "device_type"])
LogicalDevice = collections.namedtuple("LogicalDevice", ["name", "device_type"])
VirtualDeviceConfiguration = collections.namedtuple(
    "VirtualDeviceConfiguration", ["memory_limit"], defaults=[None]
)
tf_export("config.PhysicalDevice").export_constant(__name__, "PhysicalDevice")
tf_export("config.LogicalDevice").export_constant(__name__, "LogicalDevice")
tf_export("config.experimental.VirtualDeviceConfiguration").export_constant(
    __name__, "VirtualDeviceConfiguration"
)

_CPU = PhysicalDevice("/physical_device:CPU:0", "CPU")
# Rewrites of graphs by the names that RewriterConfig and set_experimental_options have; each is on or off.
_TOGGLES = (
    "layout_optimizer",
    "constant_folding",
    "shape_optimization",
    "remapping",
    "arithmetic_optimization",
    "dependency_optimization",
    "loop_optimization",
    "function_optimization",
    "debug_stripper",
    "scoped_allocator_optimization",
    "pin_to_host_optimization",
    "implementation_selector",
    "auto_mixed_precision",
)
_FLAGS = ("disable_model_pruning", "disable_meta_optimizer")


class _Settings:
    """What the functions below set. is_set: whether one has been called."""

    def __init__(self):
        self.config = protos.ConfigProto()
        self.is_set = False
        self.virtual_devices = None  # of the CPU
        self.options = {}


_settings = _Settings()


def default_config():
    """The ConfigProto of sessions that are opened without one, or None where nothing was set."""
    return _settings.config if _settings.is_set else None


def _set(**fields):
    _settings.is_set = True
    for name, value in fields.items():
        setattr(_settings.config, name, value)


# Devices.


@tf_export("config.experimental.list_physical_devices", "config.list_physical_devices")
def list_physical_devices(device_type=None):
    """The devices: one CPU, of all processors."""
    return [_CPU] if device_type in (None, "CPU") else []


def _count():
    return len(_settings.virtual_devices or [None])


@tf_export("config.experimental.list_logical_devices", "config.list_logical_devices")
def list_logical_devices(device_type=None):
    """The CPUs of sessions: see set_virtual_device_configuration."""
    devices = [LogicalDevice(f"/device:CPU:{i}", "CPU") for i in range(_count())]
    return devices if device_type in (None, "CPU") else []


@tf_export("config.experimental_list_devices")
def list_devices():
    """The names of the devices of sessions in this process."""
    return [f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(_count())]


@tf_export("config.experimental.get_visible_devices", "config.get_visible_devices")
def get_visible_devices(device_type=None):
    return list_physical_devices(device_type)


@tf_export("config.experimental.set_visible_devices")
def set_visible_devices(devices, device_type=None):
    """The CPU is what is visible. ValueError: an unknown device. NotImplementedError: the CPU is left out."""
    devices = [devices] if isinstance(devices, PhysicalDevice) else list(devices)
    for device in devices:
        if device not in list_physical_devices(device_type):
            raise ValueError(f"Unrecognized device: {device!r}")
    if _CPU not in devices and device_type in (None, "CPU"):
        raise NotImplementedError(
            "tf.config.experimental.set_visible_devices without the CPU is not in Braid"
        )


def _check_device(device):
    if device not in list_physical_devices():
        raise ValueError(f"Unrecognized device: {device!r}")


@tf_export("config.experimental.set_virtual_device_configuration")
def set_virtual_device_configuration(device, virtual_devices):
    """Gives sessions one CPU device for each VirtualDeviceConfiguration."""
    _check_device(device)
    if any(v.memory_limit is not None for v in virtual_devices):
        raise ValueError("Setting memory limit on CPU virtual devices is currently not supported")
    _settings.virtual_devices = list(virtual_devices)
    _set()
    _settings.config.device_count["CPU"] = len(virtual_devices)


@tf_export("config.experimental.get_virtual_device_configuration")
def get_virtual_device_configuration(device):
    """The VirtualDeviceConfigurations that were set, or None."""
    _check_device(device)
    return _settings.virtual_devices


@tf_export("config.experimental.set_memory_growth")
def set_memory_growth(device, enable):
    """Nothing to do: memory is taken when it is needed."""


@tf_export("config.experimental.get_memory_growth")
def get_memory_growth(device):
    return True


# Threads and placement.


@tf_export("config.threading.get_inter_op_parallelism_threads")
def get_inter_op_parallelism_threads():
    """The number of threads that run ops side by side. 0: a session chooses."""
    return _settings.config.inter_op_parallelism_threads


@tf_export("config.threading.set_inter_op_parallelism_threads")
def set_inter_op_parallelism_threads(num_threads):
    _set(inter_op_parallelism_threads=num_threads)


@tf_export("config.threading.get_intra_op_parallelism_threads")
def get_intra_op_parallelism_threads():
    """The number of threads within an op. 0: a session chooses."""
    return _settings.config.intra_op_parallelism_threads


@tf_export("config.threading.set_intra_op_parallelism_threads")
def set_intra_op_parallelism_threads(num_threads):
    _set(intra_op_parallelism_threads=num_threads)


@tf_export("config.get_soft_device_placement")
def get_soft_device_placement():
    """Whether ops of devices that are not there are placed on the CPU."""
    return _settings.config.allow_soft_placement


@tf_export("config.set_soft_device_placement")
def set_soft_device_placement(enabled):
    _set(allow_soft_placement=enabled)


@tf_export("debugging.get_log_device_placement")
def get_log_device_placement():
    """Whether sessions log where ops are placed."""
    return _settings.config.log_device_placement


@tf_export("debugging.set_log_device_placement")
def set_log_device_placement(enabled):
    _set(log_device_placement=enabled)


# Rewrites of graphs.


@tf_export("config.optimizer.get_experimental_options")
def get_optimizer_experimental_options():
    """The rewrites that were switched on or off, by name."""
    return {**dict.fromkeys(_FLAGS, False), **_settings.options}


@tf_export("config.optimizer.set_experimental_options")
def set_optimizer_experimental_options(options):
    """Switches rewrites on or off: {"constant_folding": False, ...}. Rewrites that Braid has not got are
    noted only.
    """
    unknown = set(options) - set(_TOGGLES + _FLAGS + ("min_graph_nodes",))
    if unknown:
        raise ValueError(f"Unknown options of the optimizer of graphs: {sorted(unknown)}")
    _set()
    _settings.options.update(options)
    rewriter = _settings.config.graph_options.rewrite_options
    for name, value in options.items():
        if name in _TOGGLES:
            setattr(rewriter, name, rewriter.ON if value else rewriter.OFF)
        elif name in _FLAGS:
            setattr(rewriter, name, bool(value))
        elif value is not None:
            rewriter.min_graph_nodes = -1 if value is False else int(value)


@tf_export("config.optimizer.get_jit")
def get_optimizer_jit():
    """What set_jit() was told."""
    return _settings.config.graph_options.optimizer_options.global_jit_level > 0


@tf_export("config.optimizer.set_jit")
def set_optimizer_jit(enabled):
    """A hint that graphs may be compiled. Braid runs their nodes one by one."""
    _set()
    options = _settings.config.graph_options.optimizer_options
    options.global_jit_level = options.ON_1 if enabled else options.OFF


def num_processors():
    return os.cpu_count()
