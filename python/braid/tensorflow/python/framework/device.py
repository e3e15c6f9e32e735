"""Names of devices (tf.DeviceSpec) and how those of nested scopes are merged."""

from braid.tensorflow.python.util.tf_export import tf_export


class DeviceSpecV2:
    """A device, perhaps a partial one: "/job:ps/replica:0/task:1/device:CPU:0". A missing part is None."""

    def __init__(self, job=None, replica=None, task=None, device_type=None, device_index=None):
        self.job = job
        self.replica = None if replica is None else int(replica)
        self.task = None if task is None else int(task)
        self.device_type = device_type
        self.device_index = None if device_index is None else int(device_index)

    def make_merged_spec(self, dev):
        """One with the parts of `dev`, and where that has none, those of this one."""
        merged = DeviceSpec(**vars(self))
        merged.merge_from(dev)
        return type(self)(**vars(merged))

    def replace(self, **kwargs):
        fields = dict(vars(self))
        fields.update(kwargs)
        return type(self)(**fields)

    def to_string(self):
        text = "".join(
            f"/{part}:{getattr(self, part)}"
            for part in ("job", "replica", "task")
            if getattr(self, part) is not None
        )
        if self.device_type is not None:
            kind = self.device_type.upper() if self.device_type in ("cpu", "gpu") else self.device_type
            text += f"/device:{kind}:{'*' if self.device_index is None else self.device_index}"
        return text

    @classmethod
    def from_string(cls, spec):
        """The device of a string. ValueError: it is malformed."""
        return cls(**vars(DeviceSpec().parse_from_string(spec)))

    def parse_from_string(self, spec):
        return self.from_string(spec)

    def __eq__(self, other):
        return isinstance(other, DeviceSpecV2) and vars(self) == vars(other)

    def __hash__(self):
        return hash(self.to_string())

    def __str__(self):
        return self.to_string()


@tf_export("DeviceSpec")
class DeviceSpec(DeviceSpecV2):
    """A device as DeviceSpecV2 is one, which can be changed."""

    def parse_from_string(self, spec):
        """Sets the parts from a string. ValueError: it is malformed."""
        self.__init__()
        for part in (spec or "").split("/"):
            fields = part.split(":")
            kind = fields[0].lower()
            if not part:
                continue
            if kind in ("job", "replica", "task") and len(fields) == 2:
                setattr(self, kind, fields[1] if kind == "job" else int(fields[1]))
            elif kind in ("cpu", "gpu") and len(fields) <= 2:
                self._set_device(kind.upper(), fields[1:], spec)
            elif kind == "device" and 2 <= len(fields) <= 3:
                self._set_device(fields[1], fields[2:], spec)
            else:
                raise ValueError(f"Unknown attribute: '{fields[0]}' in '{spec}'")
        return self

    def _set_device(self, device_type, index, spec):
        if self.device_type is not None:
            raise ValueError(f"Cannot specify multiple device types: {spec}")
        self.device_type = device_type
        self.device_index = int(index[0]) if index and index[0] != "*" else None

    def merge_from(self, dev):
        """Takes the parts that the other one has."""
        for part in ("job", "replica", "task"):
            if getattr(dev, part) is not None:
                setattr(self, part, getattr(dev, part))
        if dev.device_type is not None:
            if dev.device_type != self.device_type:
                self.device_index = None
            self.device_type = dev.device_type
        if dev.device_index is not None:
            self.device_index = dev.device_index


DeviceSpecV1 = DeviceSpec


def check_valid(spec):
    DeviceSpec.from_string(spec)


def is_device_spec(obj):
    return isinstance(obj, DeviceSpecV2)


def canonical_name(device):
    if device is None:
        return ""
    return (device if is_device_spec(device) else DeviceSpec.from_string(device)).to_string()


class MergeDevice:
    """A device function: the node's own parts take precedence over those of `spec`."""

    def __init__(self, spec):
        self._spec = spec if is_device_spec(spec) else DeviceSpec.from_string(spec)
        self.shortcut = None

    @property
    def is_null_merge(self):
        return not self._spec.to_string()

    def __call__(self, node_def):
        own = node_def.device
        if not own:
            return self._spec.to_string()
        own = own if is_device_spec(own) else DeviceSpec.from_string(own)
        return self._spec.make_merged_spec(own).to_string()


def merge_device(spec):
    """The function of tf.device(spec): from a node to the device that it gets."""
    return MergeDevice(spec or "")
