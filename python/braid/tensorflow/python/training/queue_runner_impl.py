"""Threads that fill queues (tf.train.QueueRunner)."""

import threading
import weakref

from braid.tensorflow.core.protobuf import queue_runner_pb2
from braid.tensorflow.python.client import session as session_lib
from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["train.queue_runner.QueueRunner", "train.QueueRunner"])
class QueueRunner:
    """Ops that add to a queue, each run by a thread of its own until the queue is closed or the input ends.

    enqueue_ops: one thread runs each. close_op: closes the queue when the input has ended; cancel_op: when
    the coordinator stops, with what waits to be added. queue_closed_exception_types: errors that say that the
    input has ended (OutOfRangeError by default). queue_runner_def: a message of to_proto in place of all
    these.
    """

    def __init__(
        self,
        queue=None,
        enqueue_ops=None,
        close_op=None,
        cancel_op=None,
        queue_closed_exception_types=None,
        queue_runner_def=None,
        import_scope=None,
    ):
        if queue_runner_def:
            if queue or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._init_from_proto(queue_runner_def, import_scope=import_scope)
        else:
            self._init_from_args(queue, enqueue_ops, close_op, cancel_op, queue_closed_exception_types)
        self._lock = threading.Lock()
        self._runs_per_session = weakref.WeakKeyDictionary()  # how many threads still run
        self._exceptions_raised = []

    def _init_from_args(
        self,
        queue=None,
        enqueue_ops=None,
        close_op=None,
        cancel_op=None,
        queue_closed_exception_types=None,
    ):
        if not queue or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        types = queue_closed_exception_types
        if types is None:
            types = (errors.OutOfRangeError,)
        elif (
            not isinstance(types, tuple)
            or not types
            or not all(isinstance(t, type) and issubclass(t, errors.OpError) for t in types)
        ):
            raise TypeError(
                "queue_closed_exception_types, when provided, must be a tuple of tf.error types, but saw: %s"
                % (types,)
            )
        self._queue = queue
        self._enqueue_ops = enqueue_ops
        self._close_op = self._queue.close() if close_op is None else close_op
        self._cancel_op = self._queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        self._queue_closed_exception_types = types

    def _init_from_proto(self, queue_runner_def, import_scope=None):
        if not isinstance(queue_runner_def, queue_runner_pb2.QueueRunnerDef):
            raise TypeError("queue_runner_def must be a QueueRunnerDef proto.")
        graph = ops.get_default_graph()

        def element(name):
            return graph.as_graph_element(ops.prepend_name_scope(name, import_scope))

        self._queue = element(queue_runner_def.queue_name)
        self._enqueue_ops = [element(name) for name in queue_runner_def.enqueue_op_name]
        self._close_op = element(queue_runner_def.close_op_name)
        self._cancel_op = element(queue_runner_def.cancel_op_name)
        codes = queue_runner_def.queue_closed_exception_types
        self._queue_closed_exception_types = tuple(
            errors.exception_type_from_error_code(code) for code in codes
        ) or (errors.OutOfRangeError,)

    @property
    def queue(self):
        return self._queue

    @property
    def enqueue_ops(self):
        return self._enqueue_ops

    @property
    def close_op(self):
        return self._close_op

    @property
    def cancel_op(self):
        return self._cancel_op

    @property
    def queue_closed_exception_types(self):
        return self._queue_closed_exception_types

    @property
    def exceptions_raised(self):
        """The errors of the threads that had no coordinator to report to."""
        return self._exceptions_raised

    @property
    def name(self):
        """The name of the queue."""
        return self._queue.name

    def _run(self, sess, enqueue_op, coord=None):
        """What a thread does."""
        is_counted = True
        try:
            enqueue = sess.make_callable(enqueue_op)
            while not (coord and coord.should_stop()):
                try:
                    enqueue()
                except self._queue_closed_exception_types:
                    is_counted = False
                    self._end_of_input(sess)
                    return
        except Exception as e:
            if coord and coord.should_stop() and isinstance(e, errors.CancelledError):
                pass  # the session was closed after the threads were asked to stop
            elif coord:
                coord.request_stop(e)
            else:
                logging.error("Exception in QueueRunner: %s", str(e))
                with self._lock:
                    self._exceptions_raised.append(e)
                raise
        finally:
            if is_counted:
                with self._lock:
                    self._runs_per_session[sess] -= 1

    def _end_of_input(self, sess):
        """Closes the queue when no other thread fills it."""
        with self._lock:
            self._runs_per_session[sess] -= 1
            is_last = self._runs_per_session[sess] == 0
        if is_last:
            try:
                sess.run(self._close_op)
            except Exception as e:  # it may be closed already
                logging.vlog(1, "Ignored exception: %s", str(e))

    def _close_on_stop(self, sess, cancel_op, coord, fillers):
        """Closes the queue when the coordinator stops. Ends, too, when the threads that fill it have ended."""
        if all(thread.ident for thread in fillers):
            coord._wait_for_stop_or_end(fillers)
        else:  # the caller has not started them yet
            coord.wait_for_stop()
        if not coord.should_stop():
            return
        try:
            sess.run(cancel_op)
        except Exception as e:  # the session may be closed already
            logging.vlog(1, "Ignored exception: %s", str(e))

    def create_threads(self, sess, coord=None, daemon=False, start=False):
        """The threads for a session, registered with the coordinator. None while those before still run.

        start: starts them. daemon: the program does not wait for them when it ends.
        """
        with self._lock:
            if self._runs_per_session.get(sess, 0) > 0:
                return []
            self._runs_per_session[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        threads = []
        for op in self._enqueue_ops:
            name = "QueueRunnerThread-{}-{}".format(self.name, op.name)
            threads.append(threading.Thread(target=self._run, args=(sess, op, coord), name=name))
        if coord:
            name = "QueueRunnerThread-{}-close_on_stop".format(self.name)
            arguments = (sess, self._cancel_op, coord, list(threads))
            threads.append(threading.Thread(target=self._close_on_stop, args=arguments, name=name))
        for thread in threads:
            if coord:
                coord.register_thread(thread)
            thread.daemon = daemon
            if start:
                thread.start()
        return threads

    def to_proto(self, export_scope=None):
        """The QueueRunnerDef; None: the queue is not below the scope `export_scope`."""
        if export_scope is not None and not self.queue.name.startswith(export_scope):
            return None

        def name_of(op):
            return ops.strip_name_scope(op.name, export_scope)

        made = queue_runner_pb2.QueueRunnerDef(
            queue_name=name_of(self.queue),
            enqueue_op_name=[name_of(op) for op in self.enqueue_ops],
            close_op_name=name_of(self.close_op),
            cancel_op_name=name_of(self.cancel_op),
        )
        codes = [errors.error_code_from_exception_type(t) for t in self._queue_closed_exception_types]
        made.queue_closed_exception_types.extend(codes)
        return made

    @staticmethod
    def from_proto(queue_runner_def, import_scope=None):
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


@tf_export(v1=["train.queue_runner.add_queue_runner", "train.add_queue_runner"])
def add_queue_runner(qr, collection=ops.GraphKeys.QUEUE_RUNNERS):
    """Adds a QueueRunner to a collection, from which start_queue_runners takes them."""
    ops.add_to_collection(collection, qr)


@tf_export(v1=["train.queue_runner.start_queue_runners", "train.start_queue_runners"])
def start_queue_runners(
    sess=None, coord=None, daemon=True, start=True, collection=ops.GraphKeys.QUEUE_RUNNERS
):
    """Starts the threads of all QueueRunners of a collection. Returns the threads.

    sess: by default the default session. ValueError: there is none.
    """
    if sess is None:
        sess = ops.get_default_session()
        if not sess:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or "
                "pass an explicit session to tf.start_queue_runners(sess=sess)"
            )
    if not isinstance(sess, session_lib.SessionInterface):
        # Monitored sessions start the threads themselves.
        if type(sess).__name__ in ("MonitoredSession", "SingularMonitoredSession"):
            return []
        raise TypeError("sess must be a `tf.Session` object. Given class: {}".format(type(sess)))
    queue_runners = ops.get_collection(collection)
    if not queue_runners:
        logging.warning(
            "`tf.train.start_queue_runners()` was called when no queue runners were defined. You can safely "
            "remove the call to this deprecated function."
        )
    threads = []
    with sess.graph.as_default():
        for qr in queue_runners:
            threads.extend(qr.create_threads(sess, coord=coord, daemon=daemon, start=start))
    return threads


ops.register_proto_function(
    ops.GraphKeys.QUEUE_RUNNERS,
    proto_type=queue_runner_pb2.QueueRunnerDef,
    to_proto=QueueRunner.to_proto,
    from_proto=QueueRunner.from_proto,
)
