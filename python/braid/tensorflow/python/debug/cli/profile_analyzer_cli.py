"""Commands over the times of a run: its nodes, and the lines of the program that built them."""

import argparse
import math
import os
import re

from braid.tensorflow.python.debug.cli import cli_shared
from braid.tensorflow.python.debug.cli import command_parser
from braid.tensorflow.python.debug.cli import debugger_cli_common
from braid.tensorflow.python.debug.cli import ui_factory
from braid.tensorflow.python.debug.lib import profiling
from braid.tensorflow.python.debug.lib import source_utils

RL = debugger_cli_common.RichLine

SORT_OPS_BY_OP_NAME = "node"
SORT_OPS_BY_OP_TYPE = "op_type"
SORT_OPS_BY_OP_TIME = "op_time"
SORT_OPS_BY_EXEC_TIME = "exec_time"
SORT_OPS_BY_START_TIME = "start_time"
SORT_OPS_BY_LINE = "line"

_SORT_KEYS = {
    SORT_OPS_BY_OP_NAME: lambda d: d.node_exec_stats.node_name,
    SORT_OPS_BY_OP_TYPE: lambda d: d.op_type,
    SORT_OPS_BY_START_TIME: lambda d: d.start_time,
    SORT_OPS_BY_OP_TIME: lambda d: d.op_time,
    SORT_OPS_BY_EXEC_TIME: lambda d: d.exec_time,
    SORT_OPS_BY_LINE: lambda d: d.file_line_func,
}

_DEVICE_NAME_FILTER_FLAG = "device_name_filter"
_NODE_NAME_FILTER_FLAG = "node_name_filter"
_OP_TYPE_FILTER_FLAG = "op_type_filter"


def _filter_flags(device_name_filter, node_name_filter, op_type_filter):
    flags = (
        (_DEVICE_NAME_FILTER_FLAG, device_name_filter),
        (_NODE_NAME_FILTER_FLAG, node_name_filter),
        (_OP_TYPE_FILTER_FLAG, op_type_filter),
    )
    return "".join(" --%s %s" % flag for flag in flags if flag[1])


class ProfileDataTableView:
    """ProfileDatums as the cells of a table."""

    def __init__(self, profile_datum_list, time_unit=cli_shared.TIME_UNIT_US):
        self._data, self._time_unit = profile_datum_list, time_unit
        self._columns = [
            ("Node", SORT_OPS_BY_OP_NAME),
            ("Op Type", SORT_OPS_BY_OP_TYPE),
            ("Start Time (us)", SORT_OPS_BY_START_TIME),
            ("Op Time (%s)" % time_unit, SORT_OPS_BY_OP_TIME),
            ("Exec Time (%s)" % time_unit, SORT_OPS_BY_EXEC_TIME),
            ("Filename:Lineno(function)", SORT_OPS_BY_LINE),
        ]

    def value(self, row, col, device_name_filter=None, node_name_filter=None, op_type_filter=None):
        """A cell, as a RichLine."""
        if not 0 <= col < len(self._columns):
            raise IndexError("Invalid column index %d." % col)
        datum, sort_id, link = self._data[row], self._columns[col][1], None
        value = _SORT_KEYS[sort_id](datum)
        if sort_id in (SORT_OPS_BY_OP_TIME, SORT_OPS_BY_EXEC_TIME):
            value = cli_shared.time_to_readable_str(value, force_time_unit=self._time_unit)
        elif sort_id == SORT_OPS_BY_LINE:
            command = "ps%s %s --init_line %d" % (
                _filter_flags(device_name_filter, node_name_filter, op_type_filter),
                datum.file_path,
                datum.line_number,
            )
            link = debugger_cli_common.MenuItem(None, command)
        return RL(str(value), font_attr=link)

    def row_count(self):
        return len(self._data)

    def column_count(self):
        return len(self._columns)

    def column_names(self):
        return [name for name, _ in self._columns]

    def column_sort_id(self, col):
        return self._columns[col][1]


