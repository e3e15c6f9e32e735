"""slim.learning.train: the loop that trains a model, with checkpoints and summaries."""

import os
import threading
import time

from braid import protos
from braid.tensorflow.contrib.training.python.training import training
from braid.tensorflow.python.client import timeline
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import optimizer as tf_optimizer
from braid.tensorflow.python.training import saver as tf_saver
from braid.tensorflow.python.training import supervisor
from braid.tensorflow.python.training import sync_replicas_optimizer
from braid.tensorflow.python.training import training_util

__all__ = [
    "add_gradients_summaries",
    "clip_gradient_norms",
    "multiply_gradients",
    "create_train_op",
    "train_step",
    "train",
]

add_gradients_summaries = training.add_gradients_summaries
clip_gradient_norms = training.clip_gradient_norms
multiply_gradients = training.multiply_gradients

_USE_DEFAULT = 0
_USE_GLOBAL_STEP = 0


def create_train_op(
    total_loss,
    optimizer,
    global_step=_USE_GLOBAL_STEP,
    update_ops=None,
    variables_to_train=None,
    clip_gradient_norm=0,
    summarize_gradients=False,
    gate_gradients=tf_optimizer.Optimizer.GATE_OP,
    aggregation_method=None,
    colocate_gradients_with_ops=False,
    gradient_multipliers=None,
    check_numerics=True,
):
    """tf.contrib.training.create_train_op, with gradients times numbers and of a largest norm."""

    def transform(grads):
        if gradient_multipliers:
            with ops.name_scope("multiply_grads"):
                grads = multiply_gradients(grads, gradient_multipliers)
        if clip_gradient_norm > 0:
            with ops.name_scope("clip_grads"):
                grads = clip_gradient_norms(grads, clip_gradient_norm)
        return grads

    if global_step is _USE_GLOBAL_STEP:
        global_step = training_util.get_or_create_global_step()
    return training.create_train_op(
        total_loss=total_loss,
        optimizer=optimizer,
        global_step=global_step,
        update_ops=update_ops,
        variables_to_train=variables_to_train,
        transform_grads_fn=transform,
        summarize_gradients=summarize_gradients,
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
        check_numerics=check_numerics,
    )


def train_step(sess, train_op, global_step, train_step_kwargs):
    """Runs the op once and logs the loss when `train_step_kwargs` say. Returns the loss and whether to stop."""
    start_time = time.time()
    options = metadata = None
    if "should_trace" in train_step_kwargs:
        if "logdir" not in train_step_kwargs:
            raise ValueError("logdir must be present in train_step_kwargs when should_trace is present")
        if sess.run(train_step_kwargs["should_trace"]):
            options = protos.RunOptions(trace_level=3)  # FULL_TRACE
            metadata = protos.RunMetadata()
    total_loss, step = sess.run([train_op, global_step], options=options, run_metadata=metadata)
    elapsed = time.time() - start_time
    if metadata is not None:
        trace = timeline.Timeline(metadata.step_stats).generate_chrome_trace_format()
        path = os.path.join(train_step_kwargs["logdir"], f"tf_trace-{step}.json")
        logging.info("Writing trace to %s", path)
        with open(path, "w") as file:
            file.write(trace)
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        logging.info("global step %d: loss = %.4f (%.3f sec/step)", step, total_loss, elapsed)
    should_stop = False
    if "should_stop" in train_step_kwargs:
        should_stop = sess.run(train_step_kwargs["should_stop"])
    return total_loss, should_stop


