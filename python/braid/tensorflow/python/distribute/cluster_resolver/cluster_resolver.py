"""Cluster resolvers: what tells a program its cluster and its task."""

import collections
import re

from braid.tensorflow.python.client import session
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.training import server_lib
from braid.tensorflow.python.util.tf_export import tf_export

DEVICE_TYPE_REGEX = re.compile(".*device:([^:]+).*")


def format_master_url(master, rpc_layer=None):
    """The session target of an address."""
    return f"{rpc_layer}://{master}" if rpc_layer else master


def get_accelerator_devices(master, config_proto):
    """The devices that a session of a master has."""
    with session.Session(master, graph=ops.Graph(), config=config_proto) as made:
        return made.list_devices()


@tf_export("distribute.cluster_resolver.ClusterResolver")
class ClusterResolver:
    """Says which cluster there is, and which task this one is: by task_type, task_id and rpc_layer."""

    task_type = None
    task_id = None
    rpc_layer = None
    environment = ""

    def cluster_spec(self):
        """The tf.train.ClusterSpec as it is now."""
        raise NotImplementedError(f"{type(self).__name__}.cluster_spec")

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        """The session target of a task, by default of this one; "" if neither is known."""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        if task_type is None or task_id is None:
            return ""
        address = self.cluster_spec().task_address(task_type, task_id)
        return format_master_url(address, rpc_layer or self.rpc_layer)

    def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
        """{type: number} of the devices of a task, or of the cluster. Opens a session of the master."""
        devices = get_accelerator_devices(self.master(task_type, task_id), config_proto)
        if task_type is not None and task_id is not None:
            parts = {f"job:{task_type}", f"task:{task_id}"}
            devices = [device for device in devices if parts <= set(device.name.split("/"))]
        return collections.Counter(device.device_type for device in devices)


@tf_export("distribute.cluster_resolver.SimpleClusterResolver")
class SimpleClusterResolver(ClusterResolver):
    """The cluster of the arguments. num_accelerators: what the method of that name returns."""

    def __init__(
        self,
        cluster_spec,
        master="",
        task_type=None,
        task_id=None,
        environment="",
        num_accelerators=None,
        rpc_layer=None,
    ):
        if not isinstance(cluster_spec, server_lib.ClusterSpec):
            raise TypeError("cluster_spec must be a ClusterSpec.")
        if not isinstance(master, str):
            raise TypeError("master must be a string.")
        self._spec, self._master, self._num_accelerators = cluster_spec, master, num_accelerators
        self.task_type, self.task_id, self.environment = task_type, task_id, environment
        self.rpc_layer = rpc_layer

    def cluster_spec(self):
        return self._spec

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        """The session target of a task that is given, or the master of the arguments."""
        if task_type is not None and task_id is not None:
            return super().master(task_type, task_id, rpc_layer)
        return format_master_url(self._master, rpc_layer or self.rpc_layer)

    def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
        return {} if self._num_accelerators is None else self._num_accelerators


@tf_export("distribute.cluster_resolver.UnionResolver")
class UnionClusterResolver(ClusterResolver):
    """The tasks of several resolvers: those of a job after each other. The first one answers all else."""

    def __init__(self, *args, rpc_layer=None, task_type=None, task_id=None, **kwargs):
        if kwargs:
            raise ValueError(f"Unexpected kwargs provided {kwargs!r}")
        if not args:
            raise ValueError("At least one ClusterResolver is required.")
        if not all(isinstance(resolver, ClusterResolver) for resolver in args):
            raise TypeError("All arguments must be a sub-class of `ClusterResolver.`")
        self._cluster_resolvers = args
        self.task_type = args[0].task_type if task_type is None else task_type
        self.task_id = args[0].task_id if task_id is None else task_id
        self.rpc_layer = getattr(args[0], "rpc_layer", None) if rpc_layer is None else rpc_layer

    def cluster_spec(self):
        merged = {}
        for spec in (resolver.cluster_spec() for resolver in self._cluster_resolvers):
            for job, tasks in spec.as_dict().items():
                there = merged.setdefault(job, [] if isinstance(tasks, list) else {})
                if isinstance(there, list) and isinstance(tasks, list):
                    there.extend(tasks)
                    continue
                there = dict(enumerate(there)) if isinstance(there, list) else there
                tasks = dict(enumerate(tasks)) if isinstance(tasks, list) else tasks
                both = set(there) & set(tasks)
                if both:
                    raise KeyError(f"Duplicate keys detected when merging two ClusterSpecs: {both!r}")
                merged[job] = {**there, **tasks}
        return server_lib.ClusterSpec(merged)

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        if task_type is None or task_id is None:
            return self._cluster_resolvers[0].master()
        address = self.cluster_spec().task_address(task_type, task_id)
        return format_master_url(address, rpc_layer or self.rpc_layer)

    @property
    def environment(self):
        return self._cluster_resolvers[0].environment

    def num_accelerators(self, *args, **kwargs):
        return self._cluster_resolvers[0].num_accelerators(*args, **kwargs)
