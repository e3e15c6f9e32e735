"""Sessions that are watched: hooks, threads of queue runners, and recovery when a task is lost.

A MonitoredSession has layers around the tf.Session, from the outside in: _RecoverableSession makes a new
session when the inner one fails by the loss of a task; _CoordinatedSession reports errors of the threads and
stops them; _HookedSession calls the hooks around each run.
"""

import abc
import inspect

from braid import protos
from braid.tensorflow.python.framework import errors, ops
from braid.tensorflow.python.ops import array_ops, control_flow_ops, lookup_ops, resources, variables
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import (
    basic_session_run_hooks,
    coordinator,
    queue_runner,
    session_run_hook,
)
from braid.tensorflow.python.training import saver as training_saver
from braid.tensorflow.python.training import session_manager as sm
from braid.tensorflow.python.util.tf_export import tf_export

# What means that a task was lost or restarted: a new session may succeed.
_PREEMPTION_ERRORS = (errors.AbortedError, errors.UnavailableError)

USE_DEFAULT = object()


@tf_export(v1=["train.Scaffold"])
class Scaffold:
    """What a session needs of the graph: ops that initialize, ops that say what is ready, summaries, the
    saver.

    What is not given is taken from the collections, or made, by finalize().
    """

    def __init__(
        self,
        init_op=None,
        init_feed_dict=None,
        init_fn=None,
        ready_op=None,
        ready_for_local_init_op=None,
        local_init_op=None,
        summary_op=None,
        saver=None,
        copy_from_scaffold=None,
        local_init_feed_dict=None,
    ):
        """init_fn(scaffold, session): called after init_op. copy_from_scaffold: for all that is not given."""

        def given_or_copied(value, name):
            return getattr(copy_from_scaffold, name) if value is None and copy_from_scaffold else value

        if copy_from_scaffold and not isinstance(copy_from_scaffold, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")
        self._init_op = given_or_copied(init_op, "init_op")
        self._ready_op = given_or_copied(ready_op, "ready_op")
        self._ready_for_local_init_op = given_or_copied(ready_for_local_init_op, "ready_for_local_init_op")
        self._local_init_op = given_or_copied(local_init_op, "local_init_op")
        self._local_init_feed_dict = given_or_copied(local_init_feed_dict, "local_init_feed_dict")
        self._summary_op = given_or_copied(summary_op, "summary_op")
        self._saver = given_or_copied(saver, "saver")
        self._init_feed_dict = given_or_copied(init_feed_dict, "init_feed_dict")
        self._user_init_fn = init_fn
        if init_fn:
            self._init_fn = lambda sess: init_fn(self, sess)
        elif copy_from_scaffold and copy_from_scaffold._user_init_fn:
            copied = copy_from_scaffold._user_init_fn
            self._user_init_fn = copied
            self._init_fn = lambda sess: copied(self, sess)
        else:
            self._init_fn = None

    def finalize(self):
        """Makes what is missing, and finalizes the graph. Returns the scaffold."""
        keys = ops.GraphKeys
        if self._init_op is None:

            def default_init_op():
                return control_flow_ops.group(
                    variables.global_variables_initializer(),
                    resources.initialize_resources(resources.shared_resources()),
                )

            self._init_op = Scaffold.get_or_default("init_op", keys.INIT_OP, default_init_op)
        if self._ready_op is None:

            def default_ready_op():
                return array_ops.concat(
                    [
                        variables.report_uninitialized_variables(),
                        resources.report_uninitialized_resources(),
                    ],
                    0,
                )

            self._ready_op = Scaffold.get_or_default("ready_op", keys.READY_OP, default_ready_op)
        if self._ready_for_local_init_op is None:

            def default_ready_for_local_init_op():
                return array_ops.concat(
                    [
                        variables.report_uninitialized_variables(variables.global_variables()),
                        resources.report_uninitialized_resources(resources.shared_resources()),
                    ],
                    0,
                )

            self._ready_for_local_init_op = Scaffold.get_or_default(
                "ready_for_local_init_op", keys.READY_FOR_LOCAL_INIT_OP, default_ready_for_local_init_op
            )
        if self._local_init_op is None:
            self._local_init_op = Scaffold.get_or_default(
                "local_init_op", keys.LOCAL_INIT_OP, Scaffold.default_local_init_op
            )
        if self._summary_op is None:
            self._summary_op = Scaffold.get_or_default("summary_op", keys.SUMMARY_OP, summary.merge_all)
        if self._saver is None:
            self._saver = training_saver._get_saver_or_default()
        self._saver.build()
        ops.get_default_graph().finalize()
        logging.info("Graph was finalized.")
        return self

    @property
    def init_fn(self):
        return self._init_fn

    @property
    def init_op(self):
        return self._init_op

    @property
    def ready_op(self):
        return self._ready_op

    @property
    def ready_for_local_init_op(self):
        return self._ready_for_local_init_op

    @property
    def local_init_op(self):
        return self._local_init_op

    @property
    def local_init_feed_dict(self):
        return self._local_init_feed_dict

    @property
    def summary_op(self):
        return self._summary_op

    @property
    def saver(self):
        return self._saver

    @property
    def init_feed_dict(self):
        return self._init_feed_dict

    @staticmethod
    def get_or_default(arg_name, collection_key, default_constructor):
        """The one element of a collection, or what the constructor makes, which is added to it."""
        elements = ops.get_collection(collection_key)
        if elements:
            if len(elements) > 1:
                raise RuntimeError(
                    f'More than one item in the collection "{collection_key}". Please indicate which one to use '
                    f"by passing it to the tf.Scaffold constructor as: tf.Scaffold({arg_name}=item to use)"
                )
            return elements[0]
        op = default_constructor()
        if op is not None:
            ops.add_to_collection(collection_key, op)
        return op

    @staticmethod
    def default_local_init_op():
        """An op that initializes local variables, tables and local resources."""
        return control_flow_ops.group(
            variables.local_variables_initializer(),
            lookup_ops.tables_initializer(),
            resources.initialize_resources(resources.local_resources()),
        )


@tf_export(v1=["train.MonitoredTrainingSession"])
def MonitoredTrainingSession(
    master="",
    is_chief=True,
    checkpoint_dir=None,
    scaffold=None,
    hooks=None,
    chief_only_hooks=None,
    save_checkpoint_secs=USE_DEFAULT,
    save_summaries_steps=USE_DEFAULT,
    save_summaries_secs=USE_DEFAULT,
    config=None,
    stop_grace_period_secs=120,
    log_step_count_steps=100,
    max_wait_secs=7200,
    save_checkpoint_steps=USE_DEFAULT,
    summary_dir=None,
):
    """A MonitoredSession for training. The chief initializes or restores, saves, and writes summaries;
    others wait.

    checkpoint_dir: None for no checkpoints. By default they are saved every 600 seconds, and summaries every
    100 steps; None for both of steps and secs turns that off. summary_dir: None for checkpoint_dir.
    """
    if save_summaries_steps == USE_DEFAULT and save_summaries_secs == USE_DEFAULT:
        save_summaries_steps, save_summaries_secs = 100, None
    elif save_summaries_secs == USE_DEFAULT:
        save_summaries_secs = None
    elif save_summaries_steps == USE_DEFAULT:
        save_summaries_steps = None
    if save_checkpoint_steps == USE_DEFAULT and save_checkpoint_secs == USE_DEFAULT:
        save_checkpoint_steps, save_checkpoint_secs = None, 600
    elif save_checkpoint_secs == USE_DEFAULT:
        save_checkpoint_secs = None
    elif save_checkpoint_steps == USE_DEFAULT:
        save_checkpoint_steps = None

    scaffold = scaffold or Scaffold()
    if not is_chief:
        creator = WorkerSessionCreator(
            scaffold=scaffold, master=master, config=config, max_wait_secs=max_wait_secs
        )
        return MonitoredSession(
            session_creator=creator, hooks=hooks or [], stop_grace_period_secs=stop_grace_period_secs
        )
    all_hooks = list(chief_only_hooks or ())
    creator = ChiefSessionCreator(
        scaffold=scaffold, checkpoint_dir=checkpoint_dir, master=master, config=config
    )
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir:
        if log_step_count_steps and log_step_count_steps > 0:
            all_hooks.append(
                basic_session_run_hooks.StepCounterHook(
                    output_dir=summary_dir, every_n_steps=log_step_count_steps
                )
            )
        if (save_summaries_steps and save_summaries_steps > 0) or (
            save_summaries_secs and save_summaries_secs > 0
        ):
            all_hooks.append(
                basic_session_run_hooks.SummarySaverHook(
                    scaffold=scaffold,
                    save_steps=save_summaries_steps,
                    save_secs=save_summaries_secs,
                    output_dir=summary_dir,
                )
            )
    if checkpoint_dir and (
        (save_checkpoint_secs and save_checkpoint_secs > 0)
        or (save_checkpoint_steps and save_checkpoint_steps > 0)
    ):
        all_hooks.append(
            basic_session_run_hooks.CheckpointSaverHook(
                checkpoint_dir,
                save_steps=save_checkpoint_steps,
                save_secs=save_checkpoint_secs,
                scaffold=scaffold,
            )
        )
    all_hooks.extend(hooks or ())
    return MonitoredSession(
        session_creator=creator, hooks=all_hooks, stop_grace_period_secs=stop_grace_period_secs
    )


@tf_export(v1=["train.SessionCreator"])
class SessionCreator(abc.ABC):
    """Makes the tf.Session of a monitored session, at the start and at each recovery."""

    @abc.abstractmethod
    def create_session(self):
        raise NotImplementedError("create_session is not implemented.")


class _ManagedSessionCreator(SessionCreator):
    """Makes sessions by a SessionManager, made at first use."""

    def __init__(self, scaffold, master, config):
        self._scaffold = scaffold or Scaffold()
        self._session_manager = None
        self._master = master
        self._config = config

    def _get_session_manager(self):
        if not self._session_manager:
            self._session_manager = sm.SessionManager(
                local_init_op=self._scaffold.local_init_op,
                local_init_feed_dict=self._scaffold.local_init_feed_dict,
                ready_op=self._scaffold.ready_op,
                ready_for_local_init_op=self._scaffold.ready_for_local_init_op,
                graph=ops.get_default_graph(),
            )
        return self._session_manager


@tf_export(v1=["train.ChiefSessionCreator"])
class ChiefSessionCreator(_ManagedSessionCreator):
    """Makes sessions whose variables are restored or initialized."""

    def __init__(
        self, scaffold=None, master="", config=None, checkpoint_dir=None, checkpoint_filename_with_path=None
    ):
        super().__init__(scaffold, master, config)
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint_filename_with_path = checkpoint_filename_with_path

    def create_session(self):
        self._scaffold.finalize()
        return self._get_session_manager().prepare_session(
            self._master,
            saver=self._scaffold.saver,
            checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint_filename_with_path,
            config=self._config,
            init_op=self._scaffold.init_op,
            init_feed_dict=self._scaffold.init_feed_dict,
            init_fn=self._scaffold.init_fn,
        )


@tf_export(v1=["train.WorkerSessionCreator"])
class WorkerSessionCreator(_ManagedSessionCreator):
    """Makes sessions when the chief has made the model ready."""

    def __init__(self, scaffold=None, master="", config=None, max_wait_secs=30 * 60):
        super().__init__(scaffold, master, config)
        self._max_wait_secs = max_wait_secs

    def create_session(self):
        self._scaffold.finalize()
        return self._get_session_manager().wait_for_session(
            self._master, config=self._config, max_wait_secs=self._max_wait_secs
        )


class _MonitoredSession:
    """A session with hooks; a context manager that ends it. OutOfRange and StopIteration end it without an
    error.
    """

    def __init__(self, session_creator, hooks, should_recover, stop_grace_period_secs=120):
        self._graph_was_finalized = ops.get_default_graph().finalized
        self._hooks = hooks or []
        for hook in self._hooks:
            hook.begin()
        self._coordinated_creator = self._CoordinatedSessionCreator(
            session_creator=session_creator or ChiefSessionCreator(),
            hooks=self._hooks,
            stop_grace_period_secs=stop_grace_period_secs,
        )
        if should_recover:
            self._sess = _RecoverableSession(self._coordinated_creator)
        else:
            self._sess = self._coordinated_creator.create_session()

    @property
    def graph(self):
        tf_sess = self._tf_sess()
        return None if tf_sess is None else tf_sess.graph

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """As tf.Session.run, with the hooks' own fetches and feeds."""
        return self._sess.run(fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata)

    def run_step_fn(self, step_fn):
        """Calls step_fn(step_context), which may run the session several times with the hooks called once.

        step_context.session is the tf.Session, without hooks; step_context.run_with_hooks as run();
        step_context.request_stop() stops.
        """
        arguments = inspect.getfullargspec(getattr(step_fn, "func", step_fn)).args
        if arguments not in (["step_context"], ["self", "step_context"]):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and `step_context` arguments "
                f"if it's an instance method. Got {arguments} instead."
            )
        return self._sess.run_step_fn(step_fn, self._tf_sess(), run_with_hooks=None)

    class StepContext:
        """What a step_fn gets."""

        def __init__(self, session, run_with_hooks_fn):
            self._session = session
            self._run_with_hooks_fn = run_with_hooks_fn

        @property
        def session(self):
            return self._session

        def run_with_hooks(self, *args, **kwargs):
            return self._run_with_hooks_fn(*args, **kwargs)

        def request_stop(self):
            raise StopIteration("step_fn has requested the iterations to stop.")

    def should_stop(self):
        """Whether a hook, a thread or an error has asked to stop, or the session is closed."""
        return self._sess is None or self._sess.should_stop()

    def close(self):
        self._close_internal()

    def __enter__(self):
        return self

    def __exit__(self, exception_type, exception_value, traceback):
        if exception_type in [errors.OutOfRangeError, StopIteration]:
            exception_type = None
        self._close_internal(exception_type)
        return exception_type is None

    class _CoordinatedSessionCreator(SessionCreator):
        """Makes the session with the layers inside _RecoverableSession, and starts the threads of queue
        runners.
        """

        def __init__(self, session_creator, hooks, stop_grace_period_secs):
            self._session_creator = session_creator
            self._hooks = hooks
            self.coord = None
            self.tf_sess = None
            self._stop_grace_period_secs = stop_grace_period_secs

        def create_session(self):
            self.tf_sess = self._session_creator.create_session()
            # Errors of threads are to reach the program, OutOfRange too.
            self.coord = coordinator.Coordinator(clean_stop_exception_types=[])
            if ops.get_collection(ops.GraphKeys.QUEUE_RUNNERS):
                queue_runner.start_queue_runners(sess=self.tf_sess, coord=self.coord)
            for hook in self._hooks:
                hook.after_create_session(self.tf_sess, self.coord)
            return _CoordinatedSession(
                _HookedSession(self.tf_sess, self._hooks), self.coord, self._stop_grace_period_secs
            )

    def _close_internal(self, exception_type=None):
        try:
            if not exception_type:
                for hook in self._hooks:
                    hook.end(self._coordinated_creator.tf_sess)
        finally:
            try:
                if self._sess is None:
                    raise RuntimeError("Session is already closed.")
                self._sess.close()
            finally:
                self._sess = None
                self._coordinated_creator.tf_sess = None
                self._coordinated_creator.coord = None
                if not self._graph_was_finalized:
                    ops.get_default_graph()._unsafe_unfinalize()

    def _is_closed(self):
        return self._coordinated_creator.tf_sess is None

    def _tf_sess(self):
        return self._coordinated_creator.tf_sess


