"""Commands over a dump: its tensors, the nodes of its graphs, the lines of the program that built them."""

import argparse
import re

from braid.tensorflow.python.debug.cli import cli_config
from braid.tensorflow.python.debug.cli import cli_shared
from braid.tensorflow.python.debug.cli import command_parser
from braid.tensorflow.python.debug.cli import debugger_cli_common
from braid.tensorflow.python.debug.cli import evaluator
from braid.tensorflow.python.debug.cli import ui_factory
from braid.tensorflow.python.debug.lib import debug_graphs
from braid.tensorflow.python.debug.lib import source_utils

RL = debugger_cli_common.RichLine
_MenuItem = debugger_cli_common.MenuItem

# Of trees of nodes.
HANG_UNFINISHED = "|  "
HANG_FINISHED = "   "
HANG_SUFFIX = "|- "
DEPTH_TEMPLATE = "(%d) "
OP_TYPE_TEMPLATE = "[%s] "
CTRL_LABEL = "(Ctrl) "
ELLIPSIS = "..."

SORT_TENSORS_BY_TIMESTAMP = "timestamp"
SORT_TENSORS_BY_DUMP_SIZE = "dump_size"
SORT_TENSORS_BY_OP_TYPE = "op_type"
SORT_TENSORS_BY_TENSOR_NAME = "tensor_name"

_NODE_HELP = "a node, or a tensor of it: hidden1/Wx_plus_b/MatMul, hidden1/Wx_plus_b/MatMul:0"


def _add_main_menu(
    output,
    node_name=None,
    enable_list_tensors=True,
    enable_node_info=True,
    enable_print_tensor=True,
    enable_list_inputs=True,
    enable_list_outputs=True,
):
    menu = debugger_cli_common.Menu()
    menu.append(_MenuItem("list_tensors", "list_tensors", enabled=enable_list_tensors))
    for name, flags, enabled in (
        ("node_info", "-a -d -t ", enable_node_info),
        ("print_tensor", "", enable_print_tensor),
        ("list_inputs", "-c -r ", enable_list_inputs),
        ("list_outputs", "-c -r ", enable_list_outputs),
    ):
        command = "%s %s%s" % (name, flags, node_name) if node_name else None
        menu.append(_MenuItem(name, command, enabled=bool(node_name) and enabled))
    menu.append(_MenuItem("run_info", "run_info"))
    menu.append(_MenuItem("help", "help"))
    output.annotations[debugger_cli_common.MAIN_MENU_KEY] = menu


def _parser(description, **flags):
    parser = argparse.ArgumentParser(
        description=description, usage=argparse.SUPPRESS, formatter_class=argparse.RawTextHelpFormatter
    )
    for name, (short, settings) in flags.items():
        names = ([short] if short else []) + ["--" + name]
        parser.add_argument(*names, dest=name, **settings)
    return parser


def _text(help_text, default=""):
    return dict(type=str, default=default, help=help_text)


def _flag(help_text):
    return dict(action="store_true", help=help_text)