def _list_profile_filter(
    profile_datum,
    node_name_regex,
    file_path_regex,
    op_type_regex,
    op_time_interval,
    exec_time_interval,
    min_lineno=-1,
    max_lineno=-1,
):
    line = profile_datum.line_number
    return not (
        (node_name_regex and not node_name_regex.match(profile_datum.node_exec_stats.node_name))
        or (file_path_regex and not file_path_regex.match(profile_datum.file_path or ""))
        or (file_path_regex and not profile_datum.file_path)
        or (min_lineno > 0 and line and line < min_lineno)
        or (max_lineno > 0 and line and line >= max_lineno)
        or (
            op_type_regex
            and profile_datum.op_type is not None
            and not op_type_regex.match(profile_datum.op_type)
        )
        or (op_time_interval is not None and not op_time_interval.contains(profile_datum.op_time))
        or (exec_time_interval is not None and not exec_time_interval.contains(profile_datum.exec_time))
    )


def _compiled(text):
    return re.compile(text) if text else None


def _interval(text):
    return command_parser.parse_time_interval(text) if text else None


def _add_filters(parser):
    for short, name, what in (
        ("-d", _DEVICE_NAME_FILTER_FLAG, "devices whose names"),
        ("-n", _NODE_NAME_FILTER_FLAG, "nodes whose names"),
        ("-t", _OP_TYPE_FILTER_FLAG, "nodes whose types of op"),
    ):
        parser.add_argument(
            short, "--" + name, type=str, default="", help="only %s match this expression" % what
        )
    parser.add_argument(
        "--time_unit",
        type=str,
        default=cli_shared.TIME_UNIT_US,
        help="(%s)" % " | ".join(cli_shared.TIME_UNITS),
    )


