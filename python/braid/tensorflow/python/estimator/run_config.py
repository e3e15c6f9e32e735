"""RunConfig: where and how an estimator runs, from arguments and the environment variable TF_CONFIG.

TF_CONFIG is JSON: {"cluster": {job: [addresses]}, "task": {"type": job, "index": n}}, with further keys
"environment", "master" and "eval_session_master", "service". A cluster of more than one task has a chief (or
a master), workers and parameter servers; an evaluator is a task outside of the cluster's addresses.
"""

import copy
import json
import os

from braid import protos
from braid.tensorflow.python.training import server_lib
from braid.tensorflow.python.util import function_utils
from braid.tensorflow.python.util.tf_export import estimator_export

_TF_CONFIG_ENV = "TF_CONFIG"
_TASK_ENV_KEY = "task"
_CLUSTER_KEY = "cluster"
_SERVICE_KEY = "service"
_SESSION_MASTER_KEY = "session_master"
_EVAL_SESSION_MASTER_KEY = "eval_session_master"
_MODEL_DIR_KEY = "model_dir"

_REPLACEABLE = {
    "model_dir",
    "tf_random_seed",
    "save_summary_steps",
    "save_checkpoints_steps",
    "save_checkpoints_secs",
    "session_config",
    "keep_checkpoint_max",
    "keep_checkpoint_every_n_hours",
    "log_step_count_steps",
    "train_distribute",
    "device_fn",
    "protocol",
    "eval_distribute",
    "experimental_distribute",
    "experimental_max_worker_delay_secs",
    "session_creation_timeout_secs",
}

_UNSET = object()
_USE_DEFAULT = _UNSET


class TaskType:
    """The jobs of a cluster."""

    MASTER = "master"
    PS = "ps"
    WORKER = "worker"
    CHIEF = "chief"
    EVALUATOR = "evaluator"


def _check(condition, message):
    if not condition:
        raise ValueError(message)