class DebugAnalyzer:
    """The commands; each takes its arguments as a list, and returns RichTextLines."""

    _TIMESTAMP_COLUMN_HEAD = "t (ms)"
    _DUMP_SIZE_COLUMN_HEAD = "Size (B)"
    _OP_TYPE_COLUMN_HEAD = "Op type"
    _TENSOR_NAME_COLUMN_HEAD = "Tensor name"

    # Nodes that the run has added to the program's.
    _GRAPH_STRUCT_OP_TYPE_BLACKLIST = ("_Send", "_Recv", "_HostSend", "_HostRecv", "_Retval")

    def __init__(self, debug_dump, config):
        self._debug_dump = debug_dump
        self._evaluator = evaluator.ExpressionEvaluator(debug_dump)
        self._tensor_filters = {}
        self._build_argument_parsers(config)
        config.set_callback("graph_recursion_depth", self._build_argument_parsers)

    def _build_argument_parsers(self, config):
        parsers = self._arg_parsers = {}
        sort_keys = " | ".join(
            (
                SORT_TENSORS_BY_TIMESTAMP,
                SORT_TENSORS_BY_DUMP_SIZE,
                SORT_TENSORS_BY_OP_TYPE,
                SORT_TENSORS_BY_TENSOR_NAME,
            )
        )
        parsers["list_tensors"] = _parser(
            "List dumped intermediate tensors.",
            tensor_filter=("-f", _text("only tensors that pass this filter")),
            filter_exclude_node_names=(
                "-fenn",
                _text("with -f: leave out nodes whose names match this expression"),
            ),
            node_name_filter=("-n", _text("only nodes whose names match this expression")),
            op_type_filter=("-t", _text("only nodes whose types of op match this expression")),
            sort_by=("-s", _text("by what to sort: (%s)" % sort_keys, SORT_TENSORS_BY_TIMESTAMP)),
            reverse=("-r", _flag("sort in descending order")),
        )
        parsers["node_info"] = _parser(
            "Show information about a node.",
            attributes=("-a", _flag("attributes of the node, too")),
            dumps=("-d", _flag("its dumps, too")),
            traceback=("-t", _flag("the lines of the program that built it, too")),
        )
        depth = dict(
            type=int, default=config.get("graph_recursion_depth"), help="how deep the tree is followed"
        )
        for name, what in (("list_inputs", "inputs"), ("list_outputs", "recipients")):
            shows = {
                "list_inputs": "Show inputs to a node.",
                "list_outputs": "Show the nodes that receive the outputs of given node.",
            }
            parsers[name] = _parser(
                shows[name],
                control=("-c", _flag("control %s, too" % what)),
                depth=("-d", depth),
                recursive=("-r", _flag("and theirs, as a tree")),
                op_type=("-t", _flag("with types of ops")),
            )
        for name in ("node_info", "list_inputs", "list_outputs"):
            parsers[name].add_argument("node_name", type=str, help=_NODE_HELP)
        parsers["print_tensor"] = command_parser.get_print_tensor_argparser(
            "Print the value of a dumped tensor."
        )
        parsers["print_source"] = _parser(
            "Print a source file of Python with the nodes or tensors that its lines built.",
            tensors=("-t", _flag("tensors with dumps in place of nodes")),
            max_elements_per_line=("-m", dict(type=int, default=10, help="at most as many for a line")),
            line_begin=("-b", dict(type=int, default=1, help="the line to begin with, from 1")),
        )
        parsers["print_source"].add_argument("source_file_path", type=str, help="the file")
        parsers["list_source"] = _parser(
            "List the source files that built nodes of this run.",
            path_filter=("-p", _text("only files whose paths match this expression")),
            node_name_filter=("-n", _text("only nodes whose names match this expression")),
        )
        parsers["eval"] = _parser(
            "Evaluate an expression of Python with values of the dump. Names of tensors are in backticks,\n"
            "numpy is np. An expression with spaces is in quotes:\n"
            "  eval np.argmax(`Softmax:0`)\n"
            "  eval 'np.sum(`Softmax:0`, axis=1)'",
            print_all=("-a", _flag("print all elements, without ellipses")),
            write_path=("-w", _text("write the result to this file (numpy.save)")),
        )
        parsers["eval"].add_argument(
            "expression",
            type=str,
            help="with tensors as [DEVICE:]NODE:OUTPUT[:DEBUG_OP][[NUMBER OF THE DUMP]]:\n"
            "  `hidden/MatMul:0`, `hidden/MatMul:0:DebugNumericSummary`, `RNN/tanh:0[3]`",
        )

    def add_tensor_filter(self, filter_name, filter_callable):
        """filter_callable(datum, value): whether a value passes (DebugDumpDir.find)."""
        if not isinstance(filter_name, str):
            raise TypeError("Input argument filter_name is expected to be str, but is not.")
        if not filter_name:
            raise ValueError("Input argument filter_name cannot be empty.")
        if not callable(filter_callable):
            raise TypeError("Input argument filter_callable is expected to be callable, but is not.")
        self._tensor_filters[filter_name] = filter_callable

    def get_tensor_filter(self, filter_name):
        if filter_name not in self._tensor_filters:
            raise ValueError('There is no tensor filter named "%s"' % filter_name)
        return self._tensor_filters[filter_name]

    def get_help(self, handler_name):
        return self._arg_parsers[handler_name].format_help()

    def _ms(self, datum):
        return (datum.timestamp - self._debug_dump.t0) / 1000.0

    # -- Tensors --

    def list_tensors(self, args, screen_info=None):
        parsed = self._arg_parsers["list_tensors"].parse_args(args)
        dump, heads = self._debug_dump, []
        if parsed.op_type_filter:
            heads.append('Op type regex filter: "%s"' % parsed.op_type_filter)
        if parsed.node_name_filter:
            heads.append('Node name regex filter: "%s"' % parsed.node_name_filter)
        if parsed.tensor_filter:
            try:
                passes = self.get_tensor_filter(parsed.tensor_filter)
            except ValueError:
                output = cli_shared.error('There is no tensor filter named "%s".' % parsed.tensor_filter)
                _add_main_menu(output, node_name=None, enable_list_tensors=False)
                return output
            data = dump.find(passes, exclude_node_names=parsed.filter_exclude_node_names)
        elif parsed.filter_exclude_node_names:
            raise ValueError(
                "The flag --filter_exclude_node_names is valid only when the flag -f or --tensor_filter is used."
            )
        else:
            data = dump.dumped_tensor_data
        widths = self._measure_tensor_list_column_widths(data)
        output = debugger_cli_common.RichTextLines(heads + [""])
        output.extend(self._tensor_list_column_heads(parsed, *widths))
        name_regex, op_regex = re.compile(parsed.node_name_filter), re.compile(parsed.op_type_filter)
        count = 0
        for datum in self._sort_dump_data_by(data, parsed.sort_by, parsed.reverse):
            op_type = dump.node_op_type(datum.node_name)
            if not name_regex.match(datum.node_name) or not op_regex.match(op_type):
                continue
            size = cli_shared.bytes_to_readable_str(datum.dump_size_bytes)
            columns = ("[%.3f]" % self._ms(datum), size, op_type)
            line = RL("".join(text.ljust(width) for text, width in zip(columns, widths)))
            name = datum.tensor_name
            output.append_rich_line(line + RL(name, _MenuItem("", "pt %s" % name)))
            count += 1
        passing = ' passing filter "%s"' % parsed.tensor_filter if parsed.tensor_filter else ""
        output.prepend("%d dumped tensor(s)%s:" % (count, passing))
        _add_main_menu(output, node_name=None, enable_list_tensors=False)
        return output

    def _measure_tensor_list_column_widths(self, data):
        """Of the columns before the name: time, size, type of op."""
        times = [len("[%.3f] " % self._ms(data[-1]))] if data else []
        sizes = [len(cli_shared.bytes_to_readable_str(d.dump_size_bytes)) for d in data]
        op_types = [len(self._debug_dump.node_op_type(d.node_name)) for d in data]
        return (
            max(times + [len(self._TIMESTAMP_COLUMN_HEAD)]) + 1,
            max(sizes + [len(self._DUMP_SIZE_COLUMN_HEAD)]) + 1,
            max(op_types + [len(self._OP_TYPE_COLUMN_HEAD)]) + 1,
        )

    def _sort_dump_data_by(self, data, sort_by, reverse):
        keys = {
            SORT_TENSORS_BY_TIMESTAMP: lambda d: d.timestamp,
            SORT_TENSORS_BY_DUMP_SIZE: lambda d: d.dump_size_bytes,
            SORT_TENSORS_BY_OP_TYPE: lambda d: self._debug_dump.node_op_type(d.node_name),
            SORT_TENSORS_BY_TENSOR_NAME: lambda d: d.tensor_name,
        }
        if sort_by not in keys:
            raise ValueError("Unsupported key to sort tensors by: %s" % sort_by)
        return sorted(data, reverse=reverse, key=keys[sort_by])

    def _tensor_list_column_heads(self, parsed, max_timestamp_width, max_dump_size_width, max_op_type_width):
        command = "list_tensors"
        for flag, value in (
            ("-f", parsed.tensor_filter),
            ("-t", parsed.op_type_filter),
            ("-n", parsed.node_name_filter),
        ):
            command += " %s %s" % (flag, value) if value else ""
        row = RL("")
        for head, key, width in (
            (self._TIMESTAMP_COLUMN_HEAD, SORT_TENSORS_BY_TIMESTAMP, max_timestamp_width),
            (self._DUMP_SIZE_COLUMN_HEAD, SORT_TENSORS_BY_DUMP_SIZE, max_dump_size_width),
            (self._OP_TYPE_COLUMN_HEAD, SORT_TENSORS_BY_OP_TYPE, max_op_type_width),
            (self._TENSOR_NAME_COLUMN_HEAD, SORT_TENSORS_BY_TENSOR_NAME, 0),
        ):
            is_again = parsed.sort_by == key and not parsed.reverse
            link = _MenuItem(None, "%s -s %s%s" % (command, key, " -r" if is_again else ""))
            row = row + RL(head, [link, "bold"]) + " " * (width - len(head))
        return debugger_cli_common.rich_text_lines_from_rich_line_list([row])

    def print_tensor(self, args, screen_info=None):
        parsed = self._arg_parsers["print_tensor"].parse_args(args)
        dump = self._debug_dump
        tensor_name, slicing = command_parser.parse_tensor_name_with_slicing(parsed.tensor_name)
        node_name, slot = debug_graphs.parse_node_or_tensor_name(tensor_name)
        if dump.loaded_partition_graphs() and not dump.node_exists(node_name):
            output = cli_shared.error('Node "%s" does not exist in partition graphs' % node_name)
            _add_main_menu(output, node_name=None, enable_print_tensor=False)
            return output
        keys = dump.debug_watch_keys(node_name)
        if slot is None:
            slots = {int(key.split(":")[1]) for key in keys}
            if len(slots) != 1:
                output = debugger_cli_common.RichTextLines(
                    [
                        'Node "%s" generated debug dumps from %s output slots:' % (node_name, len(slots)),
                        "Please specify the output slot: %s:x." % node_name,
                    ]
                )
                _add_main_menu(output, node_name=node_name, enable_print_tensor=False)
                return output
            slot = slots.pop()
        data = [d for key in keys for d in dump.watch_key_to_data(key) if d.output_slot == slot]
        if not data:
            return cli_shared.error('Tensor "%s" did not generate any dumps.' % parsed.tensor_name)
        output = self._print_dump(parsed, data, slicing, screen_info)
        _add_main_menu(output, node_name=node_name, enable_print_tensor=False)
        return output

    def _print_dump(self, parsed, data, slicing, screen_info):
        number = parsed.number
        if len(data) == 1:
            if number > 0:
                return cli_shared.error(
                    "Invalid number (%d) for tensor %s, which generated one dump."
                    % (number, parsed.tensor_name)
                )
            number, label = 0, data[0].watch_key
        elif number < 0:
            return self._list_dumps(parsed.tensor_name, data)
        elif number >= len(data):
            return cli_shared.error(
                "Specified number (%d) exceeds the number of available dumps (%d) for tensor %s"
                % (number, len(data), parsed.tensor_name)
            )
        else:
            label = "%s (dump #%d)" % (data[number].watch_key, number)
        return cli_shared.format_tensor(
            data[number].get_tensor(),
            label,
            cli_shared.numpy_printoptions_from_screen_info(screen_info),
            print_all=parsed.print_all,
            tensor_slicing=slicing,
            highlight_options=cli_shared.parse_ranges_highlight(parsed.ranges),
            include_numeric_summary=parsed.numeric_summary,
            write_path=parsed.write_path,
        )

    def _list_dumps(self, tensor_name, data):
        output = debugger_cli_common.RichTextLines(
            'Tensor "%s" generated %d dumps:' % (tensor_name, len(data))
        )
        for i, datum in enumerate(data):
            link = _MenuItem(None, "print_tensor %s -n %d" % (tensor_name, i))
            output.append_rich_line(RL("#%d [%.3f ms] " % (i, self._ms(datum))) + RL(datum.watch_key, link))
        output.append("")
        output.append("You can use the -n (--number) flag to specify which dump to print.")
        output.append("For example:")
        output.append("  print_tensor %s -n 0" % tensor_name)
        return output

    def evaluate_expression(self, args, screen_info=None):
        parsed = self._arg_parsers["eval"].parse_args(args)
        return cli_shared.format_tensor(
            self._evaluator.evaluate(parsed.expression),
            "from eval of expression '%s'" % parsed.expression,
            cli_shared.numpy_printoptions_from_screen_info(screen_info),
            print_all=parsed.print_all,
            include_numeric_summary=True,
            write_path=parsed.write_path,
        )

    # -- Nodes --

    def node_info(self, args, screen_info=None):
        parsed = self._arg_parsers["node_info"].parse_args(args)
        dump, node_name = self._debug_dump, debug_graphs.get_node_name(parsed.node_name)
        if not dump.node_exists(node_name):
            output = cli_shared.error('There is no node named "%s" in the partition graphs' % node_name)
            _add_main_menu(output, node_name=None)
            return output
        output = debugger_cli_common.rich_text_lines_from_rich_line_list(
            [
                RL("Node ") + RL(node_name, "bold"),
                "",
                "  Op: %s" % dump.node_op_type(node_name),
                "  Device: %s" % dump.node_device(node_name),
            ]
        )
        for what, of_node in (("input", dump.node_inputs), ("recipient", dump.node_recipients)):
            names = self._exclude_blacklisted_ops(of_node(node_name))
            controls = self._exclude_blacklisted_ops(of_node(node_name, is_control=True))
            output.extend(self._format_neighbors(what, names, controls))
        if parsed.attributes:
            output.extend(self._list_node_attributes(node_name))
        if parsed.dumps:
            output.extend(self._list_node_dumps(node_name))
        if parsed.traceback:
            output.extend(self._render_node_traceback(node_name))
        _add_main_menu(output, node_name=node_name, enable_node_info=False)
        return output

    def _op_type(self, element_name):
        return self._debug_dump.node_op_type(debug_graphs.get_node_name(element_name))

    def _exclude_blacklisted_ops(self, node_names):
        return [n for n in node_names if self._op_type(n) not in self._GRAPH_STRUCT_OP_TYPE_BLACKLIST]

    def _format_neighbors(self, neighbor_type, non_ctrls, ctrls):
        output = debugger_cli_common.RichTextLines([""])
        output.append(
            "  %d %s(s) + %d control %s(s):" % (len(non_ctrls), neighbor_type, len(ctrls), neighbor_type)
        )
        for kind, names in (("", non_ctrls), ("control ", ctrls)):
            if kind and not names:
                continue
            if kind:
                output.append("")
            output.append("    %d %s%s(s):" % (len(names), kind, neighbor_type))
            for name in names:
                link = _MenuItem(None, "ni -a -d -t %s" % name)
                output.append_rich_line(RL("      [%s] " % self._op_type(name)) + RL(name, link))
        return output

    def _list_node_attributes(self, node_name):
        output = debugger_cli_common.RichTextLines(["", "Node attributes:"])
        for key, value in self._debug_dump.node_attributes(node_name).items():
            output.append("  %s:" % key)
            output.append("    %s" % repr(value).strip().replace("\n", " "))
            output.append("")
        return output

    def _list_node_dumps(self, node_name):
        dump = self._debug_dump
        data = [d for key in dump.debug_watch_keys(node_name) for d in dump.watch_key_to_data(key)]
        output = debugger_cli_common.RichTextLines(["%d dumped tensor(s):" % len(data), ""])
        for i, datum in enumerate(data):
            link = _MenuItem(None, "pt %s:%d -n %d" % (node_name, datum.output_slot, i))
            text = "Slot %d @ %s @ %.3f ms" % (datum.output_slot, datum.debug_op, self._ms(datum))
            output.append_rich_line(RL("  ") + RL(text, link))
        return output

    def _render_node_traceback(self, node_name):
        lines = [RL(""), RL(""), RL("Traceback of node construction:", "bold")]
        try:
            frames = self._debug_dump.node_traceback(node_name)
        except KeyError:
            frames, why = (), "(Node unavailable in the loaded Python graph)"
        except LookupError:
            frames, why = (), "(Unavailable because no Python graph has been loaded)"
        else:
            why = None
        for depth, (path, line, function, text) in enumerate(frames):
            link = _MenuItem("", "ps %s -b %d" % (path, line)) if text else None
            lines.append("%d: %s" % (depth, path))
            lines.append(RL("  ") + RL("Line:     %d" % line, link))
            lines.append("  Function: %s" % function)
            lines.append("  Text:     " + ('"%s"' % text if text else "None"))
            lines.append("")
        return debugger_cli_common.rich_text_lines_from_rich_line_list(lines + ([why] if why else []))

    def list_inputs(self, args, screen_info=None):
        parsed = self._arg_parsers["list_inputs"].parse_args(args)
        output = self._list_tree(parsed, do_outputs=False)
        _add_main_menu(output, debug_graphs.get_node_name(parsed.node_name), enable_list_inputs=False)
        return output

    def list_outputs(self, args, screen_info=None):
        parsed = self._arg_parsers["list_outputs"].parse_args(args)
        output = self._list_tree(parsed, do_outputs=True)
        _add_main_menu(output, debug_graphs.get_node_name(parsed.node_name), enable_list_outputs=False)
        return output

    def _list_tree(self, parsed, do_outputs):
        dump, node_name = self._debug_dump, debug_graphs.get_node_name(parsed.node_name)
        if not dump.node_exists(node_name):
            return cli_shared.error('There is no node named "%s" in the partition graphs' % node_name)
        max_depth = parsed.depth if parsed.recursive else 1
        what, short = ("Recipients of", "recipients") if do_outputs else ("Inputs to", "inputs")
        controls = ", control %s included" % short if parsed.control else ""
        output = debugger_cli_common.RichTextLines([])
        output.append_rich_line(
            RL('%s node "' % what) + RL(node_name, "bold") + '" (Depth limit = %d%s):' % (max_depth, controls)
        )
        of_node = dump.node_recipients if do_outputs else dump.node_inputs
        command = "lo -c -r %s" if do_outputs else "li -c -r %s"
        if not self._add_tree(output, node_name, of_node, max_depth, 1, "", parsed, command):
            output.append("  [None]")
        output.append("")
        output.append("Legend:")
        output.append("  (d): recursion depth = d.")
        if parsed.control:
            output.append("  (Ctrl): Control input.")
        if parsed.op_type:
            output.append("  [Op]: Input node has op type Op.")
        return output

    def _add_tree(self, output, node_name, of_node, max_depth, depth, hang, parsed, command):
        """Adds what a node has, each behind `hang`. False: it has nothing."""
        names = [(n, "") for n in self._exclude_blacklisted_ops(of_node(node_name, is_control=False))]
        if parsed.control:
            controls = self._exclude_blacklisted_ops(sorted(of_node(node_name, is_control=True)))
            names += [(n, CTRL_LABEL) for n in controls]
        if names and depth > max_depth:
            output.append(hang + HANG_SUFFIX + ELLIPSIS)
            return True
        for i, (name, label) in enumerate(names):
            op_type = OP_TYPE_TEMPLATE % self._op_type(name) if parsed.op_type else ""
            line = RL(hang + HANG_SUFFIX + DEPTH_TEMPLATE % depth + label + op_type)
            output.append_rich_line(line + RL(name, _MenuItem(None, command % name)))
            below = hang + (HANG_FINISHED if i == len(names) - 1 else HANG_UNFINISHED)
            source = debug_graphs.get_node_name(name)
            self._add_tree(output, source, of_node, max_depth, depth + 1, below, parsed, command)
        return bool(names)

    # -- Sources --

    def print_source(self, args, screen_info=None):
        parsed = self._arg_parsers["print_source"].parse_args(args)
        dump = self._debug_dump
        by_line = source_utils.annotate_source(
            dump, parsed.source_file_path, do_dumped_tensors=parsed.tensors
        )
        source, width = source_utils.load_source(parsed.source_file_path)
        lines, begin = [], 0
        for number, text in enumerate(source, 1):
            if number == parsed.line_begin:
                begin = len(lines)
            head = RL("L%d" % number, cli_shared.COLOR_YELLOW)
            lines.append(head + " " * (width - len(head)) + text)
            elements = sorted(by_line.get(number, ()))
            for element in elements[: parsed.max_elements_per_line]:
                is_dumped = dump.debug_watch_keys(debug_graphs.get_node_name(element))
                attr = _MenuItem("", "pt %s" % element) if is_dumped else cli_shared.COLOR_BLUE
                lines.append(RL("    ") + RL(element, attr))
            left = len(elements) - parsed.max_elements_per_line
            if left > 0:
                what = "tensor(s)" if parsed.tensors else "op(s)"
                line = RL("    (... Omitted %d of %d %s ...) " % (left, len(elements), what))
                more = self._reconstruct_print_source_command(parsed, number, 5)
                lines.append(line + RL("+5", _MenuItem(None, more)))
        output = debugger_cli_common.rich_text_lines_from_rich_line_list(
            lines, annotations={debugger_cli_common.INIT_SCROLL_POS_KEY: begin}
        )
        _add_main_menu(output, node_name=None)
        return output

    def _reconstruct_print_source_command(self, parsed, line_begin, max_elements_per_line_increase=0):
        return "ps %s %s -b %d -m %d" % (
            parsed.source_file_path,
            "-t" if parsed.tensors else "",
            line_begin,
            parsed.max_elements_per_line + max_elements_per_line_increase,
        )

    def list_source(self, args, screen_info=None):
        parsed = self._arg_parsers["list_source"].parse_args(args)
        files = source_utils.list_source_files_against_dump(
            self._debug_dump,
            path_regex_whitelist=parsed.path_filter,
            node_name_regex_whitelist=parsed.node_name_filter,
        )
        lines = [RL("List of source files that created nodes in this run", "bold")]
        if parsed.path_filter:
            lines.append('File path regex filter: "%s"' % parsed.path_filter)
        if parsed.node_name_filter:
            lines.append('Node name regex filter: "%s"' % parsed.node_name_filter)
        output = debugger_cli_common.rich_text_lines_from_rich_line_list(lines + [""])
        if not files:
            output.append("[No source file information.]")
            return output
        output.extend(self._make_source_table([f for f in files if not f[1]], False))
        output.extend(self._make_source_table([f for f in files if f[1]], True))
        _add_main_menu(output, node_name=None)
        return output

    def _make_source_table(self, source_list, is_tf_py_library):
        if is_tf_py_library:
            color, title = cli_shared.COLOR_GRAY, "TensorFlow Python library file(s):"
        else:
            color, title = cli_shared.COLOR_WHITE, "File(s) outside TensorFlow Python library:"
        rows = [("Source file path", "#(nodes)", "#(tensors)", "#(tensor dumps)")]
        rows += [(path, *map(str, numbers)) for path, _, *numbers, _ in source_list]
        widths = [max(map(len, column)) + 1 for column in zip(*rows)][:3] + [0]
        lines = [RL(title, color)]
        if not source_list:
            return debugger_cli_common.rich_text_lines_from_rich_line_list(
                lines + [RL("[No files.]", color), ""]
            )
        for i, row in enumerate(rows):
            line = RL("")
            for k, (text, width) in enumerate(zip(row, widths)):
                attr = color
                if i > 0 and k == 0:
                    attr = [color]
                    if source_utils.is_extension_uncompiled_python_source(text):
                        attr.append(_MenuItem(None, "ps %s -b %d" % (text, source_list[i - 1][-1])))
                line = line + RL(text, attr) + " " * (width - len(text))
            lines.append(line)
        return debugger_cli_common.rich_text_lines_from_rich_line_list(lines + [""])


