"""What the analyzers and the wrapper print in the same way."""

import math

import numpy as np

from braid.tensorflow.python.debug.cli import command_parser
from braid.tensorflow.python.debug.cli import debugger_cli_common
from braid.tensorflow.python.debug.cli import tensor_format
from braid.tensorflow.python.debug.lib import common
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.platform import gfile

RL = debugger_cli_common.RichLine

DEFAULT_NDARRAY_DISPLAY_THRESHOLD = 2000

COLOR_BLACK = "black"
COLOR_BLUE = "blue"
COLOR_CYAN = "cyan"
COLOR_GRAY = "gray"
COLOR_GREEN = "green"
COLOR_MAGENTA = "magenta"
COLOR_RED = "red"
COLOR_WHITE = "white"
COLOR_YELLOW = "yellow"

TIME_UNIT_US = "us"
TIME_UNIT_MS = "ms"
TIME_UNIT_S = "s"
TIME_UNITS = [TIME_UNIT_US, TIME_UNIT_MS, TIME_UNIT_S]


def bytes_to_readable_str(num_bytes, include_b=False):
    """ "512", "1.50k", "2.00M", with a B if `include_b`."""
    if num_bytes is None:
        return str(num_bytes)
    text = "%d" % num_bytes
    for shift, unit in ((10, "k"), (20, "M"), (30, "G")):
        if num_bytes >= 1 << shift:
            text = "%.2f%s" % (num_bytes / float(1 << shift), unit)
    return text + ("B" if include_b else "")


def time_to_readable_str(value_us, force_time_unit=None):
    """ "0", "100us", "1.5ms", "2s" of microseconds."""
    if not value_us:
        return "0"
    if force_time_unit:
        if force_time_unit not in TIME_UNITS:
            raise ValueError("Invalid time unit: %s" % force_time_unit)
        order, digits = TIME_UNITS.index(force_time_unit), 10
    else:
        order, digits = min(len(TIME_UNITS) - 1, int(math.log(value_us, 10) / 3)), 3
    return "{:.{}g}{}".format(value_us / 10.0 ** (3 * order), digits, TIME_UNITS[order])


def parse_ranges_highlight(ranges_string):
    """HighlightOptions for elements within ranges (command_parser.parse_ranges); None of none."""
    if not ranges_string:
        return None
    ranges = command_parser.parse_ranges(ranges_string)

    def is_within(x):
        found = np.zeros(x.shape, dtype=bool)
        for start, end in ranges:
            found |= (x >= start) & (x <= end)
        return found

    return tensor_format.HighlightOptions(is_within, description=ranges_string)


def numpy_printoptions_from_screen_info(screen_info):
    return {"linewidth": screen_info["cols"]} if screen_info and "cols" in screen_info else {}


def format_tensor(
    tensor,
    tensor_name,
    np_printoptions,
    print_all=False,
    tensor_slicing=None,
    highlight_options=None,
    include_numeric_summary=False,
    write_path=None,
):
    """A value, or a slice of it, as RichTextLines; it is written to `write_path` as well."""
    value = command_parser.evaluate_tensor_slice(tensor, tensor_slicing) if tensor_slicing else tensor
    message = None
    if write_path:
        with gfile.GFile(write_path, "wb") as f:
            np.save(f, value)
        line = RL("Saved value to: ") + RL(write_path, font_attr="bold")
        line += " (%sB)" % bytes_to_readable_str(gfile.Stat(write_path).length)
        message = debugger_cli_common.rich_text_lines_from_rich_line_list([line, RL("")])
    np_printoptions["threshold"] = np.size(value) if print_all else DEFAULT_NDARRAY_DISPLAY_THRESHOLD
    return tensor_format.format_tensor(
        value,
        tensor_name + (tensor_slicing or ""),
        include_metadata=True,
        include_numeric_summary=include_numeric_summary,
        auxiliary_message=message,
        np_printoptions=np_printoptions,
        highlight_options=highlight_options,
    )


def error(msg):
    """A message of an error, RichTextLines."""
    return debugger_cli_common.rich_text_lines_from_rich_line_list([RL("ERROR: " + msg, COLOR_RED)])


def _recommend_command(command, description, indent=2, create_link=False):
    attr = [debugger_cli_common.MenuItem("", command), "bold"] if create_link else "bold"
    lines = [RL(" " * indent) + RL(command, attr) + ":", " " * (indent + 2) + description]
    return debugger_cli_common.rich_text_lines_from_rich_line_list(lines)


