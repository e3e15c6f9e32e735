"""train_and_evaluate: the work of a task of a cluster, or of all tasks in turn.

What the task is comes from the estimator's RunConfig, thus from TF_CONFIG: a chief and workers train, a
parameter server serves until they are done, an evaluator evaluates checkpoints as they come. Without a
cluster, training and evaluation take turns: a hook evaluates after a checkpoint was saved.
"""

import collections
import os
import time

from braid.tensorflow.python.estimator import estimator as estimator_lib
from braid.tensorflow.python.estimator import exporter as exporter_lib
from braid.tensorflow.python.estimator import run_config as run_config_lib
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import basic_session_run_hooks
from braid.tensorflow.python.training import server_lib
from braid.tensorflow.python.training import session_run_hook
from braid.tensorflow.python.util import compat
from braid.tensorflow.python.util.tf_export import estimator_export

_MAX_DELAY_SECS = 60
_DELAY_SECS_PER_WORKER = 5
_SECS_BETWEEN_LOOKS = 0.5
_TF_CONFIG_ENV = "TF_CONFIG"
_ENVIRONMENT_KEY = "environment"
_ENVIRONMENT_GOOGLE_VALUE = "google"


def _validate_input_fn(input_fn):
    if not callable(input_fn):
        raise TypeError(f"`input_fn` must be callable, given: {input_fn}")


def _validate_hooks(hooks):
    hooks = tuple(hooks or [])
    for hook in hooks:
        if not isinstance(hook, session_run_hook.SessionRunHook):
            raise TypeError(f"All hooks must be `SessionRunHook` instances, given: {hook}")
    return hooks


def _validate_exporters(exporters):
    if not exporters:
        return ()
    if isinstance(exporters, exporter_lib.Exporter):
        exporters = [exporters]
    names = set()
    try:
        for exporter in exporters:
            if not isinstance(exporter, exporter_lib.Exporter):
                raise TypeError
            if not exporter.name:
                raise ValueError(
                    f"An Exporter cannot have a name that is `None` or empty. All exporter: {exporters}"
                )
            if not isinstance(exporter.name, str):
                raise ValueError(f"An Exporter must have a string name. Given: {type(exporter.name)}")
            if exporter.name in names:
                raise ValueError(
                    f"`exporters` must have unique names. Such a name cannot be repeated: " f"{exporter.name}"
                )
            names.add(exporter.name)
    except TypeError:
        raise TypeError(
            f"`exporters` must be an Exporter, an iterable of Exporter, or `None`, found {exporters}."
        ) from None
    return tuple(exporters)


@estimator_export("estimator.TrainSpec")
class TrainSpec(collections.namedtuple("TrainSpec", ["input_fn", "max_steps", "hooks"])):
    """How to train: the input function, up to which global step (until the input ends if None), hooks."""

    def __new__(cls, input_fn, max_steps=None, hooks=None):
        _validate_input_fn(input_fn)
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        return super().__new__(cls, input_fn=input_fn, max_steps=max_steps, hooks=_validate_hooks(hooks))


@estimator_export("estimator.EvalSpec")
class EvalSpec(
    collections.namedtuple(
        "EvalSpec",
        ["input_fn", "steps", "name", "hooks", "exporters", "start_delay_secs", "throttle_secs"],
    )
):
    """How to evaluate.

    steps: how many batches; until the input ends if None. name: of the directory of events. exporters:
    Exporters, after each evaluation. start_delay_secs: when the first begins. throttle_secs: the time between
    the beginnings of two evaluations, at least.
    """

    def __new__(
        cls,
        input_fn,
        steps=100,
        name=None,
        hooks=None,
        exporters=None,
        start_delay_secs=120,
        throttle_secs=600,
    ):
        _validate_input_fn(input_fn)
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"`name` must be string, given: {name}")
        if start_delay_secs < 0:
            raise ValueError(f"Must specify start_delay_secs >= 0, given: {start_delay_secs}")
        if throttle_secs < 0:
            raise ValueError(f"Must specify throttle_secs >= 0, given: {throttle_secs}")
        return super().__new__(
            cls,
            input_fn=input_fn,
            steps=steps,
            name=name,
            hooks=_validate_hooks(hooks),
            exporters=_validate_exporters(exporters),
            start_delay_secs=start_delay_secs,
            throttle_secs=throttle_secs,
        )


