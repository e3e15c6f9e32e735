"""How replicas of a process exchange values: there is one, so nothing is exchanged."""

from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("distribute.CrossDeviceOps")
class CrossDeviceOps:
    """The base. A strategy of one replica takes any, and uses none."""

    def __init__(self):
        pass


@tf_export("distribute.ReductionToOneDevice", v1=["distribute.ReductionToOneDevice"])
class ReductionToOneDevice(CrossDeviceOps):
    """Reduces on one device."""

    def __init__(self, reduce_to_device=None, accumulation_fn=None):
        super().__init__()
        self.reduce_to_device = reduce_to_device
        self.accumulation_fn = accumulation_fn


class AllReduceCrossDeviceOps(CrossDeviceOps):
    """Reduces all by the algorithm of a name."""

    def __init__(
        self, all_reduce_alg="nccl", num_packs=1, agg_small_grads_max_bytes=0, agg_small_grads_max_group=10
    ):
        super().__init__()


@tf_export("distribute.NcclAllReduce")
class NcclAllReduce(AllReduceCrossDeviceOps):
    """Reduces by NCCL."""

    def __init__(self, num_packs=1):
        if num_packs < 0:
            raise ValueError(f"NCCL all-reduce requires num_packs >= 0, but {num_packs} is specified")
        super().__init__("nccl", num_packs)


@tf_export("distribute.HierarchicalCopyAllReduce")
class HierarchicalCopyAllReduce(AllReduceCrossDeviceOps):
    """Reduces in a hierarchy."""

    def __init__(self, num_packs=1):
        if num_packs < 0:
            raise ValueError(f"HierarchicalCopy requires num_packs >= 0, but {num_packs} is specified")
        super().__init__("hierarchical_copy", num_packs)
