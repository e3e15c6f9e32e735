"""Which lines of a program built which nodes."""

import collections
import os
import re

from braid.tensorflow.python.debug.lib import profiling

_TENSORFLOW_BASEDIR = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))

UNCOMPILED_SOURCE_SUFFIXES = (".py", "")  # programs may have no extension
COMPILED_SOURCE_SUFFIXES = (".pyc", ".pyo")


def _norm_abs_path(file_path):
    return os.path.normpath(os.path.abspath(file_path))


def _extension(file_path):
    return os.path.splitext(file_path)[1].lower()


def is_extension_uncompiled_python_source(file_path):
    return _extension(file_path) in UNCOMPILED_SOURCE_SUFFIXES


def is_extension_compiled_python_source(file_path):
    return _extension(file_path) in COMPILED_SOURCE_SUFFIXES


def guess_is_tensorflow_py_library(py_file_path):
    """Whether a file is part of the library, and no test or example of it. ValueError: it is not Python."""
    if _extension(py_file_path) not in UNCOMPILED_SOURCE_SUFFIXES + COMPILED_SOURCE_SUFFIXES:
        raise ValueError("Input file path (%s) is not a Python source file." % py_file_path)
    path = _norm_abs_path(py_file_path)
    return (
        path.startswith(_TENSORFLOW_BASEDIR)
        and not path.endswith("_test.py")
        and not os.path.dirname(path).endswith(os.path.join("python", "debug", "examples"))
    )


def load_source(source_file_path):
    """The lines of a file, and the width of a column for their numbers."""
    with open(source_file_path, encoding="utf-8", errors="replace") as f:
        lines = f.read().split("\n")
    return lines, (len(str(len(lines) - 1)) if len(lines) > 1 else 0) + 3


def _python_graph_of(dump, what):
    if not dump.python_graph:
        raise ValueError("Cannot %s due to a lack of set Python graph in the dump object" % what)
    return dump.python_graph


def annotate_source(
    dump, source_file_path, do_dumped_tensors=False, file_stack_top=False, min_line=None, max_line=None
):
    """By line of a file, the nodes that it built, or their tensors that were dumped.

    `file_stack_top`: a node counts for the innermost line of the file alone. Lines from `min_line` on, before
    `max_line`.
    """
    graph = _python_graph_of(dump, "perform source annotation")
    path = _norm_abs_path(source_file_path)
    by_line = {}
    for op in graph.get_operations():
        for file_path, line, *_ in reversed(dump.node_traceback(op.name)):
            if min_line is not None and line < min_line or max_line is not None and line >= max_line:
                continue
            if _norm_abs_path(file_path) != path:
                continue
            names = [op.name]
            if do_dumped_tensors:
                names = list({key.rpartition(":")[0] for key in dump.debug_watch_keys(op.name)})
            by_line.setdefault(line, []).extend(names)
            if file_stack_top:
                break
    return by_line


def list_source_files_against_dump(dump, path_regex_whitelist=None, node_name_regex_whitelist=None):
    """For each file that built nodes, by path: (path, whether it is the library's, how many nodes it built,
    how many tensors, how many dumps there are of these, its first line that built one).
    """
    graph = _python_graph_of(dump, "generate source list")
    path_regex = re.compile(path_regex_whitelist) if path_regex_whitelist else None
    node_regex = re.compile(node_name_regex_whitelist) if node_name_regex_whitelist else None
    nodes, tensors = collections.defaultdict(set), collections.defaultdict(set)
    first_lines, dumps, is_listed = {}, {}, {}
    for op in graph.get_operations():
        if node_regex and not node_regex.match(op.name):
            continue
        for file_path, line, *_ in dump.node_traceback(op.name):
            path = _norm_abs_path(file_path)
            if path not in is_listed:
                is_listed[path] = (not path_regex or path_regex.match(path)) and os.path.isfile(path)
            if not is_listed[path]:
                continue
            nodes[path].add(op.name)
            tensors[path].update(output.name for output in op.outputs)
            first_lines[path] = min(line, first_lines.get(path, line))
        for key in dump.debug_watch_keys(op.name):
            node_name, slot, debug_op = key.split(":")
            dumps["%s:%s" % (node_name, slot)] = len(
                dump.get_tensor_file_paths(node_name, int(slot), debug_op)
            )
    return [
        (
            path,
            guess_is_tensorflow_py_library(path),
            len(nodes[path]),
            len(tensors[path]),
            sum(dumps.get(name, 0) for name in tensors[path]),
            first_lines[path],
        )
        for path in sorted(nodes)
    ]


def annotate_source_against_profile(
    profile_data, source_file_path, node_name_filter=None, op_type_filter=None, min_line=None, max_line=None
):
    """By line of a file, the AggregateProfile of the nodes that it built."""
    path = _norm_abs_path(source_file_path)
    node_regex = re.compile(node_name_filter) if node_name_filter else None
    op_regex = re.compile(op_type_filter) if op_type_filter else None
    by_line = {}
    for datum in profile_data:
        line = datum.line_number
        if (
            not datum.file_path
            or _norm_abs_path(datum.file_path) != path
            or (min_line is not None and line < min_line)
            or (max_line is not None and line >= max_line)
            or (node_regex and not node_regex.match(datum.node_exec_stats.node_name))
            or (op_regex and not op_regex.match(datum.op_type))
        ):
            continue
        if line in by_line:
            by_line[line].add(datum)
        else:
            by_line[line] = profiling.AggregateProfile(datum)
    return by_line
