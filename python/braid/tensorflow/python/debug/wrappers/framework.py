"""Sessions around sessions, which say before each run whether and how it is watched, and look at it after."""

import abc
import collections.abc
import re
import threading

from braid import protos
from braid.tensorflow.python.client import session
from braid.tensorflow.python.debug.lib import debug_utils
from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.platform import tf_logging
from braid.tensorflow.python.training import monitored_session
from braid.tensorflow.python.util import nest


def _check_type(obj, expected_types):
    if not isinstance(obj, expected_types):
        raise TypeError("Expected type %s; got type %s" % (expected_types, type(obj)))


_SESSIONS = (session.BaseSession, monitored_session.MonitoredSession)


class OnSessionInitRequest:
    """What on_session_init gets: the session that is wrapped."""

    def __init__(self, sess):
        _check_type(sess, _SESSIONS)
        self.session = sess


class OnSessionInitAction:
    """What on_session_init may ask for."""

    PROCEED = "proceed"
    REMOTE_INSTR_LOOP = "remote_instr_loop"


class OnSessionInitResponse:
    """What on_session_init returns."""

    def __init__(self, action):
        _check_type(action, str)
        self.action = action


class OnRunStartRequest:
    """What on_run_start gets: the arguments of the run, and which run of the wrapper it is, from 1."""

    def __init__(
        self, fetches, feed_dict, run_options, run_metadata, run_call_count, is_callable_runner=False
    ):
        self.fetches, self.feed_dict = fetches, feed_dict
        self.run_options, self.run_metadata = run_options, run_metadata
        self.run_call_count, self.is_callable_runner = run_call_count, is_callable_runner


class OnRunStartAction:
    """What on_run_start may ask for."""

    DEBUG_RUN = "debug_run"
    PROFILE_RUN = "profile_run"
    NON_DEBUG_RUN = "non_debug_run"


class OnRunStartResponse:
    """What on_run_start returns: the kind of run, and what is watched (debug_utils.watch_graph)."""

    def __init__(
        self,
        action,
        debug_urls,
        debug_ops="DebugIdentity",
        node_name_regex_whitelist=None,
        op_type_regex_whitelist=None,
        tensor_dtype_regex_whitelist=None,
        tolerate_debug_op_creation_failures=False,
    ):
        _check_type(action, str)
        _check_type(debug_urls, list)
        self.action, self.debug_urls, self.debug_ops = action, debug_urls, debug_ops
        self.node_name_regex_whitelist = node_name_regex_whitelist
        self.op_type_regex_whitelist = op_type_regex_whitelist
        self.tensor_dtype_regex_whitelist = tensor_dtype_regex_whitelist
        self.tolerate_debug_op_creation_failures = tolerate_debug_op_creation_failures


class OnRunEndRequest:
    """What on_run_end gets: what was done, and the error of the run, if it had one."""

    def __init__(self, performed_action, run_metadata=None, client_graph_def=None, tf_error=None):
        _check_type(performed_action, str)
        if run_metadata is not None:
            _check_type(run_metadata, protos.RunMetadata)
        self.performed_action, self.run_metadata = performed_action, run_metadata
        self.client_graph_def, self.tf_error = client_graph_def, tf_error


class OnRunEndResponse:
    """What on_run_end returns."""


def _is_empty(structure):
    if not nest.is_nested(structure):
        return False
    if isinstance(structure, collections.abc.Mapping):
        structure = list(structure.values())
    return all(_is_empty(item) for item in structure)


