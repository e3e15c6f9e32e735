"""InMemoryEvaluatorHook, and the hook that stops at a checkpoint."""

import os
import time

from braid.tensorflow.python.estimator import estimator as estimator_lib
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import basic_session_run_hooks
from braid.tensorflow.python.training import monitored_session
from braid.tensorflow.python.training import session_run_hook
from braid.tensorflow.python.training import training_util
from braid.tensorflow.python.util.tf_export import estimator_export


@estimator_export("estimator.experimental.InMemoryEvaluatorHook")
class InMemoryEvaluatorHook(session_run_hook.SessionRunHook):
    """Evaluates during training, with the variables of the training session, not of a checkpoint.

    estimator: the one that is trained; not of a cluster. steps: how many batches; all if None. name: of the
    directory of events. every_n_iter: after how many steps.
    """

    def __init__(self, estimator, input_fn, steps=None, hooks=None, name=None, every_n_iter=100):
        if every_n_iter is None or every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        if estimator.config.num_ps_replicas > 0 or estimator.config.num_worker_replicas > 1:
            raise ValueError("InMemoryEvaluator supports only single machine (aka Local) setting.")
        self._estimator = estimator
        self._input_fn = input_fn
        self._steps = steps
        self._name = name
        self._every_n_iter = every_n_iter
        self._eval_dir = os.path.join(estimator.model_dir, "eval" if not name else "eval_" + name)
        self._graph = None
        self._hooks = estimator_lib._check_hooks_type(hooks)
        self._hooks.extend(estimator._convert_eval_steps_to_hooks(steps))
        self._timer = basic_session_run_hooks.SecondOrStepTimer(every_steps=every_n_iter)

    def begin(self):
        self._timer.reset()
        self._iter_count = 0
        self._graph = ops.Graph()
        with self._graph.as_default():
            (
                self._scaffold,
                self._update_op,
                self._eval_dict,
                self._all_hooks,
            ) = self._estimator._evaluate_build_graph(self._input_fn, self._hooks)
            if self._scaffold.saver is not None:
                raise ValueError("InMemoryEvaluator does not support custom saver")
            if self._scaffold.init_fn is not None:
                raise ValueError("InMemoryEvaluator does not support custom init_fn")
            if ops.get_collection(ops.GraphKeys.SAVEABLE_OBJECTS):
                raise ValueError("InMemoryEvaluator does not support saveables other than global variables.")
            self._to_eval = {v.name: v for v in ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES)}

    def after_create_session(self, session, coord):
        self._from_train = {v.name: v for v in session.graph.get_collection(ops.GraphKeys.GLOBAL_VARIABLES)}
        missing = set(self._to_eval) - set(self._from_train)
        if missing:
            raise ValueError(f"Eval graph has variables that the training graph has not: {sorted(missing)}")
        self._evaluate(session)

    def _evaluate(self, train_session):
        names = list(self._to_eval)
        values = dict(zip(names, train_session.run([self._from_train[n] for n in names])))

        def load_variables(_, session):
            for name, variable in self._to_eval.items():
                variable.load(values[name], session)

        with self._graph.as_default():
            scaffold = monitored_session.Scaffold(init_fn=load_variables, copy_from_scaffold=self._scaffold)
            self._estimator._evaluate_run(
                checkpoint_path=None,
                scaffold=scaffold,
                update_op=self._update_op,
                eval_dict=self._eval_dict,
                all_hooks=self._all_hooks,
                output_dir=self._eval_dir,
            )
        self._timer.update_last_triggered_step(self._iter_count)

    def after_run(self, run_context, run_values):
        self._iter_count += 1
        if self._timer.should_trigger_for_step(self._iter_count):
            self._evaluate(run_context.session)

    def end(self, session):
        self._evaluate(session)


class _StopAtCheckpointStepHook(session_run_hook.SessionRunHook):
    """Stops when a checkpoint of a step is there, or a later one."""

    def __init__(self, model_dir, last_step, wait_after_file_check_secs=30):
        if last_step is None:
            raise ValueError("last_step must be specified.")
        if model_dir is None:
            raise ValueError("model_dir must be specified.")
        self._model_dir = model_dir
        self._last_step = last_step
        self._wait_after_file_check_secs = wait_after_file_check_secs

    def begin(self):
        self._global_step_tensor = training_util._get_or_create_global_step_read()

    def before_run(self, run_context):
        return session_run_hook.SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context, run_values):
        if run_values.results < self._last_step:
            return
        if estimator_lib._load_global_step_from_checkpoint_dir(self._model_dir) >= self._last_step:
            run_context.request_stop()
            return
        # The chief writes a file; nothing else tells of it.
        logging.info("Waiting for the checkpoint of step %d", self._last_step)
        time.sleep(self._wait_after_file_check_secs)


@estimator_export("estimator.experimental.make_stop_at_checkpoint_step_hook")
def make_stop_at_checkpoint_step_hook(estimator, last_step, wait_after_file_check_secs=30):
    """A hook for workers: they train until the chief has saved `last_step`."""
    if estimator.config.is_chief:
        return basic_session_run_hooks.StopAtStepHook(last_step=last_step)
    return _StopAtCheckpointStepHook(estimator.model_dir, last_step, wait_after_file_check_secs)
