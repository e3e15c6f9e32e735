"""Hooks that stop training when a metric of the evaluations is no longer better."""

import collections
import os
import operator

from braid.tensorflow.python.estimator import estimator as estimator_lib
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.summary import summary_iterator
from braid.tensorflow.python.training import basic_session_run_hooks
from braid.tensorflow.python.training import session_run_hook
from braid.tensorflow.python.training import training_util
from braid.tensorflow.python.util.tf_export import estimator_export

_EVENT_FILE_GLOB_PATTERN = "events.out.tfevents.*"


@estimator_export("estimator.experimental.make_early_stopping_hook")
def make_early_stopping_hook(estimator, should_stop_fn, run_every_secs=60, run_every_steps=None):
    """A hook that stops all tasks when should_stop_fn() is true, which the chief asks.

    run_every_secs, run_every_steps: how often; one of them.
    """
    if not isinstance(estimator, estimator_lib.EstimatorV2):
        raise TypeError(f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)}")
    if run_every_secs is not None and run_every_steps is not None:
        raise ValueError("Only one of `run_every_secs` and `run_every_steps` must be set.")
    if estimator.config.is_chief:
        return _StopOnPredicateHook(should_stop_fn, run_every_secs, run_every_steps)
    return _CheckForStoppingHook()


@estimator_export("estimator.experimental.stop_if_higher_hook")
def stop_if_higher_hook(
    estimator, metric_name, threshold, eval_dir=None, min_steps=0, run_every_secs=60, run_every_steps=None
):
    """A hook that stops when a metric of an evaluation is higher than `threshold`."""
    return _stop_if_threshold_crossed_hook(
        estimator, metric_name, threshold, True, eval_dir, min_steps, run_every_secs, run_every_steps
    )


@estimator_export("estimator.experimental.stop_if_lower_hook")
def stop_if_lower_hook(
    estimator, metric_name, threshold, eval_dir=None, min_steps=0, run_every_secs=60, run_every_steps=None
):
    """A hook that stops when a metric of an evaluation is lower than `threshold`."""
    return _stop_if_threshold_crossed_hook(
        estimator, metric_name, threshold, False, eval_dir, min_steps, run_every_secs, run_every_steps
    )


@estimator_export("estimator.experimental.stop_if_no_increase_hook")
def stop_if_no_increase_hook(
    estimator,
    metric_name,
    max_steps_without_increase,
    eval_dir=None,
    min_steps=0,
    run_every_secs=60,
    run_every_steps=None,
):
    """A hook that stops when a metric has not become higher for some steps."""
    return _stop_if_no_metric_improvement_hook(
        estimator,
        metric_name,
        max_steps_without_increase,
        True,
        eval_dir,
        min_steps,
        run_every_secs,
        run_every_steps,
    )


@estimator_export("estimator.experimental.stop_if_no_decrease_hook")
def stop_if_no_decrease_hook(
    estimator,
    metric_name,
    max_steps_without_decrease,
    eval_dir=None,
    min_steps=0,
    run_every_secs=60,
    run_every_steps=None,
):
    """A hook that stops when a metric has not become lower for some steps."""
    return _stop_if_no_metric_improvement_hook(
        estimator,
        metric_name,
        max_steps_without_decrease,
        False,
        eval_dir,
        min_steps,
        run_every_secs,
        run_every_steps,
    )


def read_eval_metrics(eval_dir):
    """The metrics of all evaluations, an OrderedDict from global steps to dicts."""
    by_step = collections.defaultdict(dict)
    for event in _summaries(eval_dir):
        values = {v.tag: v.simple_value for v in event.summary.value if v.HasField("simple_value")}
        if values:
            by_step[event.step].update(values)
    return collections.OrderedDict(sorted(by_step.items()))


def _summaries(eval_dir):
    import glob

    if not os.path.isdir(eval_dir):
        return
    for path in sorted(glob.glob(os.path.join(eval_dir, _EVENT_FILE_GLOB_PATTERN))):
        for event in summary_iterator.summary_iterator(path):
            if event.HasField("summary"):
                yield event