class _Call:
    """What a call of the wrapper's `run` is to run: fetches, a callable, or CallableOptions."""

    def __init__(self, fetches, feed_dict, options, run_metadata, runner, runner_args, callable_options):
        self.fetches, self.feed_dict, self.options, self.run_metadata = (
            fetches,
            feed_dict,
            options,
            run_metadata,
        )
        self.runner, self.runner_args, self.callable_options = runner, runner_args, callable_options

    def run(self, sess):
        """As it would be without a wrapper."""
        if self.runner:
            return self.runner(*self.runner_args)
        if self.callable_options:
            return sess._make_callable_from_options(self.callable_options)(*self.runner_args)
        return sess.run(
            self.fetches, feed_dict=self.feed_dict, options=self.options, run_metadata=self.run_metadata
        )

    def run_decorated(self, sess, decorate):
        """decorate(run_options) changes a copy of the options of the run. `run_metadata` is set."""
        self.run_metadata = self.run_metadata or protos.RunMetadata()
        if self.callable_options:
            options = protos.CallableOptions()
            options.CopyFrom(self.callable_options)
            decorate(options.run_options)
            made = sess._make_callable_from_options(options)
            return made(*self.runner_args, run_metadata=self.run_metadata)
        options = protos.RunOptions()
        if self.options is not None:
            options.CopyFrom(self.options)
        decorate(options)
        if self.runner:
            return self.runner(*self.runner_args, options=options, run_metadata=self.run_metadata)
        return sess.run(
            self.fetches, feed_dict=self.feed_dict, options=options, run_metadata=self.run_metadata
        )