def get_tfdbg_logo():
    return debugger_cli_common.RichTextLines(["", "tfdbg: the debugger of TensorFlow 1, by Braid", ""])


_HORIZONTAL_BAR = "=" * 38


def get_run_start_intro(run_call_count, fetches, feed_dict, tensor_filters, is_callable_runner=False):
    """What is about to be run, and the commands that go on."""
    out = debugger_cli_common.RichTextLines(_HORIZONTAL_BAR)
    if is_callable_runner:
        out.append("Running a runner returned by Session.make_callable()")
    else:
        out.append("Session.run() call #%d:" % run_call_count)
        out.append("")
        out.append("Fetch(es):")
        for name in common.get_flattened_names(fetches):
            out.append("  " + name)
        out.append("")
        out.append("Feed dict:")
        for key in feed_dict or ():
            name = common.get_graph_element_name(key)
            link = debugger_cli_common.MenuItem(None, "pf '%s'" % name)
            out.append_rich_line(RL("  ") + RL(name, link))
        if not feed_dict:
            out.append("  (Empty)")
    out.append(_HORIZONTAL_BAR)
    out.append("")
    out.append("Select one of the following commands to proceed ---->")
    for command, description, is_link in (
        ("run", "Execute the run() call with debug tensor-watching", True),
        ("run -n", "Execute the run() call without debug tensor-watching", True),
        (
            "run -t <T>",
            "Execute run() calls (T - 1) times without debugging, then execute run() once more with debugging "
            "and drop back to the CLI",
            False,
        ),
        (
            "run -f <filter_name>",
            "Keep executing run() calls until a dumped tensor passes a given, registered filter (conditional "
            "breakpoint mode)",
            False,
        ),
    ):
        out.extend(_recommend_command(command, description, create_link=is_link))
    out.append("    Registered filter(s):")
    for name in tensor_filters or ():
        link = debugger_cli_common.MenuItem("", "run -f %s" % name)
        out.append_rich_line(RL("        * ") + RL(name, link))
    if not tensor_filters:
        out.append("        (None)")
    out.append("")
    help_link = debugger_cli_common.MenuItem("", "help")
    out.append_rich_line(RL("For more details, see ") + RL("help.", help_link) + ".")
    out.append("")
    menu = debugger_cli_common.Menu()
    menu.append(debugger_cli_common.MenuItem("run", "run"))
    menu.append(debugger_cli_common.MenuItem("exit", "exit"))
    out.annotations[debugger_cli_common.MAIN_MENU_KEY] = menu
    return out


def get_run_short_description(run_call_count, fetches, feed_dict, is_callable_runner=False):
    """ "run #1: 1 fetch (x:0); 0 feeds"."""
    if is_callable_runner:
        return "runner from make_callable()"
    if isinstance(fetches, (ops.Tensor, ops.Operation, variables.Variable)):
        fetched = "1 fetch (%s)" % common.get_graph_element_name(fetches)
    else:
        count = len(common.get_flattened_names(fetches))
        fetched = "%d fetch%s" % (count, "es" if count > 1 else "")
    count = len(feed_dict or ())
    fed = "%d feed%s" % (count, "" if count == 1 else "s")
    if count == 1:
        fed += " (%s)" % common.get_graph_element_name(next(iter(feed_dict)))
    return "run #%d: %s; %s" % (run_call_count, fetched, fed)


def get_error_intro(tf_error):
    """The error of a run, and the commands that look into it."""
    op_name = getattr(getattr(tf_error, "op", None), "name", None)
    out = debugger_cli_common.rich_text_lines_from_rich_line_list(
        ["-" * 38, RL("!!! An error occurred during the run !!!", "blink"), ""]
    )
    if op_name is None:
        out.append("WARNING: Cannot determine the name of the op that caused the error.")
    else:
        out.append("You may use the following commands to debug:")
        for command, description in (
            ("ni -a -d -t %s" % op_name, "Inspect information about the failing op."),
            ("li -r %s" % op_name, "List inputs to the failing op, recursively."),
            ("lt", "List all tensors dumped during the failing run() call."),
        ):
            out.extend(_recommend_command(command, description, create_link=True))
    lines = ["", "Op name:    %s" % op_name, "Error type: " + str(type(tf_error)), "", "Details:"]
    lines += [str(tf_error), "", "-" * 38, ""]
    out.extend(debugger_cli_common.RichTextLines(lines))
    return out
