"""How replicas of a process exchange values: there is one, so nothing is exchanged."""

from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("distribute.CrossDeviceOps")
class CrossDeviceOps:
    """The base. A strategy of one replica takes any, and uses none."""

    def __init__(self, *args, **kwargs):
        pass


@tf_export("distribute.ReductionToOneDevice", v1=["distribute.ReductionToOneDevice"])
class ReductionToOneDevice(CrossDeviceOps):
    """Reduces on one device."""


@tf_export("distribute.NcclAllReduce")
class NcclAllReduce(CrossDeviceOps):
    """Reduces by NCCL."""


@tf_export("distribute.HierarchicalCopyAllReduce")
class HierarchicalCopyAllReduce(CrossDeviceOps):
    """Reduces in a hierarchy."""
