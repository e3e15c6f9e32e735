"""tf.contrib.learn.monitors: hooks of training (tf.train.SessionRunHook) under their name of before."""

import time

from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import basic_session_run_hooks
from braid.tensorflow.python.training import checkpoint_management
from braid.tensorflow.python.training import session_run_hook
from braid.tensorflow.python.training import training_util


class ValidationMonitor(session_run_hook.SessionRunHook):
    """Evaluates each new checkpoint while `fit` trains, and may end the training early.

    x, y, input_fn, batch_size, metrics, hooks, name: those of `evaluate`; eval_steps: its batches. It looks
    for a checkpoint every `every_n_steps`, and not more often than every `check_interval_secs`. The training
    ends when `early_stopping_metric` has not become better in `early_stopping_rounds` steps.
    """

    def __init__(
        self,
        x=None,
        y=None,
        input_fn=None,
        batch_size=None,
        eval_steps=None,
        every_n_steps=100,
        metrics=None,
        hooks=None,
        early_stopping_rounds=None,
        early_stopping_metric="loss",
        early_stopping_metric_minimize=True,
        name=None,
        check_interval_secs=5,
    ):
        if x is None and input_fn is None:
            raise ValueError("Either x or input_fn should be provided.")
        self._inputs = {"x": x, "y": y, "input_fn": input_fn, "batch_size": batch_size}
        self._more = {"steps": eval_steps, "metrics": metrics, "hooks": hooks, "name": name}
        self._timer = basic_session_run_hooks.SecondOrStepTimer(every_steps=every_n_steps)
        self._timer.update_last_triggered_step(0)  # not at the first step
        self._rounds, self._metric = early_stopping_rounds, early_stopping_metric
        self._is_loss = early_stopping_metric_minimize
        self._interval, self._looked = check_interval_secs, None
        self._estimator = self._evaluated = None
        self.early_stopped = False
        self.best_step = self.best_value = self.best_metrics = None

    def set_estimator(self, estimator):
        """What it evaluates: `fit` says so."""
        self._estimator = estimator

    def begin(self):
        if self._estimator is None:
            raise ValueError("Missing call to set_estimator.")
        self._step = training_util.get_or_create_global_step()

    def before_run(self, run_context):
        return session_run_hook.SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        if not self._timer.should_trigger_for_step(run_values.results + 1):
            return
        step = int(run_context.session.run(self._step))
        if not self._timer.should_trigger_for_step(step):
            return
        self._timer.update_last_triggered_step(step)
        now = time.monotonic()
        if self._interval is not None and self._looked is not None and now - self._looked < self._interval:
            return
        self._looked = now
        checkpoint = checkpoint_management.latest_checkpoint(self._estimator.model_dir)
        if checkpoint is None or checkpoint == self._evaluated:
            return
        given = {name: value for name, value in {**self._inputs, **self._more}.items() if value is not None}
        found = self._estimator.evaluate(**given, checkpoint_path=checkpoint)
        self._evaluated = checkpoint
        logging.info(
            "Validation (step %d): %s", step, ", ".join(f"{name} = {found[name]}" for name in sorted(found))
        )
        if self._is_stalled(step, found):
            logging.info(
                "Stopping. Best step: %d with %s = %s.", self.best_step, self._metric, self.best_value
            )
            self.early_stopped = True
            run_context.request_stop()

    def _is_stalled(self, step, found):
        """Notes the best result. Whether it is too long ago."""
        if self._rounds is None:
            return False
        if self._metric not in found:
            raise ValueError(f"Metric {self._metric} missing from outputs {sorted(found)}.")
        value = found[self._metric]
        if self.best_value is None or (value < self.best_value if self._is_loss else value > self.best_value):
            self.best_value, self.best_step, self.best_metrics = value, step, found
            return False
        return step - self.best_step >= self._rounds


def replace_monitors_with_hooks(monitors_or_hooks, estimator):
    """The list of hooks. A monitor is a hook; it is told the estimator that it watches."""
    hooks = list(monitors_or_hooks or [])
    for hook in hooks:
        if not isinstance(hook, session_run_hook.SessionRunHook):
            raise TypeError(f"a monitor has to be a tf.train.SessionRunHook: {hook!r}")
        if hasattr(hook, "set_estimator"):
            hook.set_estimator(estimator)
    return hooks
