"""From a Python function to one that builds a graph for its control flow of tensors."""

import __future__

import ast
import copy
import functools
import inspect
import pathlib
import sys
import sysconfig
import threading
import types
import unittest

from braid.tensorflow.python.autograph.converters import control_flow
from braid.tensorflow.python.autograph.converters import expressions
from braid.tensorflow.python.autograph.converters import jumps
from braid.tensorflow.python.autograph.pyct import liveness
from braid.tensorflow.python.autograph.pyct import source
from braid.tensorflow.python.autograph.pyct import fragments
from braid.tensorflow.python.autograph.utils import ag_logging

_FUTURES = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})
# Modules, with those below them, whose functions are called as they are.
_NOT_CONVERTED = (
    "braid",
    "tensorflow",
    "numpy",
    "tensorflow_probability",
    "tensorflow_datasets.core",
    "ipdb",
    "mock",
)
_STANDARD_LIBRARY = pathlib.Path(sysconfig.get_paths()["stdlib"])
_RESERVED = "ag__"


# ---- which functions are converted ----


def is_whitelisted_for_graph(entity):
    """Whether a callable is called as it is: one of a library that builds graphs itself, a generator
    function, a method of a test or of a named tuple."""
    while isinstance(entity, functools.partial):
        entity = entity.func
    module = _module_of(entity)
    if module and _is_left_alone(module):
        return True
    if inspect.isgeneratorfunction(entity) or inspect.iscoroutinefunction(entity):
        ag_logging.log(1, "%s is a generator function. It will not be converted by AutoGraph.", entity)
        return True
    if inspect.ismethod(entity):
        owner = entity.__self__ if inspect.isclass(entity.__self__) else type(entity.__self__)
        defining = _defining_class(entity.__func__, owner)
        return issubclass(owner, unittest.TestCase) or (defining is not None and _is_of_a_library(defining))
    if inspect.isroutine(entity) or inspect.isclass(entity):
        return False
    call = getattr(type(entity), "__call__", None)
    return call is not None and is_whitelisted_for_graph(call)


def _is_of_a_library(cls):
    """Whether a class is of a library that builds graphs itself, or one that namedtuple() has made."""
    is_named_tuple = issubclass(cls, tuple) and hasattr(cls, "_fields")
    return (
        is_named_tuple
        and not any(hasattr(base, "_fields") for base in cls.__bases__)
        or _is_left_alone(cls.__module__)
    )


def _module_of(entity):
    module = inspect.getmodule(entity)
    return getattr(module, "__name__", None)


@functools.lru_cache(maxsize=None)
def _is_left_alone(name):
    if any(name == each or name.startswith(each + ".") for each in _NOT_CONVERTED):
        return True
    if name == "__main__":
        return False
    file = getattr(sys.modules.get(name.partition(".")[0]), "__file__", None)
    if file is None:  # of the interpreter, or a package without __init__.py
        return name.partition(".")[0] in sys.builtin_module_names
    try:
        inside = pathlib.Path(file).relative_to(_STANDARD_LIBRARY)
    except ValueError:
        return False
    return inside.parts[0] not in ("site-packages", "dist-packages")


def _defining_class(function, owner):
    for each in owner.__mro__:
        if getattr(each.__dict__.get(function.__name__), "__code__", None) is function.__code__:
            return each
    return None


# ---- conversion ----


class Names:
    """Unused names of variables."""

    def __init__(self, used):
        self._used = set(used)

    def new(self, name):
        number, candidate = 0, name
        while candidate in self._used:
            number += 1
            candidate = f"{name}_{number}"
        self._used.add(candidate)
        return candidate


_lock = threading.Lock()
_converted = {}  # (code, options): code of the converted function


def convert(function, options, operators):
    """The converted function of a Python function, which shares its global and free variables and its
    defaults. `operators`: what `ag__` is in it. Raises ValueError for what cannot be converted."""
    code = function.__code__
    if _RESERVED in code.co_freevars or function.__globals__.get(_RESERVED) is not None:
        raise ValueError(f"{function} uses the reserved symbol {_RESERVED!r}")
    key = code.co_filename, code, options
    with _lock:
        known = _converted.get(key)
    if known is None:
        _, classes = source.function_node(function)
        node = converted_node(function, options)
        ag_logging.log(1, "Converting %s", function)
        if ag_logging.has_verbosity(2):
            ag_logging.log(2, "Converted code of %s:\n%s", function, ast.unparse(node))
        known = _compile(node, code, classes)
        with _lock:
            _converted[key] = known
    cells = dict(zip(code.co_freevars, function.__closure__ or ()))
    cells[_RESERVED] = types.CellType(operators)
    closure = tuple(cells[name] for name in known.co_freevars)
    new = types.FunctionType(known, function.__globals__, known.co_name, function.__defaults__, closure)
    new.__kwdefaults__ = function.__kwdefaults__
    new.__module__, new.__doc__ = function.__module__, function.__doc__
    return new