def create_analyzer_ui(debug_dump, tensor_filters=None, ui_type="curses", on_ui_exit=None, config=None):
    """A user interface over a dump. `tensor_filters`: by name, as DebugAnalyzer.add_tensor_filter takes them."""
    config = config or cli_config.CLIConfig()
    analyzer = DebugAnalyzer(debug_dump, config=config)
    for name, tensor_filter in (tensor_filters or {}).items():
        analyzer.add_tensor_filter(name, tensor_filter)
    ui = ui_factory.get_ui(ui_type, on_ui_exit=on_ui_exit, config=config)
    for name, alias, handler in (
        ("list_tensors", "lt", analyzer.list_tensors),
        ("node_info", "ni", analyzer.node_info),
        ("list_inputs", "li", analyzer.list_inputs),
        ("list_outputs", "lo", analyzer.list_outputs),
        ("print_tensor", "pt", analyzer.print_tensor),
        ("print_source", "ps", analyzer.print_source),
        ("list_source", "ls", analyzer.list_source),
        ("eval", "ev", analyzer.evaluate_expression),
    ):
        ui.register_command_handler(name, handler, analyzer.get_help(name), prefix_aliases=[alias])
    names = [datum.tensor_name for datum in debug_dump.dumped_tensor_data]
    ui.register_tab_comp_context(["print_tensor", "pt"], names)
    return ui