def train(
    train_op,
    logdir,
    train_step_fn=train_step,
    train_step_kwargs=_USE_DEFAULT,
    log_every_n_steps=1,
    graph=None,
    master="",
    is_chief=True,
    global_step=None,
    number_of_steps=None,
    init_op=_USE_DEFAULT,
    init_feed_dict=None,
    local_init_op=_USE_DEFAULT,
    init_fn=None,
    ready_op=_USE_DEFAULT,
    summary_op=_USE_DEFAULT,
    save_summaries_secs=600,
    summary_writer=_USE_DEFAULT,
    startup_delay_steps=0,
    saver=None,
    save_interval_secs=600,
    sync_optimizer=None,
    session_config=None,
    session_wrapper=None,
    trace_every_n_steps=None,
    ignore_live_threads=False,
):
    """Trains until `number_of_steps`, or until a queue ends. Returns the last loss.

    Checkpoints and summaries go to `logdir`. `train_step_fn(session, train_op, global_step,
    train_step_kwargs)` runs a step and returns the loss and whether to stop. `init_fn(session)` is called
    after the variables have been initialized. `sync_optimizer`: SyncReplicasOptimizers that the op uses.
    """
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    if logdir is None:
        if summary_op != _USE_DEFAULT:
            raise ValueError("Cannot provide summary_op because logdir=None")
        if saver is not None:
            raise ValueError("Cannot provide saver because logdir=None")
        if trace_every_n_steps is not None:
            raise ValueError("Cannot provide trace_every_n_steps because logdir=None")
    if isinstance(sync_optimizer, sync_replicas_optimizer.SyncReplicasOptimizer):
        sync_optimizer = [sync_optimizer]
    if sync_optimizer is not None and startup_delay_steps > 0:
        raise ValueError("startup_delay_steps must be zero when sync_optimizer is supplied.")
    if number_of_steps is not None and number_of_steps <= 0:
        raise ValueError("`number_of_steps` must be either None or a positive number.")

    graph = graph or ops.get_default_graph()
    with graph.as_default():
        if global_step is None:
            global_step = training_util.get_or_create_global_step()
        saver = saver or tf_saver.Saver()
        if sync_optimizer is not None:
            local_init_op = control_flow_ops.group(
                *[o.chief_init_op if is_chief else o.local_step_init_op for o in sync_optimizer],
                *([] if local_init_op == _USE_DEFAULT else [local_init_op]),
                name="local_init_op",
            )
            ready_for_local_init_op = sync_optimizer[0].ready_for_local_init_op
        else:
            ready_for_local_init_op = _USE_DEFAULT
        if summary_op == _USE_DEFAULT:
            summary_op = summary.merge_all()
        if train_step_kwargs == _USE_DEFAULT:
            with ops.name_scope("train_step"):
                train_step_kwargs = {}
                if number_of_steps:
                    train_step_kwargs["should_stop"] = math_ops.greater_equal(global_step, number_of_steps)
                else:
                    train_step_kwargs["should_stop"] = constant_op.constant(False)
                if log_every_n_steps > 0:
                    train_step_kwargs["should_log"] = math_ops.equal(
                        math_ops.mod(global_step, log_every_n_steps), 0
                    )
                if is_chief and trace_every_n_steps is not None:
                    train_step_kwargs["should_trace"] = math_ops.equal(
                        math_ops.mod(global_step, trace_every_n_steps), 0
                    )
                    train_step_kwargs["logdir"] = logdir

    def given(**arguments):
        return {key: value for key, value in arguments.items() if value is not _USE_DEFAULT}

    keep = {} if logdir is not None else {"summary_op": None, "summary_writer": None}
    sv = supervisor.Supervisor(
        graph=graph,
        is_chief=is_chief,
        logdir=logdir,
        init_feed_dict=init_feed_dict,
        global_step=global_step,
        saver=saver,
        save_summaries_secs=save_summaries_secs,
        save_model_secs=save_interval_secs,
        init_fn=init_fn,
        **{
            **given(
                init_op=init_op,
                local_init_op=local_init_op,
                ready_op=ready_op,
                ready_for_local_init_op=ready_for_local_init_op,
                summary_op=summary_op,
                summary_writer=summary_writer,
            ),
            **keep,
        },
    )
    total_loss = None
    with sv.managed_session(master, start_standard_services=False, config=session_config) as sess:
        logging.info("Starting Session.")
        if session_wrapper is not None:
            sess = session_wrapper(sess)
        if is_chief:
            if logdir:
                sv.start_standard_services(sess)
        elif startup_delay_steps > 0:
            _wait_for_step(
                sess, global_step, min(startup_delay_steps, number_of_steps or startup_delay_steps)
            )
        threads = sv.start_queue_runners(sess)
        logging.info("Starting Queues.")
        if is_chief and sync_optimizer is not None:
            sv.start_queue_runners(sess, [o.get_chief_queue_runner() for o in sync_optimizer])
        try:
            while not sv.should_stop():
                total_loss, should_stop = train_step_fn(sess, train_op, global_step, train_step_kwargs)
                if should_stop:
                    logging.info("Stopping Training.")
                    sv.request_stop()
                    break
        except errors.OutOfRangeError as e:
            logging.info("Caught OutOfRangeError. Stopping Training. %s", e)
        if logdir and sv.is_chief:
            logging.info("Finished training! Saving model to disk.")
            sv.saver.save(sess, sv.save_path, global_step=sv.global_step)
            sv.stop(
                threads if ignore_live_threads is False else None,
                close_summary_writer=True,
                ignore_live_threads=ignore_live_threads,
            )
    return total_loss


def _wait_for_step(sess, global_step, step):
    """Returns when the global step has come to `step`."""
    pause = threading.Event()
    while training_util.global_step(sess, global_step) < step:
        logging.info("Waiting for step %d before starting training.", step)
        pause.wait(1.0)