@tf_export(v1=["train.MonitoredSession"])
class MonitoredSession(_MonitoredSession):
    """A session with hooks that goes on with a new session when a task was lost (AbortedError,
    UnavailableError).

    On entry the graph is finalized and the variables are initialized. On exit the hooks end, threads are
    joined, the session is closed. An error is raised again unless it is OutOfRangeError or StopIteration.
    """

    def __init__(self, session_creator=None, hooks=None, stop_grace_period_secs=120):
        super().__init__(
            session_creator, hooks, should_recover=True, stop_grace_period_secs=stop_grace_period_secs
        )


@tf_export(v1=["train.SingularMonitoredSession"])
class SingularMonitoredSession(_MonitoredSession):
    """A session with hooks that does not recover, and that gives access to its tf.Session: raw_session()."""

    def __init__(
        self,
        hooks=None,
        scaffold=None,
        master="",
        config=None,
        checkpoint_dir=None,
        stop_grace_period_secs=120,
        checkpoint_filename_with_path=None,
    ):
        creator = ChiefSessionCreator(
            scaffold=scaffold,
            master=master,
            config=config,
            checkpoint_dir=checkpoint_dir,
            checkpoint_filename_with_path=checkpoint_filename_with_path,
        )
        super().__init__(creator, hooks, should_recover=False, stop_grace_period_secs=stop_grace_period_secs)

    def raw_session(self):
        return self._tf_sess()