@estimator_export("estimator.train_and_evaluate")
def train_and_evaluate(estimator, train_spec, eval_spec):
    """Does the work of this task. Without a cluster: trains and evaluates in turn.

    Returns (metrics of the last evaluation, results of the exporters) without a cluster, or else None.
    """
    _assert_eval_spec(eval_spec)
    executor = _TrainingExecutor(estimator=estimator, train_spec=train_spec, eval_spec=eval_spec)
    config = estimator.config
    if config.task_type == run_config_lib.TaskType.EVALUATOR and config.task_id > 0:
        raise ValueError(
            "For distributed training, there can only be one `evaluator` task (with task id 0). Given task id "
            f"{config.task_id}"
        )
    return executor.run()


class _StopAtSecsHook(session_run_hook.SessionRunHook):
    """Stops after some seconds."""

    def __init__(self, stop_after_secs):
        self._stop_after_secs = stop_after_secs
        self._start_time = None

    def begin(self):
        self._start_time = time.time()

    def after_run(self, run_context, run_values):
        del run_values
        if time.time() - self._start_time >= self._stop_after_secs:
            run_context.request_stop()


class _NewCheckpointListenerForEvaluate(basic_session_run_hooks.CheckpointSaverListener):
    """Evaluates after each saved checkpoint, but not more often than the eval_spec allows."""

    def __init__(self, evaluator, eval_throttle_secs, continuous_eval_listener):
        self._evaluator = evaluator
        self._throttle_secs = eval_throttle_secs
        self._continuous_eval_listener = continuous_eval_listener
        self.eval_result = None
        self.export_results = None

    def begin(self):
        self._timer = basic_session_run_hooks.SecondOrStepTimer(every_secs=self._throttle_secs)
        self._is_first_run = True

    def after_save(self, session, global_step_value):
        """True: training ends."""
        del session
        # The checkpoint of the first step says nothing.
        if self._is_first_run:
            self._is_first_run = False
            return None
        if not self._continuous_eval_listener.before_eval():
            logging.info(
                "Exiting training and evaluation loop, as requested by _ContinuousEvalListener.before_eval."
            )
            return True
        if not self._timer.should_trigger_for_step(global_step_value):
            logging.info(
                "Skip the current checkpoint eval due to throttle secs (%s secs).", self._throttle_secs
            )
            return None
        self._evaluate(global_step_value)
        if not self._continuous_eval_listener.after_eval(self.eval_result):
            logging.info("Exiting evaluation, as requested by _ContinuousEvalListener.after_eval.")
            return True
        return None

    def end(self, session, global_step_value):
        if global_step_value != self._timer.last_triggered_step():
            if self._continuous_eval_listener.before_eval():
                self._evaluate(global_step_value)
                self._continuous_eval_listener.after_eval(self.eval_result)

    def _evaluate(self, step):
        self._timer.update_last_triggered_step(step)
        self.eval_result, self.export_results = self._evaluator.evaluate_and_export()
        if self.eval_result.status != _EvalStatus.EVALUATED:
            raise RuntimeError(
                f"There was no new checkpoint after the training. Eval status: {self.eval_result.status}"
            )


class _WaitForWorkers(session_run_hook.SessionRunHook):
    """Keeps the session open until the other workers have made their last step, for which they need it."""

    def __init__(self, server):
        self._server = server

    def end(self, session):
        self._server._wait_for_workers()


