"""FeedingQueueRunner: a queue runner whose threads feed what they enqueue."""

import threading

from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import queue_runner_impl


class FeedingQueueRunner(queue_runner_impl.QueueRunner):
    """A thread for each of `enqueue_ops`, which runs it with what its function of `feed_fns` returns."""

    def __init__(
        self,
        queue=None,
        enqueue_ops=None,
        close_op=None,
        cancel_op=None,
        feed_fns=None,
        queue_closed_exception_types=None,
    ):
        if queue_closed_exception_types is None:
            queue_closed_exception_types = (errors.OutOfRangeError, errors.CancelledError)
        super().__init__(
            queue,
            enqueue_ops,
            close_op,
            cancel_op,
            queue_closed_exception_types=queue_closed_exception_types,
        )
        self._feed_fns = [None for _ in enqueue_ops] if feed_fns is None else list(feed_fns)
        if len(self._feed_fns) != len(self._enqueue_ops):
            raise ValueError("If feed_fns is not None, it must have the same length as enqueue_ops")

    def _run(self, sess, enqueue_op, feed_fn, coord=None):
        """Enqueues until the input or the session ends."""
        decremented = False
        try:
            while not (coord and coord.should_stop()):
                try:
                    sess.run(enqueue_op, None if feed_fn is None else feed_fn())
                except (errors.OutOfRangeError, errors.CancelledError):
                    with self._lock:
                        self._runs_per_session[sess] -= 1
                        decremented = True
                        last = self._runs_per_session[sess] == 0
                    if last:
                        try:
                            sess.run(self._close_op)
                        except Exception as error:  # noqa: BLE001: the session may be closed already
                            logging.vlog(1, "Ignored exception: %s", str(error))
                    return
        except Exception as error:  # noqa: BLE001: the coordinator raises it in the main thread
            if coord:
                coord.request_stop(error)
                if not isinstance(error, errors.CancelledError):
                    logging.error("Exception in FeedingQueueRunner: %s", str(error))
            else:
                with self._lock:
                    self._exceptions_raised.append(error)
                raise
        finally:
            if not decremented:
                with self._lock:
                    self._runs_per_session[sess] -= 1

    def create_threads(self, sess, coord=None, daemon=False, start=False):
        """The threads for a session; none if those of an earlier call still run."""
        with self._lock:
            if self._runs_per_session.get(sess, 0) > 0:
                return []
            self._runs_per_session[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        threads = [
            threading.Thread(target=self._run, args=(sess, op, feed_fn, coord))
            for op, feed_fn in zip(self._enqueue_ops, self._feed_fns)
        ]
        if coord:
            arguments = (sess, self._cancel_op, coord, list(threads))
            threads.append(threading.Thread(target=self._close_on_stop, args=arguments))
        for thread in threads:
            if coord:
                coord.register_thread(thread)
            if daemon:
                thread.daemon = True
            if start:
                thread.start()
        return threads

    def to_proto(self, export_scope=None):
        raise NotImplementedError("Queue runners that feed from a function cannot be written to a MetaGraph")
