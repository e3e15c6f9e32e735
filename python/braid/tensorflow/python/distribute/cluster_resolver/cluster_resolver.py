"""Cluster resolvers: from the arguments, or from TF_CONFIG."""

import json
import os

from braid.tensorflow.python.training import server_lib
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("distribute.cluster_resolver.ClusterResolver")
class ClusterResolver:
    """Says which cluster there is, and which task this one is."""

    task_type = None
    task_id = None
    rpc_layer = "grpc"
    environment = ""

    def cluster_spec(self):
        raise NotImplementedError("ClusterResolver.cluster_spec")

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        """The session target of a task; of this one if it is not given."""
        task_type = task_type if task_type is not None else self.task_type
        task_id = task_id if task_id is not None else self.task_id
        if task_type is None or task_id is None:
            return ""
        return f"{rpc_layer or self.rpc_layer}://{self.cluster_spec().task_address(task_type, task_id)}"

    def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
        return {}


@tf_export("distribute.cluster_resolver.SimpleClusterResolver")
class SimpleClusterResolver(ClusterResolver):
    """The cluster of the arguments."""

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
        self._spec, self._master = cluster_spec, master
        self.task_type, self.task_id, self.environment = task_type, task_id, environment
        self.rpc_layer = rpc_layer or "grpc"

    def cluster_spec(self):
        return self._spec

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        if task_type is not None and task_id is not None:
            return super().master(task_type, task_id, rpc_layer)
        return self._master


@tf_export("distribute.cluster_resolver.TFConfigClusterResolver")
class TFConfigClusterResolver(ClusterResolver):
    """The cluster and the task of the environment variable TF_CONFIG."""

    def __init__(self, task_type=None, task_id=None, rpc_layer=None, environment=None):
        config = json.loads(os.environ.get("TF_CONFIG") or "{}")
        task = config.get("task", {})
        self._cluster = config.get("cluster", {})
        self.task_type = task_type if task_type is not None else task.get("type")
        self.task_id = task_id if task_id is not None else (int(task["index"]) if "index" in task else None)
        self.rpc_layer = rpc_layer or config.get("rpc_layer") or "grpc"
        self.environment = environment or config.get("environment", "")

    def cluster_spec(self):
        return server_lib.ClusterSpec(self._cluster)


def _refuse(name):
    raise NotImplementedError(
        f"tf.distribute.cluster_resolver.{name}: use TFConfigClusterResolver, or braid run"
    )


@tf_export("distribute.cluster_resolver.TPUClusterResolver")
class TPUClusterResolver(ClusterResolver):
    """Refused: there are no TPUs."""

    def __init__(self, *args, **kwargs):
        _refuse("TPUClusterResolver")


@tf_export("distribute.cluster_resolver.SlurmClusterResolver")
class SlurmClusterResolver(ClusterResolver):
    """Refused: `braid run` starts clusters under Slurm."""

    def __init__(self, *args, **kwargs):
        _refuse("SlurmClusterResolver")


@tf_export("distribute.cluster_resolver.KubernetesClusterResolver")
class KubernetesClusterResolver(ClusterResolver):
    """Refused."""

    def __init__(self, *args, **kwargs):
        _refuse("KubernetesClusterResolver")


@tf_export(
    "distribute.cluster_resolver.GCEClusterResolver", v1=["distribute.cluster_resolver.GCEClusterResolver"]
)
class GceClusterResolver(ClusterResolver):
    """Refused."""

    def __init__(self, *args, **kwargs):
        _refuse("GCEClusterResolver")


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
        layer = rpc_layer or self.rpc_layer
        return f"{layer}://{address}" if layer else address

    @property
    def environment(self):
        return self._cluster_resolvers[0].environment

    def num_accelerators(self, *args, **kwargs):
        return self._cluster_resolvers[0].num_accelerators(*args, **kwargs)