def converted_node(function, options):
    """The FunctionDef of the converted function."""
    node, classes = source.function_node(function)
    node = copy.deepcopy(node)
    code = function.__code__
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    names |= {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    conversion = _Conversion(options, Names(names | set(code.co_freevars) | set(code.co_names)))
    new = conversion.function(_as_def(node, names), bool(classes))
    new.name = "tf__lambda" if isinstance(node, ast.Lambda) else f"tf__{function.__name__}"
    new.decorator_list, new.returns = [], None
    # defaults are those of the function, not computed again; annotations are not evaluated again
    new.args.defaults, new.args.kw_defaults = [], [None] * len(new.args.kwonlyargs)
    for each in ast.walk(new.args):
        if isinstance(each, ast.arg):
            each.annotation = None
    return new


def _compile(node, code, classes):
    factory = fragments.statements(
        f"def factory({', '.join([_RESERVED, *code.co_freevars])}): pass", at=node
    )[0]
    factory.body = [node]
    if classes:  # Python gives private names (__name) the name of the class that they are in
        within = fragments.statements(f"class __{classes[-1].lstrip('_')}: pass", at=node)[0]
        within.body, factory.body = factory.body, [within]
    module = ast.fix_missing_locations(ast.Module([factory], []))
    compiled = compile(module, code.co_filename, "exec", code.co_flags & _FUTURES, dont_inherit=True)
    for _ in range(3 if classes else 2):
        (compiled,) = [each for each in compiled.co_consts if inspect.iscode(each)]
    return compiled


def _as_def(node, names):
    if not isinstance(node, ast.Lambda):
        return node
    body = ast.copy_location(ast.Return(node.body), node)
    definition = fragments.statements("def lambda_(): pass", at=node)[0]
    definition.args, definition.body = node.args, [body]
    return definition


class _Conversion:
    def __init__(self, options, names):
        self._options = options
        self._names = names

    def function(self, node, is_method=False):
        """Converts a FunctionDef and the functions within it, in place."""
        if _is_generator(node):
            raise ValueError("generator functions are not converted")
        described = 0 if ast.get_docstring(node, clean=False) is None else 1
        description, node.body = node.body[:described], node.body[described:]
        declared = _take_declarations(node.body)
        arguments = source.argument_names(node.args)
        jumps.lower(node, self._names)
        first = arguments[0] if is_method and arguments else None
        expressions.convert(node, self._options, self._names, self._inner, first)
        control_flow.convert(node, self._names, declared, arguments)
        lines = [f"{kind} {name}" for name, kind in declared.items()]
        node.body = description + fragments.statements("\n".join(lines), at=node) + node.body
        return node

    def _inner(self, node, _):
        """A function within the one that is converted. It is marked, so that its calls find it converted."""
        if isinstance(node, ast.Lambda):
            if any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in ast.walk(node)):
                return node
            definition = self.function(_as_def(node, ()))
            node.body = definition.body[0].value
            mark = fragments.expression(f"{_RESERVED}.autograph_artifact()", at=node)
            mark.args = [node]
            return mark
        if _is_generator(node):
            return node
        node = self.function(node)
        node.decorator_list.append(fragments.expression(f"{_RESERVED}.autograph_artifact", at=node))
        return node


def _is_generator(function):
    def has_yield(node):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            return False
        return isinstance(node, (ast.Yield, ast.YieldFrom)) or any(map(has_yield, ast.iter_child_nodes(node)))

    return isinstance(function, ast.AsyncFunctionDef) or any(map(has_yield, function.body))


def _take_declarations(block):
    """Removes the `global` and `nonlocal` statements of a function. Returns name -> kind."""
    declared = {}
    for i, statement in enumerate(block):
        if isinstance(statement, (ast.Global, ast.Nonlocal)):
            kind = "global" if isinstance(statement, ast.Global) else "nonlocal"
            declared.update(dict.fromkeys(statement.names, kind))
            block[i] = ast.copy_location(ast.Pass(), statement)
        for inner in liveness.blocks(statement):
            declared.update(_take_declarations(inner))
    return declared
