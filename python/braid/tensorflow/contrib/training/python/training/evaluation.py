"""Evaluating checkpoints."""

from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import basic_session_run_hooks
from braid.tensorflow.python.training import checkpoint_utils
from braid.tensorflow.python.training import evaluation
from braid.tensorflow.python.training import monitored_session
from braid.tensorflow.python.training import session_run_hook
from braid.tensorflow.python.training import training_util

StopAfterNEvalsHook = evaluation._StopAfterNEvalsHook
evaluate_once = evaluation._evaluate_once
get_or_create_eval_step = evaluation._get_or_create_eval_step
wait_for_new_checkpoint = checkpoint_utils.wait_for_new_checkpoint
checkpoints_iterator = checkpoint_utils.checkpoints_iterator


class SummaryAtEndHook(session_run_hook.SessionRunHook):
    """Writes summaries at the end of an evaluation. summary_op: that of all summaries if None."""

    def __init__(self, log_dir=None, summary_writer=None, summary_op=None, feed_dict=None):
        if log_dir is None and summary_writer is None:
            raise ValueError("exactly one of log_dir and summary_writer should be provided.")
        self._log_dir, self._summary_writer = log_dir, summary_writer
        self._summary_op, self._feed_dict = summary_op, feed_dict
        self._global_step = None

    def begin(self):
        self._replace_summary_op = self._summary_op is None
        if self._replace_summary_op:
            self._summary_op = summary.merge_all()
        self._global_step = training_util.get_or_create_global_step()

    def after_create_session(self, session, coord):
        from braid.tensorflow.python.summary.writer import writer_cache

        if self._summary_writer is None:
            self._summary_writer = writer_cache.FileWriterCache.get(self._log_dir)

    def end(self, session):
        if self._summary_op is not None:
            step = training_util.global_step(session, self._global_step)
            self._summary_writer.add_summary(session.run(self._summary_op, self._feed_dict), step)
        self._summary_writer.flush()


def evaluate_repeatedly(
    checkpoint_dir,
    master="",
    scaffold=None,
    eval_ops=None,
    feed_dict=None,
    final_ops=None,
    final_ops_feed_dict=None,
    eval_interval_secs=60,
    hooks=None,
    config=None,
    max_number_of_evaluations=None,
    timeout=None,
    timeout_fn=None,
):
    """Evaluates checkpoints of a directory as they come. Returns the last values of final_ops, or None.

    max_number_of_evaluations: how many; for ever if None. timeout: how many seconds to wait for a checkpoint.
    """
    step = get_or_create_eval_step()
    hooks = list(hooks or [])
    if eval_ops is not None:
        update = state_ops.assign_add(step, 1)
        for hook in hooks:
            if isinstance(hook, StopAfterNEvalsHook):
                hook._set_evals_completed_tensor(update)
        if isinstance(eval_ops, dict):
            eval_ops["update_eval_step"] = update
        elif isinstance(eval_ops, (tuple, list)):
            eval_ops = list(eval_ops) + [update]
        else:
            eval_ops = [eval_ops, update]
    final = basic_session_run_hooks.FinalOpsHook(final_ops, final_ops_feed_dict)
    hooks.append(final)
    count = 0
    for path in checkpoint_utils.checkpoints_iterator(
        checkpoint_dir, min_interval_secs=eval_interval_secs, timeout=timeout, timeout_fn=timeout_fn
    ):
        creator = monitored_session.ChiefSessionCreator(
            scaffold=scaffold, checkpoint_filename_with_path=path, master=master, config=config
        )
        with monitored_session.MonitoredSession(session_creator=creator, hooks=hooks) as session:
            logging.info("Starting evaluation of %s", path)
            if eval_ops is not None:
                while not session.should_stop():
                    session.run(eval_ops, feed_dict)
        count += 1
        if max_number_of_evaluations is not None and count >= max_number_of_evaluations:
            break
    return final.final_ops_values
