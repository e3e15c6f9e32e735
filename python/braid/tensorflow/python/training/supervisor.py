"""The Supervisor: a session with services around it (summaries, checkpoints, threads) for one process of a
training.
"""

import contextlib
import os
import time

from braid import protos
from braid.tensorflow.python.framework import dtypes, meta_graph, ops
from braid.tensorflow.python.ops import control_flow_ops, lookup_ops, variables
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.summary import summary as _summary
from braid.tensorflow.python.training import coordinator, training_util
from braid.tensorflow.python.training import saver as saver_mod
from braid.tensorflow.python.training import session_manager as session_manager_mod
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["train.Supervisor"])
class Supervisor:
    """Initializes or restores the model, saves it, writes summaries, and stops all threads at the end.

        sv = tf.train.Supervisor(logdir="/tmp/model")
        with sv.managed_session() as sess:
            while not sv.should_stop():
                sess.run(train_op)

    With is_chief=False, as in the workers of a cluster but the first, it only waits for the chief to
    initialize.
    """

    USE_DEFAULT = 0  # in place of what may also be None

    def __init__(
        self,
        graph=None,
        ready_op=USE_DEFAULT,
        ready_for_local_init_op=USE_DEFAULT,
        is_chief=True,
        init_op=USE_DEFAULT,
        init_feed_dict=None,
        local_init_op=USE_DEFAULT,
        logdir=None,
        summary_op=USE_DEFAULT,
        saver=USE_DEFAULT,
        global_step=USE_DEFAULT,
        save_summaries_secs=120,
        save_model_secs=600,
        recovery_wait_secs=30,
        stop_grace_secs=120,
        checkpoint_basename="model.ckpt",
        session_manager=None,
        summary_writer=USE_DEFAULT,
        init_fn=None,
        local_init_run_options=None,
    ):
        """What is left out comes from the graph's collections or is made; the graph is finalized.

        logdir: of checkpoints, events and the graph; None for no services. save_model_secs,
        save_summaries_secs: 0 for none. recovery_wait_secs: how often a worker looks whether the model is
        ready.
        """
        graph = ops.get_default_graph() if graph is None else graph
        with graph.as_default():
            self._init_ready_op(ready_op=ready_op, ready_for_local_init_op=ready_for_local_init_op)
            self._init_init_op(init_op=init_op, init_feed_dict=init_feed_dict)
            self._init_local_init_op(local_init_op=local_init_op)
            self._init_saver(saver=saver)
            self._init_summary_op(summary_op=summary_op)
            self._init_global_step(global_step=global_step)
        self._graph = graph
        self._meta_graph_def = meta_graph.create_meta_graph_def(
            graph_def=graph.as_graph_def(add_shapes=True),
            saver_def=self._saver.saver_def if self._saver else None,
        )
        self._is_chief = is_chief
        self._coord = coordinator.Coordinator()
        self._recovery_wait_secs = recovery_wait_secs
        self._stop_grace_secs = stop_grace_secs
        self._init_fn = init_fn
        self._local_init_run_options = local_init_run_options
        self._logdir = None
        self._save_summaries_secs = None
        self._save_model_secs = None
        self._save_path = None
        self._summary_writer = None
        if is_chief:
            self._logdir = logdir
            self._save_summaries_secs = save_summaries_secs
            self._save_model_secs = save_model_secs
            if logdir:
                self._save_path = os.path.join(logdir, checkpoint_basename)
            if summary_writer is Supervisor.USE_DEFAULT:
                if logdir:
                    self._summary_writer = _summary.FileWriter(logdir)
            else:
                self._summary_writer = summary_writer
            self._graph_added_to_summary = False
        self._init_session_manager(session_manager=session_manager)
        self._verify_setup()
        graph.finalize()

    def _init_session_manager(self, session_manager=None):
        if session_manager is not None:
            self._session_manager = session_manager
            return
        self._session_manager = session_manager_mod.SessionManager(
            local_init_op=self._local_init_op,
            ready_op=self._ready_op,
            ready_for_local_init_op=self._ready_for_local_init_op,
            graph=self._graph,
            recovery_wait_secs=self._recovery_wait_secs,
            local_init_run_options=self._local_init_run_options,
        )

    def _get_first_op_from_collection(self, key):
        """The first element of a collection, or None."""
        elements = ops.get_collection(key)
        return elements[0] if elements else None

    def _given_or_default(self, given, key, make):
        """What was given; else the first of the collection; else what make() returns, added to the
        collection.
        """
        if given is not Supervisor.USE_DEFAULT:
            return given
        found = self._get_first_op_from_collection(key)
        if found is None:
            found = make()
            if found is not None:
                ops.add_to_collection(key, found)
        return found

    def _init_ready_op(self, ready_op=USE_DEFAULT, ready_for_local_init_op=USE_DEFAULT):
        self._ready_op = self._given_or_default(
            ready_op, ops.GraphKeys.READY_OP, variables.report_uninitialized_variables
        )
        self._ready_for_local_init_op = self._given_or_default(
            ready_for_local_init_op, ops.GraphKeys.READY_FOR_LOCAL_INIT_OP, lambda: None
        )

    def _init_init_op(self, init_op=USE_DEFAULT, init_feed_dict=None):
        self._init_op = self._given_or_default(
            init_op, ops.GraphKeys.INIT_OP, variables.global_variables_initializer
        )
        self._init_feed_dict = init_feed_dict

    def _init_local_init_op(self, local_init_op=USE_DEFAULT):
        def make():
            return control_flow_ops.group(
                variables.local_variables_initializer(), lookup_ops.tables_initializer()
            )

        self._local_init_op = self._given_or_default(local_init_op, ops.GraphKeys.LOCAL_INIT_OP, make)

    def _init_saver(self, saver=USE_DEFAULT):
        def make():
            return saver_mod.Saver() if variables.global_variables() else None

        self._saver = self._given_or_default(saver, ops.GraphKeys.SAVERS, make)

    def _init_summary_op(self, summary_op=USE_DEFAULT):
        self._summary_op = self._given_or_default(summary_op, ops.GraphKeys.SUMMARY_OP, _summary.merge_all)

    def _init_global_step(self, global_step=USE_DEFAULT):
        self._global_step = self._given_or_default(
            global_step, ops.GraphKeys.GLOBAL_STEP, self._default_global_step_tensor
        )

    @property
    def is_chief(self):
        return self._is_chief

    @property
    def session_manager(self):
        return self._session_manager

    @property
    def coord(self):
        """The Coordinator of all threads."""
        return self._coord

    @property
    def init_op(self):
        return self._init_op

    @property
    def init_feed_dict(self):
        return self._init_feed_dict

    @property
    def ready_op(self):
        return self._ready_op

    @property
    def ready_for_local_init_op(self):
        return self._ready_for_local_init_op

    @property
    def summary_writer(self):
        """The writer of events of the chief, or None."""
        return self._summary_writer

    @property
    def summary_op(self):
        return self._summary_op

    @property
    def save_summaries_secs(self):
        return self._save_summaries_secs

    @property
    def global_step(self):
        return self._global_step

    @property
    def saver(self):
        return self._saver

    @property
    def save_model_secs(self):
        return self._save_model_secs

    @property
    def save_path(self):
        """The prefix of checkpoints, without a step."""
        return self._save_path

    def _write_graph(self):
        """Writes the graph as graph.pbtxt, and as an event."""
        assert self._is_chief, "Only chief should write graph."
        if self._logdir:
            training_util.write_graph(self._graph.as_graph_def(add_shapes=True), self._logdir, "graph.pbtxt")
        if self._summary_writer and not self._graph_added_to_summary:
            self._summary_writer.add_graph(self._graph)
            self._summary_writer.add_meta_graph(self._meta_graph_def)
            self._graph_added_to_summary = True

    def start_standard_services(self, sess):
        """Starts the threads that write summaries, count steps and save. Returns them.

        RuntimeError: this is not the chief.
        """
        if not self._is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. "
                "Because only chief supervisors can write events."
            )
        if not self._logdir:
            logging.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        if self._global_step is not None and self._summary_writer:
            current_step = training_util.global_step(sess, self._global_step)
            log = protos.SessionLog(status=protos.SessionLog.START)
            self._summary_writer.add_session_log(log, current_step)
        threads = []
        if self._save_summaries_secs and self._summary_writer:
            if self._summary_op is not None:
                threads.append(SVSummaryThread(self, sess))
            if self._global_step is not None:
                threads.append(SVStepCounterThread(self, sess))
        if self.saver and self._save_model_secs:
            threads.append(SVTimerCheckpointThread(self, sess))
        for thread in threads:
            thread.start()
        return threads

    def prepare_or_wait_for_session(
        self,
        master="",
        config=None,
        wait_for_checkpoint=False,
        max_wait_secs=7200,
        start_standard_services=True,
    ):
        """A session in which the model is ready. The chief makes it so, others wait for that.

        start_standard_services: start the services (the chief's) and the queue runners.
        """
        self._coord.clear_stop()
        if self._summary_writer:
            self._summary_writer.reopen()
        if self._is_chief:
            sess = self._session_manager.prepare_session(
                master,
                init_op=self.init_op,
                saver=self.saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self._init_feed_dict,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                logging.info("Starting standard services.")
                self.start_standard_services(sess)
        else:
            sess = self._session_manager.wait_for_session(master, config=config, max_wait_secs=max_wait_secs)
        if start_standard_services:
            logging.info("Starting queue runners.")
            self.start_queue_runners(sess)
        return sess

    def start_queue_runners(self, sess, queue_runners=None):
        """Starts the threads of queue runners; None for all of the graph. Returns them."""
        if queue_runners is None:
            queue_runners = self._graph.get_collection(ops.GraphKeys.QUEUE_RUNNERS)
        threads = []
        for runner in queue_runners:
            threads.extend(runner.create_threads(sess, coord=self._coord, daemon=True, start=True))
        return threads

    def loop(self, timer_interval_secs, target, args=None, kwargs=None):
        """Starts a thread that calls target(*args, **kwargs) every so many seconds until the stop; None: all
        the time.
        """
        looper = coordinator.LooperThread(
            self._coord, timer_interval_secs, target=target, args=args, kwargs=kwargs
        )
        looper.start()
        return looper

    def stop(self, threads=None, close_summary_writer=True, ignore_live_threads=False):
        """Asks all threads to stop, waits for them, and closes the writer. Raises what they have raised."""
        self._coord.request_stop()
        try:
            self._coord.join(
                threads,
                stop_grace_period_secs=self._stop_grace_secs,
                ignore_live_threads=ignore_live_threads,
            )
        finally:
            if close_summary_writer and self._summary_writer:
                log = protos.SessionLog(status=protos.SessionLog.STOP)
                self._summary_writer.add_session_log(log)
                self._summary_writer.close()
                self._graph_added_to_summary = False

    def request_stop(self, ex=None):
        """Asks all threads to stop. ex: the error that stop() raises."""
        self._coord.request_stop(ex=ex)

    def should_stop(self):
        return self._coord.should_stop()

    def stop_on_exception(self):
        """A context manager: an error in it asks all threads to stop."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self):
        """Blocks until a thread asks to stop."""
        self._coord.wait_for_stop()

    def summary_computed(self, sess, summary, global_step=None):
        """Writes a summary. RuntimeError: there is no writer."""
        if not self._summary_writer:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self.global_step is not None:
            global_step = training_util.global_step(sess, self.global_step)
        self._summary_writer.add_summary(summary, global_step)

    def _default_global_step_tensor(self):
        """The tensor "global_step:0" if the graph has it with an integer type, or None."""
        try:
            step = ops.get_default_graph().get_tensor_by_name("global_step:0")
        except KeyError:
            return None
        if step.dtype.base_dtype in (dtypes.int32, dtypes.int64):
            return step
        logging.warning("Found 'global_step' but is not an int type: %s", step.dtype)
        return None

    def _verify_setup(self):
        """ValueError: a worker's variable has no device, so that each worker would have its own."""
        if self._is_chief:
            return
        for op in self._graph.get_operations():
            if op.type in ("Variable", "VariableV2") and not op.device:
                raise ValueError(f"When using replicas, all Variables must have their device set: {op}")

    @contextlib.contextmanager
    def managed_session(
        self, master="", config=None, start_standard_services=True, close_summary_writer=True
    ):
        """A context manager of a session: at its end all is stopped, and errors of threads are raised."""
        sess = None
        try:
            sess = self.prepare_or_wait_for_session(
                master=master, config=config, start_standard_services=start_standard_services
            )
            yield sess
        except Exception as e:
            self.request_stop(e)
        finally:
            try:
                # Threads that are blocked in queues get the grace period, and end when the session is closed.
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                try:
                    if sess is not None:
                        sess.close()
                except Exception:
                    pass  # what matters is the error of a thread, or of the program

    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


class SVSummaryThread(coordinator.LooperThread):
    """Writes the supervisor's summaries every save_summaries_secs."""

    def __init__(self, sv, sess):
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv = sv
        self._sess = sess

    def run_loop(self):
        if self._sv.global_step is not None:
            summary, step = self._sess.run([self._sv.summary_op, self._sv.global_step])
        else:
            summary, step = self._sess.run(self._sv.summary_op), None
        if self._sv.summary_writer:
            logging.info("Recording summary at step %s.", step)
            self._sv.summary_writer.add_summary(summary, step)


class SVStepCounterThread(coordinator.LooperThread):
    """Writes the steps per second every save_summaries_secs."""

    def __init__(self, sv, sess, step_counter=None):
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._sv = sv
        self._sess = sess
        self._last_time = 0.0
        self._last_step = 0
        self._step_counter = sv.global_step if step_counter is None else step_counter
        self._summary_tag = f"{self._step_counter.op.name}/sec"

    def start_loop(self):
        self._last_time = time.time()
        self._last_step = training_util.global_step(self._sess, self._step_counter)

    def run_loop(self):
        step = training_util.global_step(self._sess, self._step_counter)
        now = time.time()
        elapsed = now - self._last_time
        rate = (step - self._last_step) / elapsed if elapsed else float("inf")
        self._last_step, self._last_time = step, now
        if self._sv.summary_writer:
            value = protos.Summary.Value(tag=self._summary_tag, simple_value=rate)
            self._sv.summary_writer.add_summary(protos.Summary(value=[value]), step)
        logging.log_first_n(logging.INFO, "%s: %g", 10, self._summary_tag, rate)


class SVTimerCheckpointThread(coordinator.LooperThread):
    """Saves a checkpoint every save_model_secs."""

    def __init__(self, sv, sess):
        super().__init__(sv.coord, sv.save_model_secs)
        self._sv = sv
        self._sess = sess

    def run_loop(self):
        logging.info("Saving checkpoint to path %s", self._sv.save_path)
        self._sv.saver.save(self._sess, self._sv.save_path, global_step=self._sv.global_step)
        if self._sv.summary_writer and self._sv.global_step is not None:
            step = training_util.global_step(self._sess, self._sv.global_step)
            log = protos.SessionLog(status=protos.SessionLog.CHECKPOINT, checkpoint_path=self._sv.save_path)
            self._sv.summary_writer.add_session_log(log, step)
