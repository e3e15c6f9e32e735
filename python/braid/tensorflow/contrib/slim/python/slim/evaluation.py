"""Metrics of a checkpoint, once or of each new checkpoint."""

from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.training import checkpoint_utils
from braid.tensorflow.python.training import monitored_session
from braid.tensorflow.python.training import saver as tf_saver
from braid.tensorflow.python.training import training_util
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import summary_io

__all__ = ["evaluate_once", "evaluation_loop", "wait_for_new_checkpoint", "checkpoints_iterator"]

wait_for_new_checkpoint = checkpoint_utils.wait_for_new_checkpoint
checkpoints_iterator = checkpoint_utils.checkpoints_iterator

_USE_DEFAULT = 0


def evaluate_once(
    master,
    checkpoint_path,
    logdir,
    num_evals=1,
    initial_op=None,
    initial_op_feed_dict=None,
    eval_op=None,
    eval_op_feed_dict=None,
    final_op=None,
    final_op_feed_dict=None,
    summary_op=_USE_DEFAULT,
    summary_op_feed_dict=None,
    variables_to_restore=None,
    session_config=None,
    hooks=None,
):
    """Runs eval_op `num_evals` times on the variables of a checkpoint, writes summaries, and returns final_op."""
    if summary_op is _USE_DEFAULT:
        summary_op = summary.merge_all()
    global_step = training_util.get_global_step()
    saver = tf_saver.Saver(variables_to_restore or variables.global_variables())
    scaffold = monitored_session.Scaffold(saver=saver)
    creator = monitored_session.ChiefSessionCreator(
        scaffold=scaffold,
        master=master,
        config=session_config,
        checkpoint_filename_with_path=checkpoint_path,
    )
    result = None
    with monitored_session.MonitoredSession(session_creator=creator, hooks=hooks) as session:
        if initial_op is not None:
            session.run(initial_op, initial_op_feed_dict)
        if eval_op is not None:
            for _ in range(num_evals):
                session.run(eval_op, eval_op_feed_dict)
        step = 0 if global_step is None else session.run(global_step)
        if final_op is not None:
            result = session.run(final_op, final_op_feed_dict)
        if summary_op is not None:
            text = session.run(summary_op, summary_op_feed_dict)
            writer = summary_io.SummaryWriterCache.get(logdir)
            writer.add_summary(text, step)
            writer.flush()
    return result


def evaluation_loop(
    master,
    checkpoint_dir,
    logdir,
    num_evals=1,
    initial_op=None,
    initial_op_feed_dict=None,
    init_fn=None,
    eval_op=None,
    eval_op_feed_dict=None,
    final_op=None,
    final_op_feed_dict=None,
    summary_op=_USE_DEFAULT,
    summary_op_feed_dict=None,
    variables_to_restore=None,
    eval_interval_secs=60,
    max_number_of_evaluations=None,
    session_config=None,
    timeout=None,
    timeout_fn=None,
    hooks=None,
):
    """evaluate_once() of each new checkpoint of a directory, until there is none for `timeout` seconds."""
    if init_fn is not None:
        raise NotImplementedError(
            "slim.evaluation.evaluation_loop(init_fn): use a hook's after_create_session"
        )
    result = None
    number = 0
    for path in checkpoint_utils.checkpoints_iterator(
        checkpoint_dir, eval_interval_secs, timeout, timeout_fn
    ):
        result = evaluate_once(
            master,
            path,
            logdir,
            num_evals,
            initial_op,
            initial_op_feed_dict,
            eval_op,
            eval_op_feed_dict,
            final_op,
            final_op_feed_dict,
            summary_op,
            summary_op_feed_dict,
            variables_to_restore,
            session_config,
            hooks,
        )
        number += 1
        if max_number_of_evaluations is not None and number >= max_number_of_evaluations:
            break
    return result
