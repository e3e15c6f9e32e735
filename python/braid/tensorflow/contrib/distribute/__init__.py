"""tf.contrib.distribute: the strategies of tf.distribute under their older names."""

import json
import os

from braid.tensorflow.python.distribute import collective_all_reduce_strategy
from braid.tensorflow.python.distribute import distribute_lib
from braid.tensorflow.python.distribute import mirrored_strategy
from braid.tensorflow.python.distribute.cross_device_ops import (  # noqa: F401
    AllReduceCrossDeviceOps,
    CrossDeviceOps,
    ReductionToOneDevice as ReductionToOneDeviceCrossDeviceOps,
)
from braid.tensorflow.python.distribute.distribute_lib import (  # noqa: F401
    DistributionStrategy,
    OneDeviceStrategy,
    ReplicaContext,
    Strategy,
    get_loss_reduction,
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
)
from braid.tensorflow.python.training import server_lib

AllReduceCrossTowerOps = AllReduceCrossDeviceOps
get_distribution_strategy = get_strategy
in_cross_tower_context = in_cross_replica_context


def run_standard_tensorflow_server(session_config=None):
    """A server of this task of the cluster in TF_CONFIG, which has started. ValueError: TF_CONFIG lacks a part."""
    tf_config = json.loads(os.environ.get("TF_CONFIG", "{}"))
    for part in ("cluster", "task"):
        if part not in tf_config:
            raise ValueError(f'"{part}" is not found in TF_CONFIG.')
    cluster, task = tf_config["cluster"], tf_config["task"]
    if "type" not in task:
        raise ValueError('"task_type" is not found in the `task` part of TF_CONFIG.')
    if "chief" not in cluster and "worker" not in cluster:
        raise ValueError("You must have `chief` or `worker` jobs in the `cluster_spec`.")
    return server_lib.Server(
        server_lib.ClusterSpec(cluster),
        job_name=task["type"],
        task_index=int(task.get("index", 0)),
        config=session_config,
        protocol=tf_config.get("rpc_layer", "grpc"),
    )


def _refuse_gpus(what, *counts):
    if any(n and n > 1 for n in counts):
        raise NotImplementedError(
            f"tf.contrib.distribute.{what} with several GPUs: Braid has one replica in a process; start a process for "
            "each, with parameter servers (tf.estimator.train_and_evaluate)"
        )


class MirroredStrategy(mirrored_strategy.MirroredStrategy):
    """Replicas on the devices of a machine: `devices`, or the first num_gpus GPUs."""

    def __init__(
        self,
        devices=None,
        num_gpus=None,
        num_gpus_per_worker=None,
        cross_device_ops=None,
        auto_shard_dataset=False,
        cross_tower_ops=None,
        prefetch_on_device=None,
    ):
        count = num_gpus or num_gpus_per_worker or 0
        if devices is None and count > 1:
            devices = [f"/device:GPU:{i}" for i in range(count)]
        super().__init__(devices, cross_device_ops)

    def make_dataset_iterator(self, dataset):
        """An iterator that gives each replica a batch of its own, unlike tf.distribute's."""
        return self.make_input_fn_iterator(lambda _: dataset)


class ParameterServerStrategy(distribute_lib.ParameterServerStrategy):
    """Workers and parameter servers, for tf.estimator, which reads TF_CONFIG."""

    def __init__(self, num_gpus_per_worker=0):
        _refuse_gpus("ParameterServerStrategy", num_gpus_per_worker)
        super().__init__()


class CollectiveAllReduceStrategy(collective_all_reduce_strategy.CollectiveAllReduceStrategy):
    """Workers without parameter servers, that make steps together."""

    def __init__(self, num_gpus_per_worker=0, communication=None):
        _refuse_gpus("CollectiveAllReduceStrategy", num_gpus_per_worker)
        super().__init__()


class DistributeConfig:
    """The strategies of training and evaluation, for RunConfig(experimental_distribute=...)."""

    def __new__(cls, train_distribute=None, eval_distribute=None, remote_cluster=None):
        import collections

        if remote_cluster is not None:
            raise NotImplementedError("DistributeConfig(remote_cluster=): use TF_CONFIG in each process")
        return collections.namedtuple("DistributeConfig", "train_distribute eval_distribute remote_cluster")(
            train_distribute, eval_distribute, remote_cluster
        )


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.distribute.{name}"))
