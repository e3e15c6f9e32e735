"""Experiment: an estimator with its inputs, and the work of each task."""

import os
import time

from braid.tensorflow.contrib.learn.python.learn import export_strategy
from braid.tensorflow.contrib.learn.python.learn import metric_spec
from braid.tensorflow.contrib.learn.python.learn.estimators import estimators
from braid.tensorflow.python.estimator import estimator as core_estimator
from braid.tensorflow.python.estimator import exporter as core_exporter
from braid.tensorflow.python.estimator import training as core_training
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import basic_session_run_hooks
from braid.tensorflow.python.training import checkpoint_management
from braid.tensorflow.python.training import server_lib
from braid.tensorflow.python.util import compat


class Experiment:
    """An estimator with its inputs.

    train_steps: up to which global step; without end if None. eval_steps: batches of an evaluation; until the
    input ends if None. eval_metrics: `metrics` of `evaluate`, for estimators of tf.contrib.learn.
    train_monitors: hooks. min_eval_frequency: not used, evaluations follow checkpoints.
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
        self._saving_listeners = list(saving_listeners or [])
        self._checkpoint_and_export = checkpoint_and_export
        self.reset_export_strategies(export_strategies)

    @property
    def estimator(self):
        return self._estimator

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

    def train(self, delay_secs=None, saving_listeners=None):
        """Trains as this task: workers of a cluster begin `delay_secs` later, 5 seconds for each by
        default."""
        config = self._estimator.config
        server = None
        if config.cluster_spec and config.cluster_spec.as_dict() and config.master:
            server = self._start_server()
        if delay_secs is None:
            # Only workers of a cluster wait.
            delay_secs = min(60, config.task_id * 5) if server is not None and not self._delay_by_step else 0
        if delay_secs > 0:
            logging.info("Waiting %d secs before starting training.", delay_secs)
            time.sleep(delay_secs)
        result = self._estimator.train(
            input_fn=self._train_input_fn,
            max_steps=self._train_steps,
            hooks=list(self._train_hooks),
            saving_listeners=list(saving_listeners or []) + self._saving_listeners,
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
        """Evaluates the newest checkpoint once. Returns the metrics."""
        if delay_secs:
            time.sleep(delay_secs)
        return self._evaluated().evaluate(
            input_fn=self._eval_input_fn,
            steps=self._eval_steps,
            hooks=list(self._eval_hooks),
            name=name or "one_pass",
        )

    def _evaluated(self):
        """The estimator with the metrics of evaluations."""
        if not self._eval_metrics:
            return self._estimator
        return metric_spec.add_metrics(self._estimator, self._eval_metrics)

    def _eval_spec(self, exports):
        """exports: whether each evaluation exports."""
        return core_training.EvalSpec(
            self._eval_input_fn,
            steps=self._eval_steps,
            hooks=self._eval_hooks,
            exporters=[_Exports(self)] if exports and self._export_strategies else [],
            start_delay_secs=self._eval_delay_secs,
            throttle_secs=self._throttle_secs,
        )

    def continuous_eval(
        self,
        delay_secs=None,
        throttle_delay_secs=None,
        evaluate_checkpoint_only_once=True,
        continuous_eval_predicate_fn=None,
        name="continuous",
    ):
        """Evaluates checkpoints as they come, until the last one."""
        executor = core_training._TrainingExecutor(
            self._evaluated(),
            core_training.TrainSpec(self._train_input_fn, max_steps=self._train_steps),
            self._eval_spec(exports=True),
        )
        return executor.run_evaluator()

    def train_and_evaluate(self):
        """Trains, evaluates after checkpoints, and exports. Returns (metrics, results of the exports)."""
        config = self._estimator.config
        if self._checkpoint_and_export and (config.save_checkpoints_secs or config.save_checkpoints_steps):
            listener = _EvalAndExportListener(self)
            self.train(delay_secs=0, saving_listeners=[listener])
            return listener.eval_result, listener.export_results
        evaluator = core_training._Evaluator(
            self._evaluated(), self._eval_spec(exports=False), self._train_steps
        )
        listener = core_training._NewCheckpointListenerForEvaluate(
            evaluator, self._throttle_secs, core_training._ContinuousEvalListener()
        )
        self.train(delay_secs=0, saving_listeners=[listener])
        metrics = (listener.eval_result or evaluator.evaluate_and_export()[0]).metrics
        return metrics, self._export(metrics)

    continuous_train_and_eval = train_and_evaluate
    local_run = train_and_evaluate

    def run_std_server(self):
        """Serves until the others are done."""
        self._start_server().join()

    def test(self):
        """One step, one evaluation, one export. Returns the metrics."""
        self._estimator.train(self._train_input_fn, steps=1, hooks=list(self._train_hooks))
        metrics = self._evaluated().evaluate(self._eval_input_fn, steps=1, name="one_pass")
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
        self.eval_result = of._evaluated().evaluate(
            input_fn=of._eval_input_fn,
            steps=of.eval_steps,
            hooks=list(of._eval_hooks),
            checkpoint_path=path,
            name="intermediate_export",
        )
        self.export_results = of._export(self.eval_result, path)
        self._path = path


class _Exports(core_exporter.Exporter):
    """The export strategies of an Experiment as one of tf.estimator's exporters."""

    def __init__(self, experiment):
        self._experiment = experiment

    @property
    def name(self):
        return "export_strategies"

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        return self._experiment._export(eval_result, checkpoint_path)