class _TrainingExecutor:
    """Runs the roles of a cluster for one task."""

    def __init__(self, estimator, train_spec, eval_spec, train_hooks=None, continuous_eval_listener=None):
        if not isinstance(estimator, estimator_lib.EstimatorV2):
            raise TypeError(f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)}")
        self._estimator = estimator
        if not isinstance(train_spec, TrainSpec):
            raise TypeError(f"`train_spec` must have type `tf.estimator.TrainSpec`. Got: {type(train_spec)}")
        self._train_spec = train_spec
        if eval_spec and not isinstance(eval_spec, EvalSpec):
            raise TypeError(
                "`eval_spec` must be either `None` or have type `tf.estimator.EvalSpec`. "
                f"Got: {type(eval_spec)}"
            )
        self._eval_spec = eval_spec
        self._train_hooks = _validate_hooks(train_hooks)
        if continuous_eval_listener and not isinstance(continuous_eval_listener, _ContinuousEvalListener):
            raise TypeError("`continuous_eval_listener` must have type `_ContinuousEvalListener`.")
        self._continuous_eval_listener = continuous_eval_listener or _ContinuousEvalListener()

    @property
    def estimator(self):
        return self._estimator

    def run(self):
        """Runs the task of the estimator's config."""
        config = self._estimator.config
        if (
            not config.cluster_spec or not config.cluster_spec.as_dict()
        ) and config.task_type != run_config_lib.TaskType.EVALUATOR:
            logging.info("Running training and evaluation locally (non-distributed).")
            return self.run_local()
        if not config.task_type:
            raise ValueError(
                "`estimator.config` must have task_type set. This usually means TF_CONFIG environment "
                "is not set correctly."
            )
        available = {
            run_config_lib.TaskType.CHIEF: self.run_chief,
            run_config_lib.TaskType.MASTER: self.run_master,
            run_config_lib.TaskType.WORKER: self.run_worker,
            run_config_lib.TaskType.PS: self.run_ps,
            run_config_lib.TaskType.EVALUATOR: self.run_evaluator,
        }
        if config.task_type == "local":
            raise ValueError(
                "`task.type` in TF_CONFIG cannot be `local`. Leaving `cluster` and `task` properties in "
                "TF_CONFIG absent triggers train and evaluate `Estimator` locally (non-distributed)."
            )
        if config.task_type not in available:
            raise ValueError(
                f"Task type {config.task_type} is not supported. Supported task types are "
                f"{sorted(available)}"
            )
        logging.info("Running in role %s of the cluster", config.task_type)
        return available[config.task_type]()

    def run_chief(self):
        """Trains as the chief."""
        return self._start_distributed_training()

    def run_worker(self):
        """Trains as a worker."""
        return self._start_distributed_training()

    def run_master(self):
        """Trains as the chief, and evaluates after checkpoints."""
        _assert_eval_spec(self._eval_spec)
        evaluator = _Evaluator(self._estimator, self._eval_spec, self._train_spec.max_steps)
        listener = _NewCheckpointListenerForEvaluate(
            evaluator, self._eval_spec.throttle_secs, _ContinuousEvalListener()
        )
        self._start_distributed_training(saving_listeners=[listener])

    def run_evaluator(self):
        """Evaluates checkpoints as they come, the last one at last."""
        return self._start_continuous_evaluation()

    def run_ps(self):
        """Serves until chief and workers are done."""
        server = self._start_std_server(self._estimator.config)
        server.join()

    def run_local(self):
        """Trains and evaluates in turn, in this process. Returns (metrics, results of the exporters)."""
        _assert_eval_spec(self._eval_spec)
        hooks = list(self._train_spec.hooks) + list(self._train_hooks)
        logging.info(
            "Start train and evaluate loop. The evaluate will happen after every checkpoint. Checkpoint "
            "frequency is determined based on RunConfig arguments: save_checkpoints_steps %s or "
            "save_checkpoints_secs %s.",
            self._estimator.config.save_checkpoints_steps,
            self._estimator.config.save_checkpoints_secs,
        )
        evaluator = _Evaluator(self._estimator, self._eval_spec, self._train_spec.max_steps)
        listener = _NewCheckpointListenerForEvaluate(
            evaluator, self._eval_spec.throttle_secs, self._continuous_eval_listener
        )
        self._estimator.train(
            input_fn=self._train_spec.input_fn,
            max_steps=self._train_spec.max_steps,
            hooks=hooks,
            saving_listeners=[listener],
        )
        result = listener.eval_result or _EvalResult(status=_EvalStatus.MISSING_CHECKPOINT)
        return result.metrics, listener.export_results

    def _start_std_server(self, config):
        """The started server of this task; None for the only task of a cluster."""
        if not config.cluster_spec or not config.task_type or config.task_id is None:
            raise RuntimeError(
                "Could not start server; be sure to specify cluster_spec, task_type, and task in "
                "RunConfig or set the TF_CONFIG environment variable."
            )
        if not config.master:
            jobs = config.cluster_spec.jobs
            is_alone = len(jobs) == 1 and len(config.cluster_spec.job_tasks(jobs[0])) == 1
            if not is_alone or config.task_type == run_config_lib.TaskType.PS:
                raise RuntimeError(
                    "Could not start server; be sure to specify master in RunConfig or set the TF_CONFIG "
                    "environment variable."
                )
            logging.info("Skip starting Tensorflow server as there is only one node in the cluster.")
            return None
        # A server that the program started for this task serves already.
        server = server_lib.Server(
            config.cluster_spec,
            job_name=config.task_type,
            task_index=config.task_id,
            config=config.session_config,
            start=False,
            protocol=config.protocol,
        )
        server.start()
        return server

    def _start_distributed_training(self, saving_listeners=None):
        config = self._estimator.config
        server = None if _runs_in_google_environment() else self._start_std_server(config)
        if config.task_type == run_config_lib.TaskType.WORKER:
            # A worker waits, so that the chief finds a quiet server: the usual five seconds for each before
            # it.
            limit = config.experimental_max_worker_delay_secs
            limit = _MAX_DELAY_SECS if limit is None else int(limit)
            delay = min(limit, (config.task_id + 1) * _DELAY_SECS_PER_WORKER)
            if delay > 0:
                logging.info("Waiting %d secs before starting training.", delay)
                time.sleep(delay)
        hooks = list(self._train_spec.hooks) + list(self._train_hooks)
        strategy = config.train_distribute
        if server is not None and strategy is not None and strategy.extended.experimental_between_graph:
            hooks.append(_WaitForWorkers(server))
        self._estimator.train(
            input_fn=self._train_spec.input_fn,
            max_steps=self._train_spec.max_steps,
            hooks=hooks,
            saving_listeners=saving_listeners,
        )
        # The server says at its end that this task is done: the parameter servers wait for it.
        if server is not None and hasattr(server, "close"):
            server.close()

    def _start_continuous_evaluation(self):
        _assert_eval_spec(self._eval_spec)
        if self._eval_spec.start_delay_secs:
            logging.info("Waiting %f secs before starting eval.", self._eval_spec.start_delay_secs)
            time.sleep(self._eval_spec.start_delay_secs)
        evaluator = _Evaluator(self._estimator, self._eval_spec, self._train_spec.max_steps)
        while self._evaluates_again(evaluator, self._eval_spec.throttle_secs):
            if evaluator.is_final_export_triggered:
                return

    def _evaluates_again(self, evaluator, throttle_secs):
        """Evaluates once, and waits until the next evaluation may begin. False: there is none."""
        began = time.time()
        if not self._continuous_eval_listener.before_eval():
            logging.info("Exiting evaluation, as requested by _ContinuousEvalListener.before_eval.")
            return False
        result, _ = evaluator.evaluate_and_export()
        if not self._continuous_eval_listener.after_eval(result):
            logging.info("Exiting evaluation, as requested by _ContinuousEvalListener.after_eval.")
            return False
        if evaluator.is_final_export_triggered:
            return True
        if throttle_secs == 0 and result.status != _EvalStatus.EVALUATED:
            logging.warning(
                "EvalSpec.throttle_secs is set as 0. This might overload the job before finding (next) new "
                "checkpoint. Please consider to increase it."
            )
        rest = throttle_secs - (time.time() - began)
        if result.status != _EvalStatus.EVALUATED:
            # Nothing tells of a new checkpoint but its file: look again soon, but not at once.
            rest = max(rest, _SECS_BETWEEN_LOOKS)
        if rest > 0:
            time.sleep(rest)
        return True


