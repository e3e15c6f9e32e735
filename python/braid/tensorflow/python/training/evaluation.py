"""Evaluating a checkpoint: a session that runs metrics a number of times."""

import time

from braid.tensorflow.python.framework import dtypes, ops
from braid.tensorflow.python.ops import init_ops, state_ops, variable_scope
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import (
    basic_session_run_hooks,
    monitored_session,
    session_run_hook,
)


def _get_or_create_eval_step():
    """The local variable that counts evaluations, "eval_step". ValueError: there are several."""
    graph = ops.get_default_graph()
    steps = graph.get_collection(ops.GraphKeys.EVAL_STEP)
    if len(steps) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if steps:
        return steps[0]
    return variable_scope.get_variable(
        "eval_step",
        shape=[],
        dtype=dtypes.int64,
        initializer=init_ops.zeros_initializer(),
        trainable=False,
        collections=[ops.GraphKeys.LOCAL_VARIABLES, ops.GraphKeys.EVAL_STEP],
    )


def _get_latest_eval_step_value(update_ops):
    """The count of evaluations, read after the updates."""
    if isinstance(update_ops, dict):
        update_ops = list(update_ops.values())
    with ops.control_dependencies(update_ops):
        return _get_or_create_eval_step().read_value()


class _StopAfterNEvalsHook(session_run_hook.SessionRunHook):
    """Stops after a number of evaluations; None: never."""

    def __init__(self, num_evals, log_progress=True):
        self._num_evals = num_evals
        self._evals_completed = None
        self._log_progress = log_progress
        # Ten lines in all.
        self._log_frequency = 1 if num_evals is None or num_evals < 20 else num_evals // 10

    def _set_evals_completed_tensor(self, updated_eval_step):
        self._evals_completed = updated_eval_step

    def before_run(self, run_context):
        return session_run_hook.SessionRunArgs({"evals_completed": self._evals_completed})

    def after_run(self, run_context, run_values):
        completed = run_values.results["evals_completed"]
        if self._log_progress:
            if self._num_evals is None:
                logging.info("Evaluation [%d]", completed)
            elif completed % self._log_frequency == 0 or self._num_evals == completed:
                logging.info("Evaluation [%d/%d]", completed, self._num_evals)
        if self._num_evals is not None and completed >= self._num_evals:
            run_context.request_stop()


def _evaluate_once(
    checkpoint_path,
    master="",
    scaffold=None,
    eval_ops=None,
    feed_dict=None,
    final_ops=None,
    final_ops_feed_dict=None,
    hooks=None,
    config=None,
):
    """Restores a checkpoint, runs eval_ops until a hook stops or the input ends, then final_ops. Returns
    their values.

    eval_ops: a tensor, a list or a dict.
    """
    eval_step = _get_or_create_eval_step()
    hooks = list(hooks or [])
    if eval_ops is not None:
        counted = state_ops.assign_add(eval_step, 1, use_locking=True)
        if isinstance(eval_ops, dict):
            eval_ops = {**eval_ops, "update_eval_step": counted}
        elif isinstance(eval_ops, (tuple, list)):
            eval_ops = [*eval_ops, counted]
        else:
            eval_ops = [eval_ops, counted]
        latest = _get_latest_eval_step_value(eval_ops)
        for hook in hooks:
            if isinstance(hook, _StopAfterNEvalsHook):
                hook._set_evals_completed_tensor(latest)
    logging.info("Starting evaluation at %s", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    creator = monitored_session.ChiefSessionCreator(
        scaffold=scaffold,
        checkpoint_filename_with_path=checkpoint_path,
        master=master,
        config=config,
    )
    final_ops_hook = basic_session_run_hooks.FinalOpsHook(final_ops, final_ops_feed_dict)
    hooks.append(final_ops_hook)
    with monitored_session.MonitoredSession(session_creator=creator, hooks=hooks) as session:
        if eval_ops is not None:
            while not session.should_stop():
                session.run(eval_ops, feed_dict)
    logging.info("Finished evaluation at %s", time.strftime("%Y-%m-%d-%H:%M:%S", time.gmtime()))
    return final_ops_hook.final_ops_values
