"""Hooks that watch the runs of monitored sessions and estimators."""

from braid import protos
from braid.tensorflow.python.debug.lib import debug_utils
from braid.tensorflow.python.debug.wrappers import dumping_wrapper
from braid.tensorflow.python.debug.wrappers import framework
from braid.tensorflow.python.debug.wrappers import grpc_wrapper
from braid.tensorflow.python.debug.wrappers import local_cli_wrapper
from braid.tensorflow.python.training import session_run_hook


class LocalCLIDebugHook(session_run_hook.SessionRunHook):
    """Shows runs in the terminal, as LocalCLIDebugWrapperSession does."""

    def __init__(self, ui_type="curses", dump_root=None, thread_name_filter=None, config_file_path=None):
        """The arguments are those of LocalCLIDebugWrapperSession."""
        self._ui_type, self._dump_root = ui_type, dump_root
        self._thread_name_filter, self._config_file_path = thread_name_filter, config_file_path
        self._session_wrapper = None
        self._pending_tensor_filters = {}
        self._performed_action = None

    def add_tensor_filter(self, filter_name, tensor_filter):
        """Adds a filter of tensors (LocalCLIDebugWrapperSession.add_tensor_filter)."""
        if self._session_wrapper:
            self._session_wrapper.add_tensor_filter(filter_name, tensor_filter)
        else:
            self._pending_tensor_filters[filter_name] = tensor_filter

    def begin(self):
        pass

    def before_run(self, run_context):
        if not self._session_wrapper:
            self._session_wrapper = local_cli_wrapper.LocalCLIDebugWrapperSession(
                run_context.session,
                ui_type=self._ui_type,
                dump_root=self._dump_root,
                thread_name_filter=self._thread_name_filter,
                config_file_path=self._config_file_path,
            )
            for name, tensor_filter in self._pending_tensor_filters.items():
                self._session_wrapper.add_tensor_filter(name, tensor_filter)
        wrapper = self._session_wrapper
        wrapper.increment_run_call_count()
        run = run_context.original_args
        start = wrapper.on_run_start(
            framework.OnRunStartRequest(run.fetches, run.feed_dict, None, None, wrapper.run_call_count)
        )
        self._performed_action = start.action
        options = protos.RunOptions()
        if start.action == framework.OnRunStartAction.DEBUG_RUN:
            wrapper._watch(options, start)
        elif start.action == framework.OnRunStartAction.PROFILE_RUN:
            wrapper._decorate_run_options_for_profile(options)
        return session_run_hook.SessionRunArgs(None, feed_dict=None, options=options)

    def after_run(self, run_context, run_values):
        self._session_wrapper.on_run_end(
            framework.OnRunEndRequest(self._performed_action, run_values.run_metadata)
        )


class DumpingDebugHook(session_run_hook.SessionRunHook):
    """Writes runs to directories, as DumpingDebugWrapperSession does."""

    def __init__(self, session_root, watch_fn=None, thread_name_filter=None, log_usage=True):
        """The arguments are those of DumpingDebugWrapperSession."""
        self._session_root, self._watch_fn = session_root, watch_fn
        self._thread_name_filter, self._log_usage = thread_name_filter, log_usage
        self._session_wrapper = None

    def begin(self):
        pass

    def before_run(self, run_context):
        is_first = not self._session_wrapper
        if is_first:
            self._session_wrapper = dumping_wrapper.DumpingDebugWrapperSession(
                run_context.session,
                self._session_root,
                watch_fn=self._watch_fn,
                thread_name_filter=self._thread_name_filter,
                log_usage=self._log_usage,
            )
        self._session_wrapper.increment_run_call_count()
        run = run_context.original_args
        debug_urls, watch = self._session_wrapper._prepare_run_watch_config(run.fetches, run.feed_dict)
        options = protos.RunOptions()
        debug_utils.watch_graph(
            options,
            run_context.session.graph,
            debug_urls=debug_urls,
            reset_disk_byte_usage=is_first,
            **vars(watch),
        )
        return session_run_hook.SessionRunArgs(None, feed_dict=None, options=options)

    def after_run(self, run_context, run_values):
        pass


GrpcDebugHook = grpc_wrapper.absent("GrpcDebugHook")
TensorBoardDebugHook = grpc_wrapper.absent("TensorBoardDebugHook")