class _WrappedSession:
    """A layer around a session, or around another layer."""

    def __init__(self, sess):
        self._sess = sess
        self._wrapped_is_stoppable = isinstance(sess, _WrappedSession)

    @property
    def graph(self):
        return self._sess.graph

    @property
    def sess_str(self):
        return self._sess.sess_str

    def should_stop(self):
        if self._check_stop():
            return True
        if self._sess:
            return self._wrapped_is_stoppable and self._sess.should_stop()
        return True

    def _check_stop(self):
        """Whether this layer asks to stop; layers override it."""
        return False

    def close(self):
        if not self._sess:
            return
        try:
            self._sess.close()
        except _PREEMPTION_ERRORS as e:
            logging.warning("The session lost a task while it was closed: %s", e)
        finally:
            self._sess = None

    def run(self, *args, **kwargs):
        return self._sess.run(*args, **kwargs)

    def run_step_fn(self, step_fn, raw_session, run_with_hooks):
        # The outermost layer's run has all hooks; inner layers are given it.
        return step_fn(_MonitoredSession.StepContext(raw_session, run_with_hooks or self.run))


class _RecoverableSession(_WrappedSession):
    """Makes a new session when the inner one fails by the loss of a task, and runs the step again in it."""

    def __init__(self, sess_creator):
        self._sess_creator = sess_creator
        super().__init__(self._create_session())

    def _create_session(self):
        while True:
            try:
                return self._sess_creator.create_session()
            except _PREEMPTION_ERRORS as e:
                logging.info("A task was lost while a session was made; it is tried again. Error: %s", e)

    def _recover_from(self, e):
        logging.info("A task was lost; a new session is made. Error: %s", e)
        self.close()

    def _check_stop(self):
        try:
            return self._sess._check_stop() if self._sess else True
        except _PREEMPTION_ERRORS as e:
            self._recover_from(e)
            self._sess = self._create_session()
            return False  # the new session goes on
        except Exception:
            return True  # run() raises the error

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        while True:
            try:
                if not self._sess:
                    self._sess = self._create_session()
                return self._sess.run(
                    fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata
                )
            except _PREEMPTION_ERRORS as e:
                self._recover_from(e)

    def run_step_fn(self, step_fn, raw_session, run_with_hooks):
        while True:
            try:
                if not self._sess:
                    self._sess = self._create_session()
                    raw_session = getattr(self._sess_creator, "tf_sess", raw_session)
                return self._sess.run_step_fn(step_fn, raw_session, run_with_hooks=self._sess.run)
            except _PREEMPTION_ERRORS as e:
                self._recover_from(e)


