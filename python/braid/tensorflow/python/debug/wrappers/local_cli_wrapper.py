"""A session whose runs stop in a command line, before and after they ran."""

import argparse
import os
import shutil
import sys
import tempfile

from braid.tensorflow.python.debug.cli import analyzer_cli
from braid.tensorflow.python.debug.cli import cli_config
from braid.tensorflow.python.debug.cli import cli_shared
from braid.tensorflow.python.debug.cli import command_parser
from braid.tensorflow.python.debug.cli import debugger_cli_common
from braid.tensorflow.python.debug.cli import profile_analyzer_cli
from braid.tensorflow.python.debug.cli import ui_factory
from braid.tensorflow.python.debug.lib import common
from braid.tensorflow.python.debug.lib import debug_data
from braid.tensorflow.python.debug.wrappers import framework

_DUMP_ROOT_PREFIX = "tfdbg_"

_Action = framework.OnRunStartAction


def _run_parser():
    ap = argparse.ArgumentParser(
        description="Run through, with or without debug tensor watching.", usage=argparse.SUPPRESS
    )
    ap.add_argument("-t", "--times", type=int, default=1, help="how many runs to go on, the last one watched")
    ap.add_argument("-n", "--no_debug", action="store_true", help="without watching")
    ap.add_argument(
        "-f",
        "--till_filter_pass",
        type=str,
        default="",
        help="go on until a tensor of a run passes this filter",
    )
    ap.add_argument(
        "-fenn",
        "--filter_exclude_node_names",
        type=str,
        default="",
        help="with -f: leave out nodes whose names match this expression",
    )
    for name, what in (
        ("node_name_filter", "nodes whose names match this expression: loss, reshape.*"),
        ("op_type_filter", "nodes whose types of op match: (MatMul|Add), Variable.*"),
        ("tensor_dtype_filter", "tensors whose dtypes match: (float32|float64), int.*"),
    ):
        ap.add_argument("--" + name, type=str, default="", help="watch only " + what)
    ap.add_argument("-p", "--profile", action="store_true", help="show the times of the run instead")
    return ap


