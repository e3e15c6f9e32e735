"""A profile as text."""

from braid.tensorflow.python.profiler.profile_nodes import ROOT

_OPTIONS = (
    "max_depth min_bytes min_peak_bytes min_residual_bytes min_output_bytes min_micros min_accelerator_micros "
    "min_cpu_micros min_params min_float_ops min_occurrence step order_by account_type_regexes start_name_regexes "
    "trim_name_regexes show_name_regexes hide_name_regexes account_displayed_op_only select output"
).split()


def _short(n, word, units):
    """1440 as 1.44k, with a word behind it."""
    limit = 1000
    if n < limit:
        return f"{n}{units[0]}{word}"
    for unit in units[1:]:
        n /= limit
        if n < limit or unit == units[-1]:
            return f"{n:.2f}{unit}{word}"
    return ""


def _number(n, word):
    return _short(n, word, ("", "k", "m", "b"))


def _bytes(n, word=""):
    return _short(n, word, ("B", "KB", "MB", "GB"))


def _micros(n, word=""):
    return _short(n, word, ("us", "ms", "sec"))


# What is selected: numbers with the heading of their column and their form.
_COLUMNS = {
    "params": [("parameters", "# parameters", lambda n: _number(n, ""), " params")],
    "float_ops": [("float_ops", "# float_ops", lambda n: _number(n, ""), " flops")],
    "bytes": [("requested_bytes", "requested bytes", _bytes, "")],
    "peak_bytes": [("peak_bytes", "peak bytes", _bytes, "")],
    "residual_bytes": [("residual_bytes", "residual bytes", _bytes, "")],
    "output_bytes": [("output_bytes", "output bytes", _bytes, "")],
    "micros": [
        ("exec_micros", "total execution time", _micros, ""),
        ("accelerator_exec_micros", "accelerator execution time", _micros, ""),
        ("cpu_exec_micros", "cpu execution time", _micros, ""),
    ],
    "accelerator_micros": [("accelerator_exec_micros", "accelerator execution time", _micros, "")],
    "cpu_micros": [("cpu_exec_micros", "cpu execution time", _micros, "")],
}
_HEADINGS = {"device": "assigned devices", "op_types": "op types", "occurrence": "op count (run|defined)"}


def options_text(options):
    """The options as lines."""
    lines = ["", "=" * 25 + "Options" + "=" * 29]
    for name in _OPTIONS:
        value = options.get(name, 0)
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, (list, tuple)):
            value = ",".join(sorted(value) if name == "select" else value)
        lines.append(f"-{name:<26} {value}")
    return "\n".join(lines) + "\n"


def _columns(options):
    return [column for name in _COLUMNS if name in options["select"] for column in _COLUMNS[name]]


def _heading(options):
    names = [heading for _, heading, _, _ in _columns(options)]
    return " | ".join(
        ["node name", *names, *(h for name, h in _HEADINGS.items() if name in options["select"])]
    )


def _describe(node, options):
    """What stands in brackets behind the name of a node."""
    parts = []
    if node.shape and "params" in options["select"]:
        parts.append("x".join(str(n) for n in node.shape))
    for number, _, form, word in _columns(options):
        own = form(node.own[number]) if node.counts else "--"
        parts.append(f"{own}/{form(node.total[number])}{word}")
    if "device" in options["select"] and node.devices:
        parts.append("|".join(sorted(node.devices)))
    if "op_types" in options["select"]:
        parts.append("|".join(sorted(node.types)))
    if "occurrence" in options["select"]:
        own = node.own if node.counts else {"run_count": "--", "definition_count": "--"}
        pairs = [f"{own[n]}/{node.total[n]}" for n in ("run_count", "definition_count")]
        parts.append("|".join(pairs))
    return ", ".join(parts)


def tree_text(root, options):
    """The scopes, one a line."""
    lines = [_heading(options)]

    def add(node, indent):
        lines.append(f"{' ' * indent}{node.name or ROOT} ({_describe(node, options)})")
        for child in node.children:
            add(child, indent + 2)

    add(root, 0)
    return "\n".join(lines) + "\n"


def types_text(nodes, everything, options):
    """The types of ops, one a line: what they have, its share with that of all behind it, and its own share."""
    lines = [_heading(options)]
    for node in nodes:
        parts = []
        for number, _, form, _ in _columns(options):
            total = everything.total[number] or 1
            word = {"parameters": " parameters", "float_ops": " float_ops"}.get(number, "")
            shares = (100 * node.total[number] / total, 100 * node.own[number] / total)
            parts.append(f"{form(node.own[number])}{word} ({shares[0]:.2f}%, {shares[1]:.2f}%)")
        if "device" in options["select"] and node.devices:
            parts.append("|".join(sorted(node.devices)))
        if "occurrence" in options["select"]:
            parts.append(f"{node.own['run_count']}|{node.own['definition_count']}")
        lines.append(f"{node.name:<24} " + ", ".join(parts))
    return "\n".join(lines) + "\n"


def frame(text):
    """A report with its heading."""
    return (
        "\n"
        + "=" * 18
        + "Model Analysis Report"
        + "=" * 22
        + "\n\n"
        + text
        + "\n"
        + "=" * 22
        + "End of Report"
        + "=" * 26
    )