def _stop_if_threshold_crossed_hook(
    estimator, metric_name, threshold, higher_is_better, eval_dir, min_steps, run_every_secs, run_every_steps
):
    eval_dir = eval_dir or estimator.eval_dir()
    beyond, word = (operator.gt, "greater than") if higher_is_better else (operator.lt, "less than")

    def stop_if_threshold_crossed_fn():
        for step, metrics in read_eval_metrics(eval_dir).items():
            if step < min_steps or metric_name not in metrics:
                continue
            if beyond(metrics[metric_name], threshold):
                logging.info(
                    'At step %s, metric "%s" has value %s which is %s the configured threshold (%s) for '
                    "early stopping.",
                    step,
                    metric_name,
                    metrics[metric_name],
                    word,
                    threshold,
                )
                return True
        return False

    return make_early_stopping_hook(estimator, stop_if_threshold_crossed_fn, run_every_secs, run_every_steps)


def _stop_if_no_metric_improvement_hook(
    estimator,
    metric_name,
    max_steps_without_improvement,
    higher_is_better,
    eval_dir,
    min_steps,
    run_every_secs,
    run_every_steps,
):
    eval_dir = eval_dir or estimator.eval_dir()
    better, word = (operator.gt, "increase") if higher_is_better else (operator.lt, "decrease")

    def stop_if_no_metric_improvement_fn():
        best, best_step = None, None
        for step, metrics in read_eval_metrics(eval_dir).items():
            if step < min_steps or metric_name not in metrics:
                continue
            value = metrics[metric_name]
            if best is None or better(value, best):
                best, best_step = value, step
            if step - best_step >= max_steps_without_improvement:
                logging.info(
                    'No %s in metric "%s" for %s steps, which is greater than or equal to max steps (%s) '
                    "configured for early stopping.",
                    word,
                    metric_name,
                    step - best_step,
                    max_steps_without_improvement,
                )
                return True
        return False

    return make_early_stopping_hook(
        estimator, stop_if_no_metric_improvement_fn, run_every_secs, run_every_steps
    )


def _get_or_create_stop_var():
    with variable_scope.variable_scope(
        name_or_scope="signal_early_stopping", values=[], reuse=variable_scope.AUTO_REUSE
    ):
        return variable_scope.get_variable(
            name="STOP",
            shape=[],
            dtype=dtypes.bool,
            initializer=init_ops.constant_initializer(False),
            collections=[ops.GraphKeys.GLOBAL_VARIABLES],
            trainable=False,
        )


class _StopOnPredicateHook(session_run_hook.SessionRunHook):
    """Asks, and tells the other tasks by a variable."""

    def __init__(self, should_stop_fn, run_every_secs=60, run_every_steps=None):
        if not callable(should_stop_fn):
            raise TypeError("`should_stop_fn` must be callable.")
        self._should_stop_fn = should_stop_fn
        self._timer = basic_session_run_hooks.SecondOrStepTimer(
            every_secs=run_every_secs, every_steps=run_every_steps
        )
        self._global_step_tensor = None
        self._stop_var = None
        self._stop_op = None

    def begin(self):
        self._global_step_tensor = training_util.get_global_step()
        self._stop_var = _get_or_create_stop_var()
        self._stop_op = state_ops.assign(self._stop_var, True)

    def before_run(self, run_context):
        del run_context
        return session_run_hook.SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context, run_values):
        step = run_values.results
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._should_stop_fn():
                logging.info("Requesting early stopping at global step %d", step)
                run_context.session.run(self._stop_op)
                run_context.request_stop()


class _CheckForStoppingHook(session_run_hook.SessionRunHook):
    """Stops when the chief has told so."""

    def __init__(self):
        self._stop_var = None

    def begin(self):
        self._stop_var = _get_or_create_stop_var()

    def before_run(self, run_context):
        del run_context
        return session_run_hook.SessionRunArgs(self._stop_var)

    def after_run(self, run_context, run_values):
        if run_values.results:
            logging.info("Early stopping requested, suspending run.")
            run_context.request_stop()