class LocalCLIDebugWrapperSession(framework.BaseDebugWrapperSession):
    """Stops before and after each run in a command line: `run` goes on, `lt` lists what a run computed."""

    def __init__(
        self,
        sess,
        dump_root=None,
        log_usage=True,
        ui_type="curses",
        thread_name_filter=None,
        config_file_path=False,
    ):
        """`dump_root`: an empty or a new directory for what runs write, removed after each; by default one
        for temporary files. `ui_type`: "readline", which "curses" is here, too. `config_file_path`: settings, in
        place of ~/.tfdbg_config.
        """
        super().__init__(sess, thread_name_filter=thread_name_filter)
        if not dump_root:
            self._dump_root = os.path.join(tempfile.mkdtemp(prefix=_DUMP_ROOT_PREFIX), "dump")
        else:
            self._dump_root = dump_root = os.path.expanduser(dump_root)
            if os.path.isfile(dump_root):
                raise ValueError("dump_root path points to a file: %s" % dump_root)
            if os.path.isdir(dump_root) and os.listdir(dump_root):
                raise ValueError("dump_root path points to a non-empty directory: %s" % dump_root)
        self._initialize_argparsers()
        self._tensor_filters = {}
        self.add_tensor_filter("has_inf_or_nan", debug_data.has_inf_or_nan)
        # `run -f`: the filter, what it leaves out, and how runs are watched until it passes.
        self._active_tensor_filter = None
        self._active_filter_exclude_node_names = None
        self._active_tensor_filter_run_start_response = None
        self._run_through_times = 1  # runs that are still to go on, of `run -t`
        self._skip_debug = False  # `run -n`
        self._run_start_response = None  # what the last command asked for
        self._is_run_start = True
        self._ui_type = ui_type
        self._config = cli_config.CLIConfig(config_file_path=config_file_path) if config_file_path else None

    def _is_disk_usage_reset_each_run(self):
        return True

    def _initialize_argparsers(self):
        info = argparse.ArgumentParser(
            description="Display information about this Session.run() call.", usage=argparse.SUPPRESS
        )
        self._argparsers = {
            "run": _run_parser(),
            "run_info": info,
            "print_feed": command_parser.get_print_tensor_argparser(
                "Print the value of a feed in feed_dict."
            ),
        }

    def add_tensor_filter(self, filter_name, tensor_filter):
        """Adds a filter for `run -f` and `lt -f`: tensor_filter(datum, value) (DebugDumpDir.find)."""
        self._tensor_filters[filter_name] = tensor_filter

    # -- Before a run --

    def on_session_init(self, request):
        return framework.OnSessionInitResponse(framework.OnSessionInitAction.PROCEED)

    def on_run_start(self, request):
        self._is_run_start = True
        self._update_run_calls_state(
            request.run_call_count,
            request.fetches,
            request.feed_dict,
            is_callable_runner=request.is_callable_runner,
        )
        if self._active_tensor_filter:
            return self._active_tensor_filter_run_start_response
        self._exit_if_requested_by_user()
        if self._run_call_count > 1 and not self._skip_debug:
            if self._run_through_times > 0:
                return framework.OnRunStartResponse(_Action.NON_DEBUG_RUN, [])
            if self._run_through_times == 0:
                return self._run_start_response or framework.OnRunStartResponse(
                    _Action.DEBUG_RUN, self._get_run_debug_urls()
                )
        if self._run_start_response is None:
            self._prep_cli_for_run_start()
            self._run_start_response = self._launch_cli()
            if self._active_tensor_filter:
                self._active_tensor_filter_run_start_response = self._run_start_response
            if self._run_through_times > 1:
                self._run_through_times -= 1
        self._exit_if_requested_by_user()
        return self._run_start_response

    def _exit_if_requested_by_user(self):
        if self._run_start_response == debugger_cli_common.EXPLICIT_USER_EXIT:
            print("Note: user exited from debugger CLI: Calling sys.exit(1).", file=sys.stderr)
            sys.exit(1)

    def _prep_cli_for_run_start(self):
        self._run_cli = ui_factory.get_ui(self._ui_type, config=self._config)
        intro = self._logo()
        intro.append("Upcoming run:")
        intro.extend(self._run_info)
        self._run_cli.set_help_intro(intro)
        self._title, self._title_color = "run-start: " + self._run_description, "blue_on_white"
        self._init_command = "run_info"

    def _logo(self):
        lines = debugger_cli_common.RichTextLines([])
        if self._run_call_count == 1:
            lines.extend(cli_shared.get_tfdbg_logo())
            lines.extend(debugger_cli_common.get_tensorflow_version_lines())
        return lines

    # -- After a run --

    def on_run_end(self, request):
        self._is_run_start = False
        if request.performed_action == _Action.DEBUG_RUN:
            self._show_dump(request)
        elif request.performed_action == _Action.PROFILE_RUN:
            self._prep_profile_cli_for_run_end(self._sess.graph, request.run_metadata)
            self._run_start_response = self._launch_cli()
        else:
            self._run_start_response = None
        return framework.OnRunEndResponse()

    def _show_dump(self, request):
        graphs = None
        if request.run_metadata and request.run_metadata.partition_graphs:
            graphs = request.run_metadata.partition_graphs
        elif request.client_graph_def:
            graphs = [request.client_graph_def]
        if request.tf_error and not os.path.isdir(self._dump_root):
            raise request.tf_error
        dump = debug_data.DebugDumpDir(self._dump_root, partition_graphs=graphs)
        dump.set_python_graph(self._sess.graph)
        passed = excluded = None
        if self._active_tensor_filter:
            passed, excluded = self._active_tensor_filter, self._active_filter_exclude_node_names
            if not dump.find(self._tensor_filters[passed], first_n=1, exclude_node_names=excluded):
                self._remove_dump_root()
                return
            self._active_tensor_filter = self._active_filter_exclude_node_names = None
        self._prep_debug_cli_for_run_end(dump, request.tf_error, passed, excluded)
        self._run_start_response = self._launch_cli()
        self._remove_dump_root()

    def _remove_dump_root(self):
        if os.path.isdir(self._dump_root):
            shutil.rmtree(self._dump_root)

    def _prep_debug_cli_for_run_end(
        self, debug_dump, tf_error, passed_filter, passed_filter_exclude_node_names
    ):
        self._init_command, self._title_color = "lt", "black_on_white"
        if tf_error:
            self._init_command, self._title_color = "help", "red_on_white"
        elif passed_filter is not None:
            self._init_command, self._title_color = "lt -f %s" % passed_filter, "red_on_white"
            if passed_filter_exclude_node_names:
                self._init_command += " --filter_exclude_node_names " + passed_filter_exclude_node_names
        self._run_cli = analyzer_cli.create_analyzer_ui(
            debug_dump,
            self._tensor_filters,
            ui_type=self._ui_type,
            on_ui_exit=self._remove_dump_root,
            config=self._config,
        )
        self._run_cli.register_tab_comp_context(
            ["node_info", "ni", "list_inputs", "li", "list_outputs", "lo"],
            [str(name) for name in debug_dump.nodes()] if debug_dump.loaded_partition_graphs() else [],
        )
        self._title = "run-end: " + self._run_description
        if tf_error:
            self._run_cli.set_help_intro(cli_shared.get_error_intro(tf_error))

    def _prep_profile_cli_for_run_end(self, py_graph, run_metadata):
        self._init_command = "lp"
        self._run_cli = profile_analyzer_cli.create_profiler_ui(
            py_graph, run_metadata, ui_type=self._ui_type, config=self._run_cli.config
        )
        self._title = "run-end (profiler mode): " + self._run_description

    # -- The command line --

    def _launch_cli(self):
        """What the command that ends it asks for: an OnRunStartResponse, or EXPLICIT_USER_EXIT."""
        self._register_this_run_info(self._run_cli)
        return self._run_cli.run_ui(
            init_command=self._init_command, title=self._title, title_color=self._title_color
        )

    def _register_this_run_info(self, curses_cli):
        for name, alias, handler in (
            ("run", "r", self._run_handler),
            ("run_info", "ri", self._run_info_handler),
            ("print_feed", "pf", self._print_feed_handler),
        ):
            help_text = self._argparsers[name].format_help()
            curses_cli.register_command_handler(name, handler, help_text, prefix_aliases=[alias])
        if self._tensor_filters:
            curses_cli.register_tab_comp_context(["run", "r"], list(self._tensor_filters))
        if self._feed_dict and hasattr(self._feed_dict, "keys"):
            names = [common.get_graph_element_name(key) for key in self._feed_dict.keys()]
            curses_cli.register_tab_comp_context(["print_feed", "pf"], names)

    def _run_info_handler(self, args, screen_info=None):
        output = self._logo()
        output.extend(self._run_info)
        menu = output.annotations.get(debugger_cli_common.MAIN_MENU_KEY)
        if not self._is_run_start and menu and "list_tensors" not in menu.captions():
            menu.insert(0, debugger_cli_common.MenuItem("list_tensors", "list_tensors"))
        return output

    def _print_feed_handler(self, args, screen_info=None):
        if not self._feed_dict:
            return cli_shared.error("The feed_dict of the current run is None or empty.")
        parsed = self._argparsers["print_feed"].parse_args(args)
        name, slicing = command_parser.parse_tensor_name_with_slicing(parsed.tensor_name)
        for key in self._feed_dict:
            if common.get_graph_element_name(key) == name:
                return cli_shared.format_tensor(
                    self._feed_dict[key],
                    name + " (feed)",
                    cli_shared.numpy_printoptions_from_screen_info(screen_info),
                    print_all=parsed.print_all,
                    tensor_slicing=slicing,
                    highlight_options=cli_shared.parse_ranges_highlight(parsed.ranges),
                    include_numeric_summary=parsed.numeric_summary,
                )
        return cli_shared.error("The feed_dict of the current run does not contain the key %s" % name)

    def _run_handler(self, args, screen_info=None):
        parsed = self._argparsers["run"].parse_args(args)
        if parsed.filter_exclude_node_names and not parsed.till_filter_pass:
            raise ValueError(
                "The --filter_exclude_node_names (or -feon) flag is valid only if the --till_filter_pass (or "
                "-f) flag is used."
            )
        if parsed.profile:
            raise debugger_cli_common.CommandLineExit(
                exit_token=framework.OnRunStartResponse(_Action.PROFILE_RUN, [])
            )
        name = parsed.till_filter_pass
        if name and name not in self._tensor_filters:
            return debugger_cli_common.RichTextLines(['ERROR: tensor filter "%s" does not exist.' % name])
        self._skip_debug, self._run_through_times = parsed.no_debug, parsed.times
        is_watched = parsed.times <= 1 and not parsed.no_debug
        response = framework.OnRunStartResponse(
            _Action.DEBUG_RUN if is_watched else _Action.NON_DEBUG_RUN,
            self._get_run_debug_urls() if is_watched else [],
            node_name_regex_whitelist=parsed.node_name_filter or None,
            op_type_regex_whitelist=parsed.op_type_filter or None,
            tensor_dtype_regex_whitelist=parsed.tensor_dtype_filter or None,
        )
        if name:
            self._active_tensor_filter = name
            self._active_filter_exclude_node_names = parsed.filter_exclude_node_names
            self._active_tensor_filter_run_start_response = response
        raise debugger_cli_common.CommandLineExit(exit_token=response)

    def _get_run_debug_urls(self):
        return ["file://" + self._dump_root]

    def _update_run_calls_state(self, run_call_count, fetches, feed_dict, is_callable_runner=False):
        self._run_call_count, self._feed_dict = run_call_count, feed_dict
        self._run_through_times -= 1
        self._run_description = cli_shared.get_run_short_description(
            run_call_count, fetches, feed_dict, is_callable_runner=is_callable_runner
        )
        self._run_info = cli_shared.get_run_start_intro(
            run_call_count, fetches, feed_dict, self._tensor_filters, is_callable_runner=is_callable_runner
        )