class _CoordinatedSession(_WrappedSession):
    """Stops the coordinator's threads at the end, and raises their errors in place of those that follow from
    them.
    """

    def __init__(self, sess, coord, stop_grace_period_secs=120):
        super().__init__(sess)
        self._coord = coord
        self._stop_grace_period_secs = stop_grace_period_secs

    def _check_stop(self):
        self._coord.raise_requested_exception()
        return self._coord.should_stop()

    def close(self):
        self._coord.request_stop()
        try:
            self._coord.join(stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True)
        finally:
            try:
                super().close()
            except Exception:
                pass  # what matters is the error of a run or of a thread

    def run(self, *args, **kwargs):
        try:
            return self._sess.run(*args, **kwargs)
        except _PREEMPTION_ERRORS:
            raise
        except Exception as original:
            # A lost task may have ended a thread first, and so closed the queue that this run needs.
            try:
                self._coord.raise_requested_exception()
            except _PREEMPTION_ERRORS:
                raise
            except Exception:
                pass
            raise original


class _HookedSession(_WrappedSession):
    """Calls the hooks around each run."""

    def __init__(self, sess, hooks):
        super().__init__(sess)
        self._hooks = hooks
        self._should_stop = False

    def _check_stop(self):
        return self._should_stop

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        if self.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        actual_fetches = {"caller": fetches}
        run_context = session_run_hook.SessionRunContext(
            original_args=session_run_hook.SessionRunArgs(fetches, feed_dict), session=self._sess
        )
        options = options or protos.RunOptions()
        feed_dict = self._call_hook_before_run(run_context, actual_fetches, feed_dict, options)
        # Without options nothing is traced: the session need not look after metadata.
        is_plain = run_metadata is None and options == protos.RunOptions()
        run_metadata = run_metadata or protos.RunMetadata()
        outputs = self._sess.run(
            fetches=actual_fetches,
            feed_dict=feed_dict,
            options=None if is_plain else options,
            run_metadata=None if is_plain else run_metadata,
        )
        for hook in self._hooks:
            hook.after_run(
                run_context,
                session_run_hook.SessionRunValues(
                    results=outputs.get(hook), options=options, run_metadata=run_metadata
                ),
            )
        self._should_stop = self._should_stop or run_context.stop_requested
        return outputs["caller"]

    def _call_hook_before_run(self, run_context, fetch_dict, user_feed_dict, options):
        """Adds the hooks' fetches and options. Returns the feeds of the hooks and of the program together."""
        hook_feeds = {}
        for hook in self._hooks:
            request = hook.before_run(run_context)
            if request is None:
                continue
            if request.fetches is not None:
                fetch_dict[hook] = request.fetches
            if request.feed_dict:
                self._raise_if_feeds_intersects(
                    hook_feeds, request.feed_dict, "Same tensor is fed by two hooks."
                )
                hook_feeds.update(request.feed_dict)
            if request.options:
                self._merge_run_options(options, request.options)
        if not hook_feeds:
            return user_feed_dict
        if not user_feed_dict:
            return hook_feeds
        self._raise_if_feeds_intersects(
            user_feed_dict, hook_feeds, "Same tensor is fed by a SessionRunHook and user."
        )
        hook_feeds.update(user_feed_dict)
        return hook_feeds

    def _raise_if_feeds_intersects(self, feeds1, feeds2, message):
        both = set(feeds1) & set(feeds2)
        if both:
            raise RuntimeError(f"{message} Conflict(s): {both}")

    def _merge_run_options(self, options, incoming_options):
        """Merges options into others: the higher level of tracing, the longer timeout, all that is
        watched.
        """
        options.trace_level = max(options.trace_level, incoming_options.trace_level)
        options.timeout_in_ms = max(options.timeout_in_ms, incoming_options.timeout_in_ms)
        options.inter_op_thread_pool = max(
            options.inter_op_thread_pool, incoming_options.inter_op_thread_pool
        )
        options.output_partition_graphs = max(
            options.output_partition_graphs, incoming_options.output_partition_graphs
        )
        options.debug_options.debug_tensor_watch_opts.extend(
            incoming_options.debug_options.debug_tensor_watch_opts
        )
        options.debug_options.reset_disk_byte_usage = (
            options.debug_options.reset_disk_byte_usage
            or incoming_options.debug_options.reset_disk_byte_usage
        )
        options.report_tensor_allocations_upon_oom = (
            options.report_tensor_allocations_upon_oom or incoming_options.report_tensor_allocations_upon_oom
        )
