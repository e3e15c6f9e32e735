"""Experiment: an estimator with its inputs, and the work of each task."""

import inspect
import math
import os
import time

from braid.tensorflow.contrib.learn.python.learn import export_strategy
from braid.tensorflow.contrib.learn.python.learn import metric_spec
from braid.tensorflow.contrib.learn.python.learn import monitors
from braid.tensorflow.contrib.learn.python.learn.estimators import estimators
from braid.tensorflow.python.estimator import estimator as core_estimator
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import basic_session_run_hooks
from braid.tensorflow.python.training import checkpoint_management
from braid.tensorflow.python.training import server_lib
from braid.tensorflow.python.util import compat


class Experiment:
    """An estimator with its inputs.

    train_steps: up to which global step; without end if None. eval_steps: batches of an evaluation; until the
    input ends if None. eval_metrics: `metrics` of `evaluate`, for estimators of tf.contrib.learn.
    train_monitors: hooks. min_eval_frequency: after how many steps train_and_evaluate looks for a checkpoint
    to evaluate, not more often than every `check_interval_secs`; 0: it evaluates at the end only.
    local_eval_frequency: that of local_run. train_steps_per_iteration: steps between two evaluations of
    continuous_train_and_eval; a tenth of train_steps, or 1000, if None. eval_delay_secs: how long evaluations
    of a task wait before the first; continuous_eval_throttle_secs: the time from one to the next.
    delay_workers_by_global_step: workers wait for a step, later ones for a later step, not for a time.
    export_strategies: an ExportStrategy or several: they write the trained model below `export` of the
    model's directory. checkpoint_and_export: each checkpoint is evaluated and exported; continuous_eval does
    so anyway.
    """

    def __init__(
        self,
        estimator,
        train_input_fn,
        eval_input_fn,
        eval_metrics=None,
        train_steps=None,
        eval_steps=100,
        train_monitors=None,
        eval_hooks=None,
        local_eval_frequency=None,
        eval_delay_secs=120,
        continuous_eval_throttle_secs=60,
        min_eval_frequency=None,
        delay_workers_by_global_step=False,
        export_strategies=None,
        train_steps_per_iteration=None,
        checkpoint_and_export=False,
        saving_listeners=None,
        check_interval_secs=5,
    ):
        if not isinstance(estimator, core_estimator.EstimatorV2):
            raise ValueError(
                "`estimator` must implement `tf.contrib.learn.Evaluable` and `tf.contrib.learn.Trainable`, or "
                "`tf.estimator.Estimator`."
            )
        if eval_metrics is not None and not isinstance(estimator, estimators._Fit):
            raise ValueError(
                "`eval_metrics` must be `None` with `tf.estimator.Estimator`. Use `eval_metric_ops` in "
                "`tf.estimator.EstimatorSpec` instead."
            )
        self._estimator, self._eval_metrics = estimator, eval_metrics
        self._train_input_fn, self._eval_input_fn = train_input_fn, eval_input_fn
        self._train_steps, self._eval_steps = train_steps, eval_steps
        self._train_hooks, self._eval_hooks = list(train_monitors or []), list(eval_hooks or [])
        self._eval_delay_secs, self._throttle_secs = eval_delay_secs, continuous_eval_throttle_secs
        self._delay_by_step = delay_workers_by_global_step
        if train_steps_per_iteration is not None and not isinstance(train_steps_per_iteration, int):
            raise ValueError("`train_steps_per_iteration` must be an integer.")
        self._train_steps_per_iteration = train_steps_per_iteration
        self._min_eval_frequency = 1 if min_eval_frequency is None else min_eval_frequency
        self._local_eval_frequency, self._check_interval_secs = local_eval_frequency, check_interval_secs
        self._saving_listeners = list(saving_listeners or [])
        self._checkpoint_and_export = checkpoint_and_export
        self.reset_export_strategies(export_strategies)

    @property
    def estimator(self):
        return self._estimator

    @property
    def eval_metrics(self):
        return self._eval_metrics

    @property
    def train_steps(self):
        return self._train_steps

    @property
    def eval_steps(self):
        return self._eval_steps

    def reset_export_strategies(self, new_export_strategies=None):
        """Sets the ExportStrategy objects. Returns those before."""
        old = getattr(self, "_export_strategies", ())
        new = new_export_strategies or ()
        new = (new,) if isinstance(new, export_strategy.ExportStrategy) else tuple(new)
        for value in new:
            if not isinstance(value, export_strategy.ExportStrategy):
                raise ValueError(
                    "`export_strategies` must be an ExportStrategy, an iterable of ExportStrategy, or `None`, "
                    f"found {value}."
                )
        self._export_strategies = new
        return old

    def _export(self, eval_result, checkpoint_path=None):
        """Lets the strategies write the model. Returns their results."""
        base = os.path.join(compat.as_bytes(self._estimator.model_dir), b"export")
        return [
            strategy.export(
                self._estimator,
                os.path.join(base, compat.as_bytes(strategy.name)),
                checkpoint_path=checkpoint_path,
                eval_result=eval_result,
            )
            for strategy in self._export_strategies
        ]

    def extend_train_hooks(self, additional_hooks):
        self._train_hooks.extend(additional_hooks)

    def extend_eval_hooks(self, additional_hooks):
        self._eval_hooks.extend(additional_hooks)

    def train(self, delay_secs=None):
        """Trains as this task: workers of a cluster begin `delay_secs` later, 5 seconds for each by
        default."""
        return self._train(delay_secs)

    def _train(self, delay_secs, hooks=(), saving_listeners=()):
        config = self._estimator.config
        server = None
        if config.cluster_spec and config.cluster_spec.as_dict() and config.master:
            server = self._start_server()
        hooks = [*self._train_hooks, *hooks]
        if delay_secs is None:
            if self._delay_by_step:
                first = int(8000.0 * math.log((config.task_id or 0) + 1))
                hooks.append(basic_session_run_hooks.GlobalStepWaiterHook(first))
            # Only workers of a cluster wait.
            delay_secs = min(60, config.task_id * 5) if server is not None and not self._delay_by_step else 0
        if delay_secs > 0:
            logging.info("Waiting %d secs before starting training.", delay_secs)
            time.sleep(delay_secs)
        result = self._estimator.train(
            input_fn=self._train_input_fn,
            max_steps=self._train_steps,
            hooks=monitors.replace_monitors_with_hooks(hooks, self._estimator),
            saving_listeners=[*saving_listeners, *self._saving_listeners],
        )
        # At its end the server says that this task is done: the parameter servers wait for it.
        if server is not None and hasattr(server, "close"):
            server.close()
        return result

    def _start_server(self):
        config = self._estimator.config
        return server_lib.Server(
            config.cluster_spec,
            job_name=config.task_type,
            task_index=config.task_id,
            config=config.session_config,
            protocol=config.protocol,
        )

    def evaluate(self, delay_secs=None, name=None):
        """Evaluates the newest checkpoint once, after `delay_secs`, eval_delay_secs if None. Returns the
        metrics.
        """
        self._wait_to_evaluate(delay_secs)
        return self._evaluate(name=name or "one_pass")

    def _wait_to_evaluate(self, delay_secs):
        delay_secs = self._eval_delay_secs if delay_secs is None else delay_secs
        if delay_secs:
            logging.info("Waiting %d secs before starting eval.", delay_secs)
            time.sleep(delay_secs)

    def _evaluate(self, name=None, checkpoint_path=None, input_fn=None, steps=None):
        return self._evaluated().evaluate(
            input_fn=input_fn or self._eval_input_fn,
            steps=self._eval_steps if steps is None else steps,
            hooks=list(self._eval_hooks),
            checkpoint_path=checkpoint_path,
            name=name,
        )

    def _evaluated(self):
        """The estimator with the metrics of evaluations."""
        if not self._eval_metrics:
            return self._estimator
        return metric_spec.add_metrics(self._estimator, self._eval_metrics)

    def continuous_eval(
        self,
        delay_secs=None,
        throttle_delay_secs=None,
        evaluate_checkpoint_only_once=True,
        continuous_eval_predicate_fn=None,
        name="continuous",
    ):
        """Evaluates and exports checkpoints as they come, after `delay_secs` and not more often than every
        `throttle_delay_secs` (those of the experiment if None), until that of step train_steps.

        continuous_eval_predicate_fn: a function of the last metrics (None before the first), and of
        `checkpoint_path` if it takes that: False ends the evaluations.
        """
        self._evaluate_checkpoints(
            self._eval_input_fn,
            name,
            delay_secs,
            throttle_delay_secs,
            evaluate_checkpoint_only_once,
            continuous_eval_predicate_fn,
            exports=True,
        )

    def continuous_eval_on_train_data(
        self,
        delay_secs=None,
        throttle_delay_secs=None,
        continuous_eval_predicate_fn=None,
        name="continuous_on_train_data",
    ):
        """continuous_eval with the input of the training, without exports."""
        self._evaluate_checkpoints(
            self._train_input_fn,
            name,
            delay_secs,
            throttle_delay_secs,
            True,
            continuous_eval_predicate_fn,
            exports=False,
        )

    def _evaluate_checkpoints(self, input_fn, name, delay_secs, throttle_secs, only_once, predicate, exports):
        goes_on = _predicate(predicate)
        throttle_secs = self._throttle_secs if throttle_secs is None else throttle_secs
        self._wait_to_evaluate(delay_secs)
        metrics = last = None
        while goes_on(metrics, last) and not self._has_reached_the_end(metrics):
            start, path = time.monotonic(), checkpoint_management.latest_checkpoint(self._estimator.model_dir)
            if path and not (only_once and path == last):
                metrics = self._evaluate(name, path, input_fn) or {}
                if exports:
                    self._export(metrics, path)
                last = path
            else:
                metrics = {}
                logging.info("No new checkpoint ready for evaluation.")
            if not self._has_reached_the_end(metrics):
                time.sleep(max(0, throttle_secs - (time.monotonic() - start)))

    def _has_reached_the_end(self, metrics):
        """Whether the metrics are of a model that was trained for all steps."""
        step = (metrics or {}).get("global_step")
        return bool(step and self._train_steps and step >= self._train_steps)

    def train_and_evaluate(self):
        """Trains, evaluates checkpoints meanwhile and at the end, and exports. Returns (metrics, results of
        the exports).
        """
        config = self._estimator.config
        if self._checkpoint_and_export and (config.save_checkpoints_secs or config.save_checkpoints_steps):
            listener = _EvalAndExportListener(self)
            self._train(0, saving_listeners=[listener])
            return listener.eval_result, listener.export_results
        hooks = []
        if self._min_eval_frequency:
            monitor = monitors.ValidationMonitor(
                input_fn=self._eval_input_fn,
                eval_steps=self._eval_steps,
                metrics=self._eval_metrics,
                every_n_steps=self._min_eval_frequency,
                hooks=list(self._eval_hooks),
                check_interval_secs=self._check_interval_secs,
            )
            hooks.append(monitor)
        self._train(0, hooks)
        metrics = self._evaluate()
        return metrics, self._export(metrics)

    def local_run(self):
        """train_and_evaluate with local_eval_frequency for min_eval_frequency."""
        before, self._min_eval_frequency = self._min_eval_frequency, self._local_eval_frequency
        try:
            return self.train_and_evaluate()
        finally:
            self._min_eval_frequency = before

    def continuous_train_and_eval(self, continuous_eval_predicate_fn=None):
        """Trains for some steps and evaluates, in turns, until train_steps. Returns the last metrics and the
        results of their exports.

        continuous_eval_predicate_fn: as for continuous_eval.
        """
        goes_on = _predicate(continuous_eval_predicate_fn)
        steps = self._train_steps_per_iteration
        if steps is None:
            steps = 1000 if self._train_steps is None else int(self._train_steps / 10)
        metrics = exported = path = None
        while goes_on(metrics, path) and not self._has_reached_the_end(metrics):
            self._train_for(steps)
            path = checkpoint_management.latest_checkpoint(self._estimator.model_dir)
            metrics = self._evaluate("one_pass", path)
            exported = self._export(metrics)
        return metrics, exported

    def _train_for(self, steps):
        self._estimator.train(
            self._train_input_fn,
            steps=steps,
            hooks=monitors.replace_monitors_with_hooks(self._train_hooks, self._estimator),
            saving_listeners=list(self._saving_listeners),
        )

    def run_std_server(self):
        """Serves until the others are done."""
        self._start_server().join()

    def test(self):
        """One step, one evaluation, one export. Returns the metrics."""
        self._train_for(1)
        metrics = self._evaluate("one_pass", steps=1)
        self._export(metrics)
        return metrics


class _EvalAndExportListener(basic_session_run_hooks.CheckpointSaverListener):
    """Evaluates and exports each checkpoint."""

    def __init__(self, experiment):
        self._experiment = experiment
        self._path = self.eval_result = self.export_results = None

    def after_save(self, session, global_step_value):
        of = self._experiment
        path = checkpoint_management.latest_checkpoint(of.estimator.model_dir)
        if not path or path == self._path:
            return
        self.eval_result = of._evaluate("intermediate_export", path)
        self.export_results = of._export(self.eval_result, path)
        self._path = path


def _predicate(function):
    """function(metrics, path) that says whether to go on, of one that may take the metrics alone, or None."""
    if function is None:
        return lambda metrics, path: True
    if not callable(function):
        raise ValueError("`continuous_eval_predicate_fn` must be a callable, or None.")
    if "checkpoint_path" in inspect.signature(function).parameters:
        return lambda metrics, path: function(metrics, checkpoint_path=path)
    return lambda metrics, path: function(metrics)
