"""RunConfig of tf.contrib.learn: clusters whose first worker is the chief."""

import json
import os

from braid import protos
from braid.tensorflow.python.estimator import run_config as core
from braid.tensorflow.python.training import server_lib

TaskType = core.TaskType

_DEFAULT_UID_WHITE_LIST = [
    "tf_random_seed",
    "save_summary_steps",
    "save_checkpoints_steps",
    "save_checkpoints_secs",
    "session_config",
    "keep_checkpoint_max",
    "keep_checkpoint_every_n_hours",
    "log_step_count_steps",
]


class Environment:
    """Where a program runs."""

    LOCAL = "local"
    CLOUD = "cloud"
    GOOGLE = "google"


def _tf_config():
    return json.loads(os.environ.get("TF_CONFIG") or "{}")


def _master(cluster_spec, task_type, task_id):
    """The session target of a task: of a cluster of one task and where the type is not known, this process."""
    jobs = cluster_spec.as_dict()
    if not task_type or sum(len(cluster_spec.job_tasks(job)) for job in jobs) <= 1:
        return ""
    note = f"{cluster_spec}\n\nNote that these values may be coming from the TF_CONFIG environment variable."
    if task_type not in jobs:
        raise ValueError(f"{task_type} is not a valid task_type in the cluster_spec:\n{note}")
    addresses = cluster_spec.job_tasks(task_type)
    if not 0 <= task_id < len(addresses):
        raise ValueError(
            f"{task_id} is not a valid task_id for task_type {task_type} in the cluster_spec:\n{note}"
        )
    return "grpc://" + addresses[task_id]


class ClusterConfig:
    """What TF_CONFIG says of the cluster and of this task.

    The chief is worker 0, in the environment "cloud" master 0; where the task has no type, the one of index 0.
    master: the session target; None: the task's own address.
    """

    def __init__(self, master=None, evaluation_master=None):
        self._read_cluster(_tf_config(), master, evaluation_master)

    def _read_cluster(self, tf_config, master, evaluation_master):
        self._environment = tf_config.get("environment", Environment.LOCAL)
        self._cluster_spec = server_lib.ClusterSpec(tf_config.get("cluster") or {})
        self._task_type = tf_config.get("task", {}).get("type")
        self._task_id = self.get_task_id()
        self._master = (
            _master(self._cluster_spec, self._task_type, self._task_id) if master is None else master
        )
        self._evaluation_master = evaluation_master or ""
        jobs = self._cluster_spec.as_dict()
        self._num_ps_replicas = len(jobs.get(TaskType.PS, []))
        self._num_worker_replicas = sum(len(jobs.get(job, [])) for job in (TaskType.WORKER, TaskType.MASTER))
        chief = TaskType.MASTER if self._environment == Environment.CLOUD else TaskType.WORKER
        self._is_chief = self._task_id == 0 and self._task_type in (None, chief)

    cluster_spec = property(lambda self: self._cluster_spec)
    environment = property(lambda self: self._environment)
    evaluation_master = property(lambda self: self._evaluation_master)
    is_chief = property(lambda self: self._is_chief)
    master = property(lambda self: self._master)
    num_ps_replicas = property(lambda self: self._num_ps_replicas)
    num_worker_replicas = property(lambda self: self._num_worker_replicas)
    task_id = property(lambda self: self._task_id)
    task_type = property(lambda self: self._task_type)

    @staticmethod
    def get_task_id():
        """The task's index in TF_CONFIG, 0 if it has none."""
        return int(_tf_config().get("task", {}).get("index") or 0)


class RunConfig(ClusterConfig, core.RunConfig):
    """tf.estimator.RunConfig with older arguments, for clusters with or without a master: see ClusterConfig.

    save_checkpoints_secs: 0 is 600, or None where save_checkpoints_steps is given.
    """

    _USE_DEFAULT = 0

    def __init__(
        self,
        master=None,
        num_cores=0,
        log_device_placement=False,
        gpu_memory_fraction=1,
        tf_random_seed=None,
        save_summary_steps=100,
        save_checkpoints_secs=_USE_DEFAULT,
        save_checkpoints_steps=None,
        keep_checkpoint_max=5,
        keep_checkpoint_every_n_hours=10000,
        log_step_count_steps=100,
        protocol=None,
        evaluation_master="",
        model_dir=None,
        session_config=None,
        session_creation_timeout_secs=7200,
    ):
        self._given_masters = master, evaluation_master
        core.RunConfig.__init__(
            self,
            model_dir=model_dir,
            tf_random_seed=tf_random_seed,
            save_summary_steps=save_summary_steps,
            session_config=session_config,
            keep_checkpoint_max=keep_checkpoint_max,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            log_step_count_steps=log_step_count_steps,
            protocol=protocol,
            session_creation_timeout_secs=session_creation_timeout_secs,
        )
        if save_checkpoints_secs == RunConfig._USE_DEFAULT:
            save_checkpoints_secs = 600 if save_checkpoints_steps is None else None
        # Unlike in tf.estimator.RunConfig both may be given.
        self._set(save_checkpoints_steps=save_checkpoints_steps, save_checkpoints_secs=save_checkpoints_secs)
        self._tf_config = protos.ConfigProto(
            log_device_placement=log_device_placement,
            inter_op_parallelism_threads=num_cores,
            intra_op_parallelism_threads=num_cores,
            gpu_options=protos.GPUOptions(per_process_gpu_memory_fraction=gpu_memory_fraction),
        )
        if not self._values["session_config"]:
            self._values["session_config"] = self._tf_config

    def _init_distributed_setting_from_environment_var(self, tf_config):
        self._service = tf_config.get("service")
        self._read_cluster(tf_config, *self._given_masters)
        jobs = self._cluster_spec.as_dict()
        chief = TaskType.MASTER if TaskType.MASTER in jobs else TaskType.WORKER
        self._global_id_in_cluster = (
            core._global_id(jobs, self._task_type, self._task_id, chief) if jobs else 0
        )

    def _maybe_overwrite_session_config_for_distributed_training(self):
        pass  # sessions of this interface have no filters of devices

    tf_config = property(lambda self: self._tf_config)

    def uid(self, whitelist=None):
        """A text of the settings that is equal for equal ones, but for those whose names `whitelist` has.

        None: seed, session_config and how often summaries and checkpoints are written are left out.
        """
        state = {**{name[1:]: value for name, value in vars(self).items()}, **self._values}
        for name in (*(_DEFAULT_UID_WHITE_LIST if whitelist is None else whitelist), "values"):
            state.pop(name, None)
        if "cluster_spec" in state:
            state["cluster_spec"] = sorted(self._cluster_spec.as_dict().items())
        return ", ".join(f"_{name}={value!r}" for name, value in sorted(state.items()))
