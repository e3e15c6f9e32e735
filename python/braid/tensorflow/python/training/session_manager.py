"""Making a session whose variables have values: from a checkpoint, by the init op, or by waiting for the
chief.
"""

import threading
import time

import numpy as np

from braid import _native
from braid.tensorflow.python.client import session
from braid.tensorflow.python.framework import errors, ops
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import checkpoint_management
from braid.tensorflow.python.util.tf_export import tf_export


def _maybe_name(obj):
    return (
        str(obj)
        if obj is None or isinstance(obj, (list, str))
        else getattr(obj, "name", f"<no name for {obj}>")
    )


def _wait(seconds):
    """Waits; Ctrl-C ends it."""
    threading.Event().wait(seconds)


@tf_export(v1=["train.SessionManager"])
class SessionManager:
    """Makes sessions that are ready to train.

    The chief calls prepare_session, which restores or initializes the variables; workers call
    wait_for_session, which returns when the chief has done that.
    """

    def __init__(
        self,
        local_init_op=None,
        ready_op=None,
        ready_for_local_init_op=None,
        graph=None,
        recovery_wait_secs=30,
        local_init_run_options=None,
        local_init_feed_dict=None,
    ):
        """ready_op, ready_for_local_init_op: tensors with the names of the variables that have no value yet.

        local_init_op: run in every new session, when ready_for_local_init_op has no names.
        recovery_wait_secs: the time between two looks whether the model is ready.
        """
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = graph or ops.get_default_graph()
        self._recovery_wait_secs = recovery_wait_secs
        self._target = None
        self._local_init_run_options = local_init_run_options
        self._local_init_feed_dict = local_init_feed_dict
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op "
                f", ready_for_local_init_op [{ready_for_local_init_op}]"
            )

    def _restore_checkpoint(
        self,
        master,
        saver=None,
        checkpoint_dir=None,
        checkpoint_filename_with_path=None,
        wait_for_checkpoint=False,
        max_wait_secs=7200,
        config=None,
    ):
        """Makes a session, with the variables of the newest checkpoint. Returns (session, whether there was
        one).
        """
        self._target = master
        sess = session.Session(self._target, graph=self._graph, config=config)
        if checkpoint_dir and checkpoint_filename_with_path:
            raise ValueError("Can not provide both checkpoint_dir and checkpoint_filename_with_path.")
        if not saver or not (checkpoint_dir or checkpoint_filename_with_path):
            return sess, False
        if checkpoint_filename_with_path:
            saver.restore(sess, checkpoint_filename_with_path)
            return sess, True
        timer = _CountDownTimer(max_wait_secs)
        while True:
            state = checkpoint_management.get_checkpoint_state(checkpoint_dir)
            if state and state.model_checkpoint_path:
                break
            if not wait_for_checkpoint or timer.secs_remaining() <= 0:
                return sess, False
            logging.info("Waiting for checkpoint to be available.")
            _wait(min(self._recovery_wait_secs, timer.secs_remaining()))
        saver.restore(sess, state.model_checkpoint_path)
        saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return sess, True

    def prepare_session(
        self,
        master,
        init_op=None,
        saver=None,
        checkpoint_dir=None,
        checkpoint_filename_with_path=None,
        wait_for_checkpoint=False,
        max_wait_secs=7200,
        config=None,
        init_feed_dict=None,
        init_fn=None,
    ):
        """A session with the variables of the newest checkpoint, or else as init_op and init_fn(session)
        make them.

        RuntimeError: the model is not ready after that.
        """
        sess, is_loaded = self._restore_checkpoint(
            master,
            saver,
            checkpoint_dir=checkpoint_dir,
            checkpoint_filename_with_path=checkpoint_filename_with_path,
            wait_for_checkpoint=wait_for_checkpoint,
            max_wait_secs=max_wait_secs,
            config=config,
        )
        if not is_loaded:
            if init_op is None and not init_fn and self._local_init_op is None:
                raise RuntimeError(
                    "Model is not initialized and no init_op or init_fn or local_init_op was given"
                )
            if init_op is not None:
                sess.run(init_op, feed_dict=init_feed_dict)
            if init_fn:
                init_fn(sess)
        local_init = _maybe_name(self._local_init_op)
        given = f"Init op: {_maybe_name(init_op)}, init fn: {init_fn}, local_init_op: {local_init}"
        is_done, message = self._try_run_local_init_op(sess)
        if not is_done:
            raise RuntimeError(
                f"Init operations did not make model ready for local_init.  {given}, error: {message}"
            )
        is_ready, message = self._model_ready(sess)
        if not is_ready:
            raise RuntimeError(f"Init operations did not make model ready.  {given}, error: {message}")
        _notify_ready(sess)
        return sess

    def recover_session(
        self,
        master,
        saver=None,
        checkpoint_dir=None,
        checkpoint_filename_with_path=None,
        wait_for_checkpoint=False,
        max_wait_secs=7200,
        config=None,
    ):
        """A session and whether a checkpoint has made the model ready in it."""
        sess, is_loaded = self._restore_checkpoint(
            master,
            saver,
            checkpoint_dir=checkpoint_dir,
            checkpoint_filename_with_path=checkpoint_filename_with_path,
            wait_for_checkpoint=wait_for_checkpoint,
            max_wait_secs=max_wait_secs,
            config=config,
        )
        is_done, message = self._try_run_local_init_op(sess)
        if not is_loaded:
            return sess, False
        source = checkpoint_dir or checkpoint_filename_with_path
        if not is_done:
            logging.info(
                "Restoring model from %s did not make model ready for local init: %s", source, message
            )
            return sess, False
        is_ready, message = self._model_ready(sess)
        if not is_ready:
            logging.info("Restoring model from %s did not make model ready: %s", source, message)
            return sess, False
        logging.info("Restored model from %s", source)
        _notify_ready(sess)
        return sess, True

    def wait_for_session(self, master, config=None, max_wait_secs=float("Inf")):
        """A session in which the model is ready, made anew until it is. DeadlineExceededError after
        max_wait_secs.
        """
        self._target = master
        if max_wait_secs is None:
            max_wait_secs = float("Inf")
        timer = _CountDownTimer(max_wait_secs)
        pause = min(0.1, self._recovery_wait_secs)  # soon at first: most chiefs are ready in a moment
        while True:
            sess = session.Session(self._target, graph=self._graph, config=config)
            news = _News(sess)
            not_ready_message = None
            is_done, not_ready_local_message = self._try_run_local_init_op(sess)
            if is_done:
                is_ready, not_ready_message = self._model_ready(sess)
                if is_ready:
                    return sess
            if timer.secs_remaining() < pause:
                self._safe_close(sess)
                raise errors.DeadlineExceededError(
                    None, None, f"Session was not ready after waiting {max_wait_secs} secs."
                )
            logging.info(
                "Waiting for model to be ready.  Ready_for_local_init_op:  %s, ready: %s",
                not_ready_local_message,
                not_ready_message,
            )
            news.wait(pause)
            self._safe_close(sess)
            pause = min(pause * 2, self._recovery_wait_secs)

    def _safe_close(self, sess):
        """Closes a session whatever state it is in."""
        try:
            sess.close()
        except Exception:
            pass  # it is given up

    def _model_ready(self, sess):
        return _ready(self._ready_op, sess, "Model not ready")

    def _model_ready_for_local_init(self, sess):
        return _ready(self._ready_for_local_init_op, sess, "Model not ready for local init")

    def _try_run_local_init_op(self, sess):
        """Runs the local init op when that may be. Returns (True, None), or (False, why not)."""
        if self._local_init_op is None:
            return True, None
        is_ready, message = self._model_ready_for_local_init(sess)
        if not is_ready:
            return False, message
        logging.info("Running local_init_op.")
        sess.run(
            self._local_init_op, feed_dict=self._local_init_feed_dict, options=self._local_init_run_options
        )
        logging.info("Done running local_init_op.")
        return True, None