def _runs_in_google_environment():
    import json

    text = os.environ.get(_TF_CONFIG_ENV)
    return bool(text) and json.loads(text).get(_ENVIRONMENT_KEY) == _ENVIRONMENT_GOOGLE_VALUE


def _assert_eval_spec(eval_spec):
    if not isinstance(eval_spec, EvalSpec):
        raise TypeError(f"`eval_spec` must have type `tf.estimator.EvalSpec`. Got: {type(eval_spec)}")


class _EvalStatus:
    """How an evaluation ended."""

    EVALUATED = "evaluated"
    MISSING_CHECKPOINT = "missing checkpoint"
    NO_NEW_CHECKPOINT = "no new checkpoint"


class _EvalResult(collections.namedtuple("EvalResult", ["status", "metrics", "checkpoint_path"])):
    """The metrics of an evaluation, or why there was none."""

    def __new__(cls, status, metrics=None, checkpoint_path=None):
        if status != _EvalStatus.EVALUATED:
            if metrics or checkpoint_path:
                raise ValueError(
                    f"metrics and checkpoint must be `None` if status is not {_EvalStatus.EVALUATED}; got "
                    f"status {status}, metrics {metrics}, checkpoint_path {checkpoint_path}"
                )
            return super().__new__(cls, status, metrics, checkpoint_path)
        if not metrics:
            raise ValueError("Internal error: `Estimator.evaluate` should never return empty metrics.")
        if not isinstance(metrics, dict):
            raise TypeError(f"`Estimator.evaluate` should return dict. Given {type(metrics)}.")
        if ops.GraphKeys.GLOBAL_STEP not in metrics:
            raise ValueError(
                "Internal error: `Estimator.evaluate` result should have `global_step` in result. "
                f"Given {metrics}"
            )
        if not checkpoint_path:
            raise ValueError("Internal error: `checkpoint_path` should never be empty.")
        return super().__new__(cls, status, metrics, checkpoint_path)


