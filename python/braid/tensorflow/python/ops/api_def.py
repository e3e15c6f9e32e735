"""The table of api_def.txt: how the ops are called in Python."""

import pathlib


class Entry:
    """A line of api_def.txt."""

    __slots__ = ("op", "function", "public", "arguments")

    def __init__(self, line):
        line, _, arguments = line.partition(" (")
        line, _, public = line.partition(": ")
        self.op, _, function = line.partition(" as ")
        self.function = function or _snake(self.op)
        self.public = public.split()
        self.arguments = arguments[:-1].split()


def _snake(name):
    """MatMul: mat_mul. An upper-case letter begins a word after a lower one, or before one."""
    out = []
    for i, c in enumerate(name):
        if c.isupper() and i > 0:
            after, before = name[i + 1 : i + 2], name[i - 1]
            if before != "_" and (not before.isupper() or after.islower()):
                out.append("_")
        out.append(c.lower())
    return "".join(out)


def read_table():
    """{module: {function: entry}}"""
    modules = {}
    for line in pathlib.Path(__file__).with_name("api_def.txt").read_text().splitlines():
        if line.startswith("["):
            functions = modules[line[1:-1]] = {}
        elif line and not line.startswith("#"):
            entry = Entry(line)
            functions[entry.function] = entry
    return modules
