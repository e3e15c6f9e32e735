"""A cluster resolver of the tasks that Slurm has started."""

import os
import subprocess

from braid.tensorflow.python.distribute.cluster_resolver import cluster_resolver
from braid.tensorflow.python.training import server_lib
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("distribute.cluster_resolver.SlurmClusterResolver")
class SlurmClusterResolver(cluster_resolver.ClusterResolver):
    """The cluster of a Slurm step, or of one of mpirun in it: its tasks in the order of their ranks.

    `cluster_spec` sets task_type and task_id, and CUDA_VISIBLE_DEVICES to the GPUs of this task.

    Args:
      jobs: {job: number of tasks}. The jobs take the ranks in the order of their names.
      port_base: the port of a node's first task; the others have those after it.
      gpus_per_node, gpus_per_task: how many GPUs there are, and how many a task gets.
      tasks_per_node: by default the environment variable SLURM_NTASKS_PER_NODE.
      auto_set_gpu: whether CUDA_VISIBLE_DEVICES is set.
    """

    def __init__(
        self,
        jobs,
        port_base=8888,
        gpus_per_node=1,
        gpus_per_task=1,
        tasks_per_node=None,
        auto_set_gpu=True,
        rpc_layer="grpc",
    ):
        by_mpi = "OMPI_COMM_WORLD_RANK" in os.environ
        rank, count = (
            ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE") if by_mpi else ("SLURM_PROCID", "SLURM_NTASKS")
        )
        for name in (rank, count):
            if name not in os.environ:
                raise RuntimeError(
                    f"{name} is not set: SlurmClusterResolver is for tasks that srun or mpirun starts."
                )
        if tasks_per_node is None and "SLURM_NTASKS_PER_NODE" not in os.environ:
            raise RuntimeError("Neither `tasks_per_node` or SLURM_NTASKS_PER_NODE is set.")
        self._rank = int(os.environ[rank])
        self._jobs = dict(sorted(jobs.items()))
        self._port_base, self._auto_set_gpu, self.rpc_layer = port_base, auto_set_gpu, rpc_layer
        self._gpus_per_node, self._gpus_per_task = gpus_per_node, gpus_per_task
        self._tasks_per_node = int(
            os.environ["SLURM_NTASKS_PER_NODE"] if tasks_per_node is None else tasks_per_node
        )
        if self._tasks_per_node * gpus_per_task > gpus_per_node:
            raise RuntimeError("Requested more GPUs per node then available.")
        if sum(self._jobs.values()) != int(os.environ[count]):
            raise RuntimeError("Requested more tasks then assigned tasks.")

    def _resolve_hostnames(self):
        """The nodes of the step."""
        return subprocess.run(
            ["scontrol", "show", "hostname"], check=True, capture_output=True, text=True
        ).stdout.split()

    def cluster_spec(self):
        addresses = [
            f"{host}:{self._port_base + place}"
            for host in self._resolve_hostnames()
            for place in range(self._tasks_per_node)
        ]
        cluster, first = {}, 0
        for job, count in self._jobs.items():
            cluster[job] = addresses[first : first + count]
            if first <= self._rank < first + count:
                self.task_type, self.task_id = job, self._rank - first
            first += count
        if first > len(addresses):
            raise RuntimeError(f"{first} tasks do not fit on nodes that have {len(addresses)} together.")
        if self._auto_set_gpu:
            gpu = self._rank % self._tasks_per_node * self._gpus_per_task
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, range(gpu, gpu + self._gpus_per_task)))
        return server_lib.ClusterSpec(cluster)

    def get_task_info(self):
        """(job, number) of this task, once `cluster_spec` was called."""
        return self.task_type, self.task_id

    def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
        return {"GPU": self._gpus_per_node}