def _is_count(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _strategy(name, given, experimental_distribute):
    """The strategy under a name, from the argument of RunConfig or from a DistributeConfig."""
    other = getattr(experimental_distribute, name, None)
    if other is None:
        return given
    _check(given is None, f"Either `{name}` or `experimental_distribute.{name}` can be set.")
    return other


def _session_master(cluster_spec, task_type, task_id, protocol, tf_config):
    """The session target of a task of the cluster."""
    if _SESSION_MASTER_KEY in tf_config:
        return tf_config[_SESSION_MASTER_KEY]
    if sum(len(cluster_spec.job_tasks(job)) for job in cluster_spec.jobs) == 1:
        return ""
    return f"{protocol or 'grpc'}://{cluster_spec.job_tasks(task_type)[task_id]}"


def _task_of(tf_config, cluster_spec, chief_type):
    """(type, index) of the task of a cluster. chief_type: the job that has one task; None for any."""
    jobs = cluster_spec.as_dict()
    if chief_type is not None:
        _check(chief_type in jobs, f'If "cluster" is set in TF_CONFIG, it must have one "{chief_type}" node.')
        _check(
            len(jobs[chief_type]) == 1, f'The "cluster" in TF_CONFIG must have only one "{chief_type}" node.'
        )
    task = tf_config.get(_TASK_ENV_KEY, {})
    task_type, index = task.get("type"), task.get("index")
    _check(task_type, 'If "cluster" is set in TF_CONFIG, task type must be set.')
    _check(index is not None, 'If "cluster" is set in TF_CONFIG, task index must be set.')
    index = int(index)
    _check(index >= 0, "Task index must be non-negative number.")
    if task_type == TaskType.EVALUATOR:
        return task_type, index
    note = "\n\nNote that these values may be coming from the TF_CONFIG environment variable."
    _check(
        task_type in jobs, f"{task_type} is not a valid task_type in the cluster_spec:\n{cluster_spec}{note}"
    )
    _check(
        index < len(jobs[task_type]),
        f"{index} is not a valid task_id for task_type {task_type} in the cluster_spec:\n{cluster_spec}{note}",
    )
    return task_type, index


@estimator_export("estimator.RunConfig")
class RunConfig:
    """The settings of an estimator's runs.

    model_dir: where checkpoints and events are. tf_random_seed: the graph's seed. save_summary_steps: how
    often summaries are written. save_checkpoints_steps, save_checkpoints_secs: how often checkpoints are, 600
    seconds if neither is given; both None for never. session_config: a ConfigProto. keep_checkpoint_max: how
    many recent checkpoints stay; 0 for all. log_step_count_steps: how often loss and steps per second are
    logged. train_distribute, eval_distribute: a tf.distribute.Strategy; experimental_distribute: a
    DistributeConfig with both. device_fn: a function from operations to devices. protocol: "grpc" if None.
    """

    def __init__(
        self,
        model_dir=None,
        tf_random_seed=None,
        save_summary_steps=100,
        save_checkpoints_steps=_UNSET,
        save_checkpoints_secs=_UNSET,
        session_config=None,
        keep_checkpoint_max=5,
        keep_checkpoint_every_n_hours=10000,
        log_step_count_steps=100,
        train_distribute=None,
        device_fn=None,
        protocol=None,
        eval_distribute=None,
        experimental_distribute=None,
        experimental_max_worker_delay_secs=None,
        session_creation_timeout_secs=7200,
        checkpoint_save_graph_def=True,
    ):
        if save_checkpoints_steps is _UNSET and save_checkpoints_secs is _UNSET:
            save_checkpoints_steps, save_checkpoints_secs = None, 600
        elif save_checkpoints_secs is _UNSET:
            save_checkpoints_secs = None
        elif save_checkpoints_steps is _UNSET:
            save_checkpoints_steps = None
        elif save_checkpoints_steps is not None and save_checkpoints_secs is not None:
            raise ValueError("`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set.")
        train_distribute, eval_distribute = (
            _strategy(name, given, experimental_distribute)
            for name, given in (("train_distribute", train_distribute), ("eval_distribute", eval_distribute))
        )
        self._verify_strategy_compatibility(train_distribute, eval_distribute)
        text = os.environ.get(_TF_CONFIG_ENV)
        try:
            tf_config = json.loads(text) if text else {}
        except ValueError as error:
            raise ValueError(f"TF_CONFIG is not JSON: {error}") from None
        if tf_config:
            from braid.tensorflow.python.platform import tf_logging as logging

            logging.info("TF_CONFIG environment variable: %s", tf_config)
        model_dir = _model_dir(tf_config, model_dir)
        self._values = {}
        self._set(
            model_dir=model_dir,
            tf_random_seed=tf_random_seed,
            save_summary_steps=save_summary_steps,
            save_checkpoints_steps=save_checkpoints_steps,
            save_checkpoints_secs=save_checkpoints_secs,
            session_config=session_config,
            keep_checkpoint_max=keep_checkpoint_max,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            log_step_count_steps=log_step_count_steps,
            train_distribute=train_distribute,
            device_fn=device_fn,
            protocol=protocol,
            eval_distribute=eval_distribute,
            experimental_distribute=experimental_distribute,
            experimental_max_worker_delay_secs=experimental_max_worker_delay_secs,
            session_creation_timeout_secs=session_creation_timeout_secs,
        )
        self._checkpoint_save_graph_def = checkpoint_save_graph_def
        self._init_distributed_setting_from_environment_var(tf_config)
        self._maybe_overwrite_session_config_for_distributed_training()

    @staticmethod
    def _verify_strategy_compatibility(train_distribute, eval_distribute):
        from braid.tensorflow.python.distribute import distribute_lib

        for strategy in (train_distribute, eval_distribute):
            if strategy is not None and not isinstance(strategy, distribute_lib.Strategy):
                raise ValueError(f"RunConfig: a tf.distribute.Strategy is needed, not {strategy!r}")

    def _set(self, **values):
        """Takes settings over after a check."""
        positive = lambda v: v > 0  # noqa: E731
        not_negative = lambda v: v >= 0  # noqa: E731
        for name, value in values.items():
            if value is None:
                pass
            elif name == "model_dir":
                _check(value, "model_dir should be non-empty")
            elif name in ("save_summary_steps", "save_checkpoints_steps", "save_checkpoints_secs"):
                _check(not_negative(value), f"{name} should be >= 0")
            elif name == "session_config":
                _check(
                    hasattr(value, "DESCRIPTOR") and value.DESCRIPTOR.name == "ConfigProto",
                    "session_config must be instance of ConfigProto",
                )
            elif name == "keep_checkpoint_max":
                _check(not_negative(value), "keep_checkpoint_max should be >= 0")
            elif name in (
                "keep_checkpoint_every_n_hours",
                "log_step_count_steps",
                "session_creation_timeout_secs",
            ):
                _check(positive(value), f"{name} should be > 0")
            elif name == "tf_random_seed":
                _check(_is_count(value) or hasattr(value, "__index__"), "tf_random_seed must be integer.")
            elif name == "experimental_max_worker_delay_secs":
                _check(_is_count(value), f"{name} must be an integer if set.")
            elif name == "device_fn":
                _check(
                    callable(value) and set(function_utils.fn_args(value)) == {"op"},
                    'device_fn must be callable with exactly one argument "op".',
                )
            elif name == "protocol":
                _check(value in (None, "grpc", "grpc+verbs"), "protocol should be grpc or grpc+verbs")
            self._values[name] = value

    def _init_distributed_setting_from_environment_var(self, tf_config):
        self._service = tf_config.get(_SERVICE_KEY)
        if self._service is not None and not isinstance(self._service, dict):
            raise TypeError(
                f'If "service" is set in TF_CONFIG, it must be a dict. Given {type(self._service)}'
            )
        self._cluster_spec = server_lib.ClusterSpec(tf_config.get(_CLUSTER_KEY) or {})
        jobs = self._cluster_spec.as_dict()
        if not jobs:
            self._init_local(tf_config)
            return
        has_master = TaskType.MASTER in jobs
        _check(
            not (has_master and TaskType.CHIEF in jobs),
            "If `master` node exists in `cluster`, job `chief` is not supported.",
        )
        chief_type = TaskType.MASTER if has_master else TaskType.CHIEF
        strategy = self._values["train_distribute"]
        has_no_chief = strategy is not None and chief_type not in jobs
        task_type, task_id = _task_of(tf_config, self._cluster_spec, None if has_no_chief else chief_type)
        self._task_type, self._task_id = task_type, task_id
        self._is_chief = task_type == chief_type
        if has_no_chief:  # the first worker is the chief
            self._is_chief = task_type == TaskType.WORKER and task_id == 0
        if task_type == TaskType.EVALUATOR:
            _check(
                not has_master,
                "If `master` node exists in `cluster`, task_type `evaluator` is not supported.",
            )
            self._evaluation_master = tf_config.get(_EVAL_SESSION_MASTER_KEY, "")
            self._master = ""
            self._num_ps_replicas = self._num_worker_replicas = 0
            self._global_id_in_cluster = None
            self._cluster_spec = server_lib.ClusterSpec({})
            return
        self._evaluation_master = ""
        self._num_ps_replicas = len(jobs.get(TaskType.PS, []))
        self._num_worker_replicas = len(jobs.get(TaskType.WORKER, [])) + len(jobs.get(chief_type, []))
        self._master = _session_master(self._cluster_spec, task_type, task_id, self.protocol, tf_config)
        self._global_id_in_cluster = _global_id(jobs, task_type, task_id, chief_type)

    def _init_local(self, tf_config):
        task = tf_config.get(_TASK_ENV_KEY, {})
        self._task_type, self._task_id = task.get("type", TaskType.WORKER), int(task.get("index", 0))
        _check(
            self._task_type == TaskType.WORKER,
            'If "cluster" is not set in TF_CONFIG, task type must be WORKER.',
        )
        _check(self._task_id == 0, 'If "cluster" is not set in TF_CONFIG, task index must be 0.')
        self._num_ps_replicas, self._num_worker_replicas, self._is_chief = 0, 1, True
        self._global_id_in_cluster = 0
        self._master = tf_config.get(_SESSION_MASTER_KEY, "")
        self._evaluation_master = tf_config.get(_EVAL_SESSION_MASTER_KEY, "")

    def _maybe_overwrite_session_config_for_distributed_training(self):
        if self.session_config is None and self._cluster_spec.as_dict():
            self._values["session_config"] = _distributed_session_config(self._task_type, self._task_id)
        strategy = self._values["train_distribute"]
        if strategy is not None and self._cluster_spec.as_dict():
            config = self._values["session_config"] or get_default_session_config()
            self._values["session_config"] = strategy.update_config_proto(config)

    @property
    def cluster_spec(self):
        return self._cluster_spec

    @property
    def evaluation_master(self):
        return self._evaluation_master

    @property
    def is_chief(self):
        return self._is_chief

    @property
    def master(self):
        return self._master

    @property
    def num_ps_replicas(self):
        return self._num_ps_replicas

    @property
    def num_worker_replicas(self):
        return self._num_worker_replicas

    @property
    def task_id(self):
        return self._task_id

    @property
    def task_type(self):
        return self._task_type

    @property
    def global_id_in_cluster(self):
        """The number of the task among chief, workers, parameter servers, in this order. None for an
        evaluator."""
        return self._global_id_in_cluster

    @property
    def service(self):
        return self._service

    model_dir = property(lambda self: self._values["model_dir"])
    tf_random_seed = property(lambda self: self._values["tf_random_seed"])
    save_summary_steps = property(lambda self: self._values["save_summary_steps"])
    save_checkpoints_steps = property(lambda self: self._values["save_checkpoints_steps"])
    save_checkpoints_secs = property(lambda self: self._values["save_checkpoints_secs"])
    session_config = property(lambda self: self._values["session_config"])
    keep_checkpoint_max = property(lambda self: self._values["keep_checkpoint_max"])
    keep_checkpoint_every_n_hours = property(lambda self: self._values["keep_checkpoint_every_n_hours"])
    log_step_count_steps = property(lambda self: self._values["log_step_count_steps"])
    train_distribute = property(lambda self: self._values["train_distribute"])
    eval_distribute = property(lambda self: self._values["eval_distribute"])
    device_fn = property(lambda self: self._values["device_fn"])
    protocol = property(lambda self: self._values["protocol"])
    session_creation_timeout_secs = property(lambda self: self._values["session_creation_timeout_secs"])
    experimental_max_worker_delay_secs = property(
        lambda self: self._values["experimental_max_worker_delay_secs"]
    )
    checkpoint_save_graph_def = property(lambda self: self._checkpoint_save_graph_def)

    @property
    def _experimental_distribute(self):
        return self._values["experimental_distribute"]

    @property
    def _distribute_coordinator_mode(self):
        return None

    def replace(self, **kwargs):
        """A copy with some settings changed. ValueError for those that TF_CONFIG decides."""
        result = copy.deepcopy(self)
        steps, secs = kwargs.get("save_checkpoints_steps"), kwargs.get("save_checkpoints_secs")
        if steps is not None and secs is not None:
            raise ValueError("`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set.")
        for name in kwargs:
            if name not in _REPLACEABLE:
                raise ValueError(
                    f"Replacing {name} is not supported. Allowed properties are " f"{sorted(_REPLACEABLE)}."
                )
        if steps is not None:
            kwargs.setdefault("save_checkpoints_secs", None)
        elif secs is not None:
            kwargs.setdefault("save_checkpoints_steps", None)
        result._set(**kwargs)
        return result

    def __deepcopy__(self, memo):
        result = copy.copy(self)
        result._values = dict(self._values)
        return result

    def __repr__(self):
        values = dict(self._values, task_type=self._task_type, task_id=self._task_id, master=self._master)
        return f"RunConfig({', '.join(f'{k}={v!r}' for k, v in sorted(values.items()))})"


def _model_dir(tf_config, model_dir):
    if model_dir == "":
        raise ValueError("model_dir should be non-empty.")
    in_config = tf_config.get(_MODEL_DIR_KEY)
    if in_config == "":
        raise ValueError("model_dir in TF_CONFIG should be non-empty.")
    if in_config and model_dir and in_config != model_dir:
        raise ValueError(
            "`model_dir` provided in RunConfig construct, if set, must have the same value as the "
            f'model_dir in TF_CONFIG. model_dir: {model_dir}\nTF_CONFIG["model_dir"]: {in_config}.\n'
        )
    return os.fspath(model_dir) if model_dir else in_config


def _global_id(jobs, task_type, task_id, chief_type):
    """The number of the task: the chief is the first one, parameter servers are the last."""
    others = [job for job in sorted(jobs) if job not in (chief_type, TaskType.PS)]
    before = 0
    for job in [chief_type, *others, TaskType.PS]:
        if job == task_type:
            return before + task_id
        before += len(jobs.get(job, []))
    return None


def _distributed_session_config(task_type, task_id):
    """Sessions that use the parameter servers and the task's own devices only; None for other tasks."""
    filters = {
        TaskType.MASTER: ["/job:ps", "/job:master"],
        TaskType.CHIEF: ["/job:ps", "/job:chief"],
        TaskType.WORKER: ["/job:ps", f"/job:worker/task:{task_id}"],
        TaskType.PS: ["/job:ps", "/job:worker", "/job:chief", "/job:master"],
    }.get(task_type)
    if filters is None:
        return None
    config = get_default_session_config()
    config.device_filters.extend(filters)
    return config


def get_default_session_config():
    """The ConfigProto of a RunConfig that has none."""
    config = protos.ConfigProto(allow_soft_placement=True)
    config.graph_options.rewrite_options.meta_optimizer_iterations = protos.RewriterConfig.ONE
    return config


def path_to_str(path):
    """A path as a string."""
    return os.fspath(path)