class ProfileAnalyzer:
    """The commands; each takes its arguments as a list, and returns RichTextLines."""

    def __init__(self, graph, run_metadata):
        if not run_metadata:
            raise ValueError("No RunMetadata passed for profile analysis.")
        self._graph, self._run_metadata = graph, run_metadata
        listing = argparse.ArgumentParser(
            description="List nodes profile information.", usage=argparse.SUPPRESS
        )
        _add_filters(listing)
        listing.add_argument(
            "-f",
            "--file_path_filter",
            type=str,
            default="",
            help="only nodes that a line of the program in a file whose path matches built",
        )
        listing.add_argument("--min_lineno", type=int, default=-1, help="only lines from this on")
        listing.add_argument("--max_lineno", type=int, default=-1, help="only lines before this")
        for short, name, what in (
            ("-e", "execution_time", "an op takes with what is before and after it"),
            ("-o", "op_time", "an op takes"),
        ):
            listing.add_argument(
                short,
                "--" + name,
                type=str,
                default="",
                help="only this interval of the time that %s, in us, ms or s: %s >100s, %s <100, "
                "%s [100us,1000ms]" % (what, short, short, short),
            )
        listing.add_argument(
            "-s",
            "--sort_by",
            type=str,
            default=SORT_OPS_BY_START_TIME,
            help="by what to sort: (%s)" % " | ".join(_SORT_KEYS),
        )
        listing.add_argument("-r", "--reverse", action="store_true", help="sort in descending order")
        source = argparse.ArgumentParser(
            description="Print a source file of Python with the times of the nodes that its lines built.",
            usage=argparse.SUPPRESS,
        )
        source.add_argument("source_file_path", type=str, help="the file")
        source.add_argument(
            "--cost_type", type=str, choices=["exec_time", "op_time"], default="exec_time", help="which times"
        )
        _add_filters(source)
        source.add_argument("--init_line", type=int, default=0, help="the line to begin with, from 1")
        self._arg_parsers = {"list_profile": listing, "print_source": source}

    def get_help(self, handler_name):
        return self._arg_parsers[handler_name].format_help()

    def _get_profile_data_generator(self):
        """A function from DeviceStepStats to ProfileDatums, with the program's line that built each node."""
        places = {}
        for op in self._graph.get_operations():
            place = ("", 0, "")
            for path, line, function, *_ in reversed(op.traceback):
                place = (path, line, function)
                if not source_utils.guess_is_tensorflow_py_library(path):
                    break
            places[op.name] = (*place, op.type)

        def generate(device_step_stats):
            for stats in device_step_stats.node_stats:
                if stats.node_name not in ("_SOURCE", "_SINK"):
                    place = places.get(stats.node_name, ("", 0, "", ""))
                    yield profiling.ProfileDatum(device_step_stats.device, stats, *place)

        return generate

    def list_profile(self, args, screen_info=None):
        parsed = self._arg_parsers["list_profile"].parse_args(args)
        filters = (
            _compiled(parsed.node_name_filter),
            _compiled(parsed.file_path_filter),
            _compiled(parsed.op_type_filter),
            _interval(parsed.op_time),
            _interval(parsed.execution_time),
            parsed.min_lineno,
            parsed.max_lineno,
        )
        device_regex = _compiled(parsed.device_name_filter)
        generate = self._get_profile_data_generator()
        output = debugger_cli_common.RichTextLines([""])
        devices = self._run_metadata.step_stats.dev_stats
        for index, device in enumerate(devices):
            if device_regex and not device_regex.match(device.device):
                continue
            data = [datum for datum in generate(device) if _list_profile_filter(datum, *filters)]
            key = _SORT_KEYS.get(parsed.sort_by, _SORT_KEYS[SORT_OPS_BY_START_TIME])
            data.sort(key=key, reverse=parsed.reverse)
            title = "Device %d of %d: %s" % (index + 1, len(devices), device.device)
            output.extend(self._device_table(title, data, parsed, (screen_info or {}).get("cols", 80)))
        return output

    def _device_table(self, title, data, parsed, screen_cols):
        table = ProfileDataTableView(data, time_unit=parsed.time_unit)
        filters = (parsed.device_name_filter, parsed.node_name_filter, parsed.op_type_filter)
        cells = [
            [table.value(row, col, *filters) for col in range(table.column_count())]
            for row in range(table.row_count())
        ]
        total = ["Device Total", ""] + [
            cli_shared.time_to_readable_str(sum(times), force_time_unit=parsed.time_unit)
            for times in ([d.op_time for d in data], [d.exec_time for d in data])
        ]
        heads = []
        for col, name in enumerate(table.column_names()):
            sort_id = table.column_sort_id(col)
            is_again = parsed.sort_by == sort_id and not parsed.reverse
            command = "list_profile -s %s%s" % (sort_id, " -r" if is_again else "")
            heads.append(RL(name, font_attr=[debugger_cli_common.MenuItem(None, command), "bold"]))
        columns = zip(heads, *cells)
        widths = [max(len(cell) for cell in column) + 2 for column in columns]
        widths = [max(w, len(text) + 2) for w, text in zip(widths, total)] + widths[len(total) :]
        lines = [RL("-" * screen_cols), RL(title), RL()]
        for row in [heads] + cells:
            line = RL()
            for cell, width in zip(row, widths):
                line = line + cell + " " * (width - len(cell))
            lines.append(line)
        lines += [RL(), RL("".join(text.ljust(width) for text, width in zip(total, widths)))]
        return debugger_cli_common.rich_text_lines_from_rich_line_list(lines)

    _LINE_COST_ATTR = cli_shared.COLOR_CYAN
    _LINE_NUM_ATTR = cli_shared.COLOR_YELLOW
    _NUM_NODES_HEAD = "#nodes"
    _NUM_EXECS_SUB_HEAD = "(#execs)"
    _LINENO_HEAD = "lineno"
    _SOURCE_HEAD = "source"
    _BAR_LENGTH = 10

    def print_source(self, args, screen_info=None):
        parsed = self._arg_parsers["print_source"].parse_args(args)
        device_regex = _compiled(parsed.device_name_filter)
        generate = self._get_profile_data_generator()
        data = []
        for device in self._run_metadata.step_stats.dev_stats:
            if not device_regex or device_regex.match(device.device):
                data.extend(generate(device))
        by_line = source_utils.annotate_source_against_profile(
            data,
            os.path.expanduser(parsed.source_file_path),
            node_name_filter=parsed.node_name_filter,
            op_type_filter=parsed.op_type_filter,
        )
        if not by_line:
            return debugger_cli_common.RichTextLines(
                [
                    "The source file %s does not contain any profile information for the previous Session run "
                    "under the following filters:" % parsed.source_file_path,
                    "  --%s: %s" % (_DEVICE_NAME_FILTER_FLAG, parsed.device_name_filter),
                    "  --%s: %s" % (_NODE_NAME_FILTER_FLAG, parsed.node_name_filter),
                    "  --%s: %s" % (_OP_TYPE_FILTER_FLAG, parsed.op_type_filter),
                ]
            )
        most = max(self._get_total_cost(profile, parsed.cost_type) for profile in by_line.values())
        source, number_width = source_utils.load_source(os.path.expanduser(parsed.source_file_path))
        widths = (self._BAR_LENGTH + 3, len(parsed.cost_type) + 3, len(self._NUM_EXECS_SUB_HEAD) + 1)
        head = "".join(
            text.ljust(width) for text, width in zip(("", parsed.cost_type, self._NUM_NODES_HEAD), widths)
        )
        sub_head = " " * (widths[0] + widths[1]) + self._NUM_EXECS_SUB_HEAD.ljust(widths[2])
        lines = [
            RL(head, font_attr=self._LINE_COST_ATTR) + RL(self._LINENO_HEAD, font_attr=self._LINE_NUM_ATTR),
            RL(sub_head + " " * number_width, font_attr=self._LINE_COST_ATTR)
            + RL(self._SOURCE_HEAD, font_attr="bold"),
        ]
        annotations = {}
        for number, text in enumerate(source, 1):
            line = RL()
            cells = (RL(), RL(), RL())
            if number in by_line:
                cells = self._line_cells(by_line[number], number, most, parsed)
            for cell, width in zip(cells, widths):
                line = line + cell + " " * (width - len(cell))
            label = RL(" L%d" % number, self._LINE_NUM_ATTR)
            lines.append(line + label + " " * (number_width - len(label)) + text)
            if parsed.init_line == number:
                annotations[debugger_cli_common.INIT_SCROLL_POS_KEY] = len(lines) - 1
        return debugger_cli_common.rich_text_lines_from_rich_line_list(lines, annotations=annotations)

    def _line_cells(self, profile, number, most, parsed):
        cost = self._get_total_cost(profile, parsed.cost_type)
        time = cli_shared.time_to_readable_str(cost, force_time_unit=parsed.time_unit)
        command = "lp --file_path_filter %s$ --min_lineno %d --max_lineno %d%s" % (
            re.escape(parsed.source_file_path),
            number,
            number + 1,
            _filter_flags(parsed.device_name_filter, parsed.node_name_filter, parsed.op_type_filter),
        )
        link = debugger_cli_common.MenuItem(None, command)
        counts = "%d(%d)" % (profile.node_count, profile.node_exec_count)
        return (
            self._render_normalized_cost_bar(cost, most, self._BAR_LENGTH),
            RL(time, font_attr=self._LINE_COST_ATTR),
            RL(counts, font_attr=[self._LINE_COST_ATTR, link]),
        )

    def _get_total_cost(self, aggregated_profile, cost_type):
        if cost_type == "exec_time":
            return aggregated_profile.total_exec_time
        if cost_type == "op_time":
            return aggregated_profile.total_op_time
        raise ValueError("Unsupported cost type: %s" % cost_type)

    def _render_normalized_cost_bar(self, cost, max_cost, length):
        ticks = max(math.ceil(cost / max_cost * length) if max_cost else 0, 1)
        bar = RL("|" * ticks + " " * (length - ticks), font_attr=["bold", self._LINE_COST_ATTR])
        end = self._LINE_COST_ATTR
        return RL("[", font_attr=end) + bar + RL("]", font_attr=end)


def create_profiler_ui(graph, run_metadata, ui_type="curses", on_ui_exit=None, config=None):
    """A user interface over the times of a run (RunOptions.FULL_TRACE)."""
    analyzer = ProfileAnalyzer(graph, run_metadata)
    ui = ui_factory.get_ui(ui_type, on_ui_exit=on_ui_exit, config=config)
    for name, alias, handler in (
        ("list_profile", "lp", analyzer.list_profile),
        ("print_source", "ps", analyzer.print_source),
    ):
        ui.register_command_handler(name, handler, analyzer.get_help(name), prefix_aliases=[alias])
    return ui
