#!/usr/bin/env python3
"""Writes the table of the public names of the Python package: python_api.py [PACKAGE [OUTPUT]], or with
--page OUTPUT the page of docs that says which names of TensorFlow 1.15 Braid has.

PACKAGE is the directory python/braid/tensorflow, OUTPUT a Python file in it (_api.py). The names come from
the decorators @tf_export (keras_export, estimator_export) of the sources, which are not run, and from
python/ops/api_def.txt.
"""

import ast
import pathlib
import runpy
import sys
import textwrap
import types

_DECORATORS = ("tf_export", "keras_export", "estimator_export")


def _names(call):
    """The public names of a call of a decorator: those of v1=, else the arguments."""
    for keyword in call.keywords:
        if keyword.arg == "v1":
            return [e.value for e in keyword.value.elts]
    return [a.value for a in call.args]


def _is_export(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _DECORATORS


def exports(source, path):
    """(public name, attribute) of all exports of a module."""
    for node in ast.parse(source, path).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            for decorator in node.decorator_list:
                if _is_export(decorator):
                    for name in _names(decorator):
                        yield name, node.name
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            if isinstance(call.func, ast.Attribute) and call.func.attr == "export_constant":
                if _is_export(call.func.value):
                    for name in _names(call.func.value):
                        yield name, call.args[1].value


def _generated(package):
    """Exports of generated functions: (public name, module, function)."""
    sys.path.insert(0, str(package / "python" / "ops"))
    import api_def

    for module, functions in api_def.read_table().items():
        for function, entry in functions.items():
            for name in entry.public:
                yield name, "python.ops." + module, function
            yield "raw_ops." + entry.op, "python.ops." + module, entry.op


def table(package):
    """{public name: (module below braid.tensorflow, attribute)}; those of sources come before generated ones."""
    names = {}
    for name, module, attribute in _generated(package):
        names[name] = (module, attribute)
    written = {}
    for path in sorted(package.rglob("*.py")):
        source = path.read_text()
        if not any(d + "(" in source for d in _DECORATORS):
            continue
        module = ".".join(path.relative_to(package).with_suffix("").parts)
        for name, attribute in exports(source, str(path)):
            if written.setdefault(name, (module, attribute)) != (module, attribute):
                print(
                    f"tf.{name} is exported by {written[name]} and by {(module, attribute)}", file=sys.stderr
                )
    names.update(written)
    return names


def main(package, output):
    names = table(package)
    lines = ["# The public names: (module, attribute). Made by tools/python_api.py.", "NAMES = {"]
    lines += [f"    {name!r}: {names[name]!r}," for name in sorted(names)]
    text = "\n".join(lines + ["}", ""])
    output.write_text(text)


_HEAD = """# TensorFlow 1.15's public names in Braid

This page is made from the sources (`tools/python_api.py --page docs/python-api.md`). Of each module it lists
the names that work as TensorFlow 1.15's do, and those that are not there, with what to use. The list of names
is that of TensorFlow 1.15 without `tf.raw_ops`, which has [all ops of Braid](ops.md), and `tf.contrib`.

{count} of {total} names are there.
"""


def page(package, output):
    """Writes docs/python-api.md."""
    names = table(package)
    wanted, refusal = _wanted(package, names)
    lines, count, total = [], 0, 0
    for module, words in wanted.items():
        there, absent = [], []
        for word in words:
            full = f"{module}.{word}"[3:]
            way = refusal(full)
            (there if full in names and way is None else absent).append((word, way))
        count, total = count + len(there), total + len(words)
        lines += ["", f"## {module}", ""]
        if there:
            lines += _wrapped(f"`{word}`" for word, _ in there)
        if absent:
            lines += ["", "Not there:", ""] if there else ["Not there:", ""]
            lines += _absent(absent)
    output.write_text(_HEAD.format(count=count, total=total) + "\n".join(lines) + "\n")


def _wanted(package, names):
    """The names of TensorFlow 1.15 by module, and the function that says which are left out."""
    words = {}
    for line in (package / "api_1_15.txt").read_text().splitlines():
        if line.startswith("tf"):
            module, _, rest = line.partition(": ")
            words[module] = rest.split()
    sys.modules["braid.tensorflow._api"] = types.SimpleNamespace(NAMES=names)
    return words, runpy.run_path(str(package / "missing.py"))["refusal"]


def _wrapped(words):
    return textwrap.wrap(", ".join(words), 110, break_long_words=False, break_on_hyphens=False)


def _absent(absent):
    """Lines of a list: names with the same way out stand together."""
    ways = {}
    for word, way in absent:
        ways.setdefault(way, []).append(f"`{word}`")
    lines = []
    for way, words in ways.items():
        text = ", ".join(words) + (f": {way}." if way else "")
        lines += textwrap.wrap(
            text,
            110,
            initial_indent="- ",
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines


if __name__ == "__main__":
    root = pathlib.Path(__file__).resolve().parent.parent
    if sys.argv[1:2] == ["--page"]:
        page(root / "python" / "braid" / "tensorflow", pathlib.Path(sys.argv[2]))
        sys.exit()
    where = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "python" / "braid" / "tensorflow"
    main(where, pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else where / "_api.py")
