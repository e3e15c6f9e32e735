"""tf.compat.v2: the names of TensorFlow 2 as TensorFlow 1.15 has them, in graphs.

Most are what tf has by the same name (names.txt). Functions whose arguments differ call tf's
(signatures.txt), the rest is in others.py. A name is found when it is first used.
"""

import ast
import functools
import importlib
import inspect
import pathlib
import sys

from braid.named_module import NamedModule

_HERE = pathlib.Path(__file__).parent
_PARENT = sys.modules["braid.tensorflow"]
# Modules that are Keras' by another name.
_OF_KERAS = ("initializers", "losses", "metrics", "optimizers")
# Modules of which all is tf's but for what others.py has.
_WHOLE = ("raw_ops", "keras", "estimator")


def _lines(file):
    text = (_HERE / file).read_text(encoding="utf-8").replace("\n  ", " ")
    return [line for line in text.splitlines() if not line.startswith("#")]


@functools.lru_cache(maxsize=None)
def _aliases():
    """The names that are tf's."""
    names = set()
    for line in _lines("names.txt"):
        module, _, words = line.partition(": ")
        names.update(f"{module}.{word}"[3:] for word in words.split())
    return names


@functools.lru_cache(maxsize=None)
def _signatures():
    """Of a name whose arguments differ: the name of tf, the arguments and those with a fixed value."""
    found = {}
    for line in _lines("signatures.txt"):
        head, _, arguments = line.partition(": ")
        names, _, target = head.partition(" = ")
        arguments, _, fixed = arguments.partition("; ")
        for name in names.split():
            found[name] = target or name, arguments, fixed
    return found


def _of_tf(name):
    """What tf has by a name. AttributeError: it has not."""
    value = _PARENT
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _default(text):
    dtypes = importlib.import_module("braid.tensorflow.python.framework.dtypes")
    return getattr(dtypes, text) if hasattr(dtypes, text) else ast.literal_eval(text)


def _arguments(text):
    """(name, its name in tf, default) of each argument; inspect.Parameter.empty: no default."""
    for argument in text.split(", ") if text else ():
        names, has_default, default = argument.partition("=")
        name, _, theirs = names.partition(">")
        yield name, theirs or name, _default(default) if has_default else inspect.Parameter.empty


def _adapter(name, target, arguments, fixed):
    """A function with these arguments that calls tf's."""
    function = _of_tf(target)
    fixed = {theirs: value for _, theirs, value in _arguments(fixed)}
    renamed = {ours: theirs for ours, theirs, _ in _arguments(arguments)}
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature(
        [inspect.Parameter(ours, kind, default=value) for ours, _, value in _arguments(arguments)]
    )

    def adapter(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return function(**{renamed[ours]: value for ours, value in bound.arguments.items()}, **fixed)

    adapter.__name__ = adapter.__qualname__ = name.rpartition(".")[2]
    adapter.__signature__ = signature
    adapter.__doc__ = f"tf.{target} with TensorFlow 2's arguments."
    return adapter


def _find(full):
    """The value of a name below tf.compat.v2. AttributeError: there is none."""
    module, _, name = full.partition(".")
    if module in _OF_KERAS and name:
        return _find("keras." + full)
    others = importlib.import_module(__name__ + ".others")
    if full in others.NAMES:
        return others.NAMES[full]
    if full in _signatures():
        return _adapter(full, *_signatures()[full])
    if full in _aliases() or module in _WHOLE and name and full not in others.MISSING:
        return _of_tf(full)
    raise AttributeError(f"tf.compat.v2.{full} is not in Braid")


class _Namespace(NamedModule):
    """tf.compat.v2.math, ...: a module whose names are found when they are first used."""

    def __init__(self, path):
        super().__init__(f"{__name__}.{path}", f"The public names tf.compat.v2.{path}.")
        self.__dict__.update(_path=path, __path__=[])

    def __getattr__(self, name):
        if name == "__all__":
            return _exported(self._path)
        if name.startswith("__"):
            raise AttributeError(name)
        value = _find(f"{self._path}.{name}")
        setattr(self, name, value)
        return value

    def __dir__(self):
        return sorted({*self.__dict__, *_names_below(self._path)})


def _names_below(path):
    keys = {*_aliases(), *_signatures(), *importlib.import_module(__name__ + ".others").NAMES}
    module = path.partition(".")[0]
    if module in _WHOLE:
        keys.update(f"{path}.{name}" for name in dir(_of_tf(path)) if not name.startswith("_"))
    start = path + "." if path else ""
    return {key[len(start) :] for key in keys if key.startswith(start) and "." not in key[len(start) :]}


def _exported(path):
    """What `from tensorflow.compat.v2.PATH import *` takes."""
    start = path + "." if path else ""
    missing = importlib.import_module(__name__ + ".others").MISSING
    names = {name for name in _names_below(path) if not name.startswith("_") and start + name not in missing}
    names.update(full[len(start) :].partition(".")[0] for full in _paths() if full.startswith(start))
    return sorted(names if path else names | {"compat"})


def _paths():
    """The modules below tf.compat.v2."""
    paths = {*_OF_KERAS, "optimizers.schedules", "summary.experimental"}
    for full in (*_aliases(), *_signatures()):
        paths.add(full.rpartition(".")[0])
    start = _PARENT.__name__ + "."
    for name in list(sys.modules):
        if name.startswith(start) and name[len(start) :].partition(".")[0] in _WHOLE:
            paths.add(name[len(start) :])
    for path in list(paths):
        while path:
            paths.add(path)
            path = path.rpartition(".")[0]
    return sorted(paths - {""})


def _make_namespaces():
    spaces = {"": sys.modules[__name__]}
    for path in _paths():
        parent, _, name = path.rpartition(".")
        space = spaces[path] = _Namespace(path)
        sys.modules[space.__name__] = space
        setattr(spaces[parent], name, space)


_make_namespaces()
compat = _PARENT.compat
__version__ = _PARENT.__version__


def __getattr__(name):
    if name == "__all__":
        return _exported("")
    if name.startswith("__"):
        raise AttributeError(name)
    value = _find(name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_names_below("")})
