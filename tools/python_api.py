#!/usr/bin/env python3
"""Writes the table of the public names of the Python package: python_api.py [PACKAGE [OUTPUT]].

PACKAGE is the directory python/braid/tensorflow, OUTPUT a Python file in it (_api.py). The names come from the
decorators @tf_export (keras_export, estimator_export) of the sources, which are not run, and from
python/ops/api_def.txt.
"""

import ast
import pathlib
import sys

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
            for name in (*entry.public, "raw_ops." + entry.op):
                yield name, "python.ops." + module, function


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


if __name__ == "__main__":
    root = pathlib.Path(__file__).resolve().parent.parent
    where = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "python" / "braid" / "tensorflow"
    main(where, pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else where / "_api.py")