class BaseDebugWrapperSession(session.SessionInterface, metaclass=abc.ABCMeta):
    """A session around a session; on_session_init, on_run_start and on_run_end are a subclass's."""

    def __init__(self, sess, thread_name_filter=None, pass_through_operrors=False):
        """Runs of threads whose names do not match `thread_name_filter` are the wrapped session's own.

        `pass_through_operrors`: errors of watched runs are raised; else they are on_run_end's, and returned.
        """
        _check_type(sess, _SESSIONS)
        self._sess = sess
        self._thread_name_filter_pattern = re.compile(thread_name_filter) if thread_name_filter else None
        self._pass_through_operrors = pass_through_operrors
        self._run_call_count = 0
        self._default_session_context_manager = None
        response = self.on_session_init(OnSessionInitRequest(sess))
        _check_type(response, OnSessionInitResponse)
        if response.action == OnSessionInitAction.REMOTE_INSTR_LOOP:
            raise NotImplementedError("OnSessionInitAction REMOTE_INSTR_LOOP has not been implemented.")
        if response.action != OnSessionInitAction.PROCEED:
            raise ValueError("Invalid OnSessionInitAction value: %s" % response.action)

    @property
    def graph(self):
        return self._sess.graph

    @property
    def graph_def(self):
        return self._sess.graph_def

    @property
    def sess_str(self):
        return self._sess.sess_str

    @property
    def session(self):
        """The session that is wrapped."""
        return self._sess

    @property
    def run_call_count(self):
        return self._run_call_count

    def increment_run_call_count(self):
        self._run_call_count += 1

    # -- Runs --

    def run(
        self,
        fetches,
        feed_dict=None,
        options=None,
        run_metadata=None,
        callable_runner=None,
        callable_runner_args=None,
        callable_options=None,
    ):
        """As a session's. `callable_runner` (what `make_callable` returned) or `callable_options` (those of
        `_make_callable_from_options`), with `callable_runner_args`, take the place of fetches and feeds.
        """
        if callable_runner and callable_options:
            raise ValueError(
                "callable_runner and callable_options are mutually exclusive, but are both specified in this "
                "call to BaseDebugWrapperSession.run()."
            )
        for name, value in (("callable_runner", callable_runner), ("callable_options", callable_options)):
            if value and (fetches or feed_dict):
                raise ValueError(
                    "%s and fetches/feed_dict are mutually exclusive, but are used simultaneously." % name
                )
        self.increment_run_call_count()
        call = _Call(
            fetches,
            feed_dict,
            options,
            run_metadata,
            callable_runner,
            callable_runner_args or (),
            callable_options,
        )
        has_nothing = _is_empty(fetches)
        if has_nothing:
            tf_logging.info(
                "Due to empty fetches, tfdbg Session wrapper is letting a Session.run pass through without any "
                "debugging actions."
            )
        if has_nothing or self._is_disabled_thread():
            return call.run(self._sess)
        start = self.on_run_start(
            OnRunStartRequest(
                fetches,
                feed_dict,
                options,
                run_metadata,
                self._run_call_count,
                is_callable_runner=bool(callable_runner),
            )
        )
        _check_type(start, OnRunStartResponse)
        error = None
        if start.action == OnRunStartAction.DEBUG_RUN:
            try:
                values = call.run_decorated(self._sess, lambda o: self._watch(o, start))
            except errors.OpError as op_error:
                if self._pass_through_operrors:
                    raise
                values = error = op_error
        elif start.action == OnRunStartAction.PROFILE_RUN:
            values = call.run_decorated(self._sess, self._decorate_run_options_for_profile)
        elif start.action == OnRunStartAction.NON_DEBUG_RUN:
            values = call.run(self._sess)
        else:
            raise ValueError("Invalid OnRunStartAction value: %s" % start.action)
        if start.action == OnRunStartAction.NON_DEBUG_RUN:
            end = OnRunEndRequest(start.action)
        else:
            graph_def = self._sess.graph.as_graph_def()
            end = OnRunEndRequest(start.action, call.run_metadata, graph_def, error)
        _check_type(self.on_run_end(end), OnRunEndResponse)
        return values

    def _is_disabled_thread(self):
        pattern = self._thread_name_filter_pattern
        return pattern and not pattern.match(threading.current_thread().name or "")

    def _watch(self, run_options, start):
        self._decorate_run_options_for_debug(
            run_options,
            start.debug_urls,
            debug_ops=start.debug_ops,
            node_name_regex_whitelist=start.node_name_regex_whitelist,
            op_type_regex_whitelist=start.op_type_regex_whitelist,
            tensor_dtype_regex_whitelist=start.tensor_dtype_regex_whitelist,
            tolerate_debug_op_creation_failures=start.tolerate_debug_op_creation_failures,
        )

    def _is_disk_usage_reset_each_run(self):
        """Whether each run has all of the bytes that values may take: where their files are removed."""
        return False

    def _decorate_run_options_for_debug(
        self,
        run_options,
        debug_urls,
        debug_ops="DebugIdentity",
        node_name_regex_whitelist=None,
        op_type_regex_whitelist=None,
        tensor_dtype_regex_whitelist=None,
        tolerate_debug_op_creation_failures=False,
    ):
        run_options.output_partition_graphs = True
        debug_utils.watch_graph(
            run_options,
            self._sess.graph,
            debug_urls=debug_urls,
            debug_ops=debug_ops,
            node_name_regex_whitelist=node_name_regex_whitelist,
            op_type_regex_whitelist=op_type_regex_whitelist,
            tensor_dtype_regex_whitelist=tensor_dtype_regex_whitelist,
            tolerate_debug_op_creation_failures=tolerate_debug_op_creation_failures,
            reset_disk_byte_usage=self._run_call_count == 1 or self._is_disk_usage_reset_each_run(),
        )

    def _decorate_run_options_for_profile(self, run_options):
        run_options.trace_level = protos.RunOptions.FULL_TRACE

    def run_step_fn(self, step_fn):
        return step_fn(monitored_session.MonitoredSession.StepContext(self._sess, self.run))

    def partial_run_setup(self, fetches, feeds=None):
        raise NotImplementedError("partial_run_setup is not implemented for debug-wrapper sessions.")

    def partial_run(self, handle, fetches, feed_dict=None):
        raise NotImplementedError("partial_run is not implemented for debug-wrapper sessions.")

    def list_devices(self, *args, **kwargs):
        return self._sess.list_devices(*args, **kwargs)

    def reset(self, *args, **kwargs):
        return self._sess.reset(*args, **kwargs)

    def make_callable(self, fetches, feed_list=None, accept_options=False):
        runner = self._sess.make_callable(fetches, feed_list=feed_list, accept_options=True)

        def run(*args, **kwargs):
            return self.run(
                None,
                options=kwargs.get("options"),
                run_metadata=kwargs.get("run_metadata"),
                callable_runner=runner,
                callable_runner_args=args,
            )

        return run

    def _make_callable_from_options(self, callable_options):
        def run(*args, **kwargs):
            return self.run(
                None,
                run_metadata=kwargs.get("run_metadata"),
                callable_options=callable_options,
                callable_runner_args=args,
            )

        return run

    # -- What a subclass says --

    @abc.abstractmethod
    def on_session_init(self, request):
        """OnSessionInitRequest -> OnSessionInitResponse, when the wrapper is made."""

    @abc.abstractmethod
    def on_run_start(self, request):
        """OnRunStartRequest -> OnRunStartResponse, before a run."""

    @abc.abstractmethod
    def on_run_end(self, request):
        """OnRunEndRequest -> OnRunEndResponse, after it."""

    # -- The rest of a session --

    def as_default(self):
        return ops.default_session(self)

    def __enter__(self):
        if self._default_session_context_manager is None:
            self._default_session_context_manager = self.as_default()
        return self._default_session_context_manager.__enter__()

    def __exit__(self, exec_type, exec_value, exec_tb):
        self._default_session_context_manager.__exit__(exec_type, exec_value, exec_tb)
        self._default_session_context_manager = None

    def close(self):
        self._sess.close()

    def should_stop(self):
        if hasattr(self._sess, "should_stop"):
            return self._sess.should_stop()
        raise ValueError(
            "The wrapped session %r does not have a method called 'should_stop'. Do you intend to wrap a "
            "tf.MonitoredSession instead?" % self._sess
        )