def _ready(op, sess, msg):
    """Runs a tensor of names of what is not initialized. Returns (True, None), or (False, why not)."""
    if op is None:
        return True, None
    try:
        value = sess.run(op)
    except errors.FailedPreconditionError as e:
        if "uninitialized" not in str(e):
            logging.warning("%s : error [%s]", msg, str(e))
            raise
        return False, str(e)
    if value is None or value.dtype == np.int32 or value.size == 0:
        return True, None
    return False, "Variables not initialized: " + ", ".join(name.decode("utf-8") for name in value)


_READY_KEY = "variables_initialized"  # that of C's sessions, too


def _notify_ready(sess):
    """Tells the processes that wait for the session's model that it is ready."""
    try:
        sess._session.notify(_READY_KEY)
    except _native.Error:
        pass  # a server that does not know notifications: they ask from time to time


class _News:
    """What is notified to a session from the time when this is made."""

    def __init__(self, sess):
        self._native = sess._session if sess.sess_str else None  # no other process knows one in this process
        self._seen = self._ask(-1, 0)

    def wait(self, seconds):
        """Until a process has made the model ready, or for that long."""
        end = time.monotonic() + seconds
        # A server that has not answered in time is asked again: what comes from then on is news.
        if self._seen is None:
            self._seen = self._ask(-1, 0)
        if self._seen is None or self._ask(self._seen, max(1, int(seconds * 1000))) is None:
            _wait(max(0, end - time.monotonic()))

    def _ask(self, seen, timeout_ms):
        if self._native is not None:
            try:
                return self._native.wait_notification(_READY_KEY, seen, timeout_ms)
            except _native.Error:
                pass  # not in time, or the server does not know notifications
        return None


class _CountDownTimer:
    """How much of a duration is left."""

    def __init__(self, duration_secs):
        self._end = time.monotonic() + duration_secs

    def secs_remaining(self):
        return max(0, self._end - time.monotonic())