class _ContinuousEvalListener:
    """Asked before and after each evaluation of an evaluator, whether to go on."""

    def before_eval(self):
        return True

    def after_eval(self, eval_result):
        del eval_result
        return True


class _Evaluator:
    """Evaluates the newest checkpoint, if it is new, and exports it."""

    def __init__(self, estimator, eval_spec, max_training_steps):
        self._estimator = estimator
        _assert_eval_spec(eval_spec)
        self._eval_spec = eval_spec
        self._is_final_export_triggered = False
        self._previous_ckpt_path = None
        self._last_warning_time = 0
        self._max_training_steps = max_training_steps

    @property
    def is_final_export_triggered(self):
        return self._is_final_export_triggered

    def evaluate_and_export(self):
        """(an _EvalResult, a list of the exporters' results)."""
        latest = self._estimator.latest_checkpoint()
        if not latest:
            self._log_err_msg(
                "Estimator is not trained yet. Will start an evaluation when a checkpoint is ready."
            )
            return _EvalResult(status=_EvalStatus.MISSING_CHECKPOINT), []
        if latest == self._previous_ckpt_path:
            self._log_err_msg(
                "No new checkpoint ready for evaluation. Skip the current evaluation pass as "
                "evaluation results are expected to be same for the same checkpoint."
            )
            return _EvalResult(status=_EvalStatus.NO_NEW_CHECKPOINT), []
        metrics = self._estimator.evaluate(
            input_fn=self._eval_spec.input_fn,
            steps=self._eval_spec.steps,
            name=self._eval_spec.name,
            checkpoint_path=latest,
            hooks=self._eval_spec.hooks,
        )
        result = _EvalResult(status=_EvalStatus.EVALUATED, metrics=metrics, checkpoint_path=latest)
        final = bool(
            self._max_training_steps and metrics[ops.GraphKeys.GLOBAL_STEP] >= self._max_training_steps
        )
        exports = self._export_eval_result(result, final)
        if final:
            self._is_final_export_triggered = True
        self._last_warning_time = 0
        self._previous_ckpt_path = latest
        return result, exports

    def _log_err_msg(self, message):
        now = time.time()
        if now - self._last_warning_time > 600:
            logging.warning(message)
            self._last_warning_time = now

    def _export_eval_result(self, result, is_the_final_export):
        base = os.path.join(compat.as_str_any(self._estimator.model_dir), "export")
        return [
            exporter.export(
                estimator=self._estimator,
                export_path=os.path.join(base, compat.as_str_any(exporter.name)),
                checkpoint_path=result.checkpoint_path,
                eval_result=result.metrics,
                is_the_final_export=is_the_final_export,
            )
            for exporter in self._eval_spec.exporters
        ]