class WatchOptions:
    """What a `watch_fn` returns: what of a run is watched (debug_utils.watch_graph)."""

    def __init__(
        self,
        debug_ops=None,
        node_name_regex_whitelist=None,
        op_type_regex_whitelist=None,
        tensor_dtype_regex_whitelist=None,
        tolerate_debug_op_creation_failures=False,
    ):
        self.debug_ops = debug_ops or ["DebugIdentity"]
        self.node_name_regex_whitelist = node_name_regex_whitelist
        self.op_type_regex_whitelist = op_type_regex_whitelist
        self.tensor_dtype_regex_whitelist = tensor_dtype_regex_whitelist
        self.tolerate_debug_op_creation_failures = tolerate_debug_op_creation_failures

    def __repr__(self):
        return "WatchOptions(%s)" % ", ".join("%s=%r" % item for item in vars(self).items())


class NonInteractiveDebugWrapperSession(BaseDebugWrapperSession):
    """Watches each run as `watch_fn` says, at the URLs that prepare_run_debug_urls of a subclass gives."""

    def __init__(self, sess, watch_fn=None, thread_name_filter=None, pass_through_operrors=False):
        """`watch_fn`: (fetches, feeds) -> WatchOptions; None: everything is watched."""
        super().__init__(
            sess, thread_name_filter=thread_name_filter, pass_through_operrors=pass_through_operrors
        )
        if watch_fn is not None and not callable(watch_fn):
            raise TypeError("watch_fn is not callable")
        self._watch_fn = watch_fn

    def on_session_init(self, request):
        return OnSessionInitResponse(OnSessionInitAction.PROCEED)

    @abc.abstractmethod
    def prepare_run_debug_urls(self, fetches, feed_dict):
        """The debug URLs of a run."""

    def on_run_start(self, request):
        debug_urls, watch = self._prepare_run_watch_config(request.fetches, request.feed_dict)
        return OnRunStartResponse(OnRunStartAction.DEBUG_RUN, debug_urls, **vars(watch))

    def _prepare_run_watch_config(self, fetches, feed_dict):
        debug_urls = self.prepare_run_debug_urls(fetches, feed_dict)
        watch = WatchOptions() if self._watch_fn is None else self._watch_fn(fetches, feed_dict)
        if isinstance(watch, tuple):
            watch = WatchOptions(*watch)
        return debug_urls, watch

    def on_run_end(self, request):
        return OnRunEndResponse()
