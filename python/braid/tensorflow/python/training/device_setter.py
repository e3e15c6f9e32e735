"""Devices of replicas: variables on the parameter servers, all else on the worker."""

from braid.tensorflow.python.framework import device as pydev
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import server_lib
from braid.tensorflow.python.util.tf_export import tf_export

STANDARD_PS_OPS = (
    "Variable",
    "VariableV2",
    "AutoReloadVariable",
    "MutableHashTable",
    "MutableHashTableV2",
    "MutableHashTableOfTensors",
    "MutableHashTableOfTensorsV2",
    "MutableDenseHashTable",
    "MutableDenseHashTableV2",
    "VarHandleOp",
    "BoostedTreesEnsembleResourceHandleOp",
)


class _RoundRobinStrategy:
    """The tasks in turn, in the order in which the ops are made."""

    def __init__(self, num_tasks):
        self._num_tasks = num_tasks
        self._next_task = 0

    def __call__(self, unused_op):
        task = self._next_task
        self._next_task = (self._next_task + 1) % self._num_tasks
        return task


class _ReplicaDeviceChooser:
    """The device function of replica_device_setter."""

    def __init__(self, ps_tasks, ps_device, worker_device, merge_devices, ps_ops, ps_strategy):
        self._ps_tasks = ps_tasks
        self._ps_device = ps_device
        self._worker_device = worker_device
        self._merge_devices = merge_devices
        self._ps_ops = ps_ops
        self._ps_strategy = ps_strategy

    def device_function(self, op):
        """The device of an op. What the op itself has said of its device goes first."""
        if not self._merge_devices and op.device:
            return op.device
        current = pydev.DeviceSpec.from_string(op.device or "")
        op_type = getattr(op, "type", None) or op.node_def.op
        if not (self._ps_tasks and self._ps_device and op_type in self._ps_ops):
            return (
                pydev.DeviceSpec.from_string(self._worker_device or "").make_merged_spec(current).to_string()
            )
        chosen = pydev.DeviceSpec.from_string(self._ps_device)
        if chosen.job and (not current.job or current.job == chosen.job):
            chosen = chosen.replace(task=self._ps_strategy(op))
        return chosen.make_merged_spec(current).to_string()


@tf_export(v1=["train.replica_device_setter"])
def replica_device_setter(
    ps_tasks=0,
    ps_device="/job:ps",
    worker_device="/job:worker",
    merge_devices=True,
    cluster=None,
    ps_ops=None,
    ps_strategy=None,
):
    """A function for tf.device() that places variables on parameter servers, in turn; None without such
    tasks.

    ps_tasks: their number, or else cluster: a ClusterSpec that tells it. ps_ops: the types of ops that go to
    them. ps_strategy: a function of the op that chooses the task. TypeError: the cluster or the strategy is
    none.
    """
    if cluster is not None:
        if isinstance(cluster, server_lib.ClusterSpec):
            jobs = cluster.as_dict()
        else:
            jobs = server_lib.ClusterSpec(cluster).as_dict()
        job = pydev.DeviceSpec.from_string(ps_device).job
        if job not in jobs or jobs[job] is None:
            return None
        ps_tasks = len(jobs[job])
    if ps_tasks == 0:
        return None
    if not merge_devices:
        logging.warning("DEPRECATION: It is recommended to set merge_devices=true in replica_device_setter")
    if ps_strategy is None:
        ps_strategy = _RoundRobinStrategy(ps_tasks)
    if not callable(ps_strategy):
        raise TypeError("ps_strategy must be callable")
    chooser = _ReplicaDeviceChooser(
        ps_tasks,
        ps_device,
        worker_device,
        merge_devices,
        list(STANDARD_PS_OPS) if ps_ops is None else ps_ops,
        ps_strategy,
    )
    return chooser.device_function
