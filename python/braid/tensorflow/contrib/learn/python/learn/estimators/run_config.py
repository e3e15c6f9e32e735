"""RunConfig of tf.contrib.learn: clusters whose first worker is the chief."""

import json
import os

from braid import protos
from braid.tensorflow.python.estimator import run_config as core
from braid.tensorflow.python.training import server_lib

TaskType = core.TaskType


class Environment:
    """Where a program runs."""

    LOCAL = "local"
    CLOUD = "cloud"
    GOOGLE = "google"


class ClusterConfig:
    """What TF_CONFIG says of the cluster."""


class RunConfig(core.RunConfig, ClusterConfig):
    """tf.estimator.RunConfig with older arguments, for clusters with or without a chief or master.

    master: the session target; made from TF_CONFIG if None. The chief is the master, or else worker 0.
    """

    def __init__(
        self,
        master=None,
        num_cores=0,
        log_device_placement=False,
        gpu_memory_fraction=1,
        tf_random_seed=None,
        save_summary_steps=100,
        save_checkpoints_secs=core._UNSET,
        save_checkpoints_steps=core._UNSET,
        keep_checkpoint_max=5,
        keep_checkpoint_every_n_hours=10000,
        log_step_count_steps=100,
        protocol=None,
        evaluation_master="",
        model_dir=None,
        session_config=None,
        session_creation_timeout_secs=7200,
    ):
        self._given_master = master
        self._given_evaluation_master = evaluation_master
        super().__init__(
            model_dir=model_dir,
            tf_random_seed=tf_random_seed,
            save_summary_steps=save_summary_steps,
            save_checkpoints_steps=save_checkpoints_steps,
            save_checkpoints_secs=save_checkpoints_secs,
            session_config=session_config,
            keep_checkpoint_max=keep_checkpoint_max,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            log_step_count_steps=log_step_count_steps,
            protocol=protocol,
            session_creation_timeout_secs=session_creation_timeout_secs,
        )
        if session_config is None and not self._values["session_config"]:
            self._values["session_config"] = protos.ConfigProto(
                log_device_placement=log_device_placement,
                inter_op_parallelism_threads=num_cores,
                intra_op_parallelism_threads=num_cores,
                gpu_options=protos.GPUOptions(per_process_gpu_memory_fraction=gpu_memory_fraction),
            )

    def _init_distributed_setting_from_environment_var(self, tf_config):
        cluster = tf_config.get("cluster") or {}
        self._environment = tf_config.get("environment", Environment.LOCAL)
        self._service = tf_config.get("service")
        self._cluster_spec = server_lib.ClusterSpec(cluster)
        task = tf_config.get("task", {})
        self._task_type = task.get("type") or TaskType.WORKER
        self._task_id = int(task.get("index") or 0)
        jobs = self._cluster_spec.as_dict()
        self._num_ps_replicas = len(jobs.get(TaskType.PS, []))
        trainers = (TaskType.WORKER, TaskType.MASTER, TaskType.CHIEF)
        self._num_worker_replicas = sum(len(jobs.get(job, [])) for job in trainers) or 1
        if self._given_master is not None:
            self._master = self._given_master
        elif cluster and self._environment != Environment.LOCAL or len(jobs) > 1:
            self._master = core._session_master(
                self._cluster_spec, self._task_type, self._task_id, self.protocol, {}
            )
        else:
            self._master = ""
        self._evaluation_master = self._given_evaluation_master
        heads = [job for job in (TaskType.MASTER, TaskType.CHIEF) if job in jobs]
        self._is_chief = self._task_id == 0 and self._task_type == (heads[0] if heads else TaskType.WORKER)
        chief = heads[0] if heads else TaskType.WORKER
        self._global_id_in_cluster = (
            core._global_id(jobs, self._task_type, self._task_id, chief) if jobs else 0
        )

    def _maybe_overwrite_session_config_for_distributed_training(self):
        pass  # sessions of this interface have no filters of devices

    @property
    def environment(self):
        return self._environment

    @property
    def tf_config(self):
        return self.session_config

    @staticmethod
    def get_task_id():
        """The task's index in TF_CONFIG."""
        text = os.environ.get("TF_CONFIG")
        return int(json.loads(text).get("task", {}).get("index") or 0) if text else 0
