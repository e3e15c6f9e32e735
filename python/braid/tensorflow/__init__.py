"""TensorFlow 1's interface for Python over Braid: `import braid.tensorflow as tf`.

Public names are found when they are first used; _api.py, which the build makes, says which module has which.
TensorFlow's own modules lie where TensorFlow has them (python/framework/ops.py), for programs that import
from inside.
"""

import importlib
import os
import sys
import types

from braid.named_module import NamedModule
from braid.tensorflow._api import NAMES as _NAMES


class _Namespace(NamedModule):
    """tf.nn, tf.train, ...: a module whose names are found when they are first used."""

    def __getattr__(self, name):
        return _find(self, _found_names(self)["_path"], name)

    @property
    def __dict__(self):
        """All names of the module, for programs that look them up by text (tf.logging.__dict__["INFO"])."""
        for name in self._names:
            getattr(self, name)
        return _found_names(self)

    def __dir__(self):
        return sorted({*_found_names(self), *self._names})


_found_names = types.ModuleType.__dict__["__dict__"].__get__  # a module's own dictionary


def _find(module, path, name):
    full = f"{path}.{name}" if path else name
    if name == "__all__":
        return _exported(path)
    if full in _NAMES:
        place, attribute = _NAMES[full]
        value = getattr(importlib.import_module(f"{__name__}.{place}"), attribute)
        setattr(module, name, value)
        return value
    if full == "compat.v2":
        return importlib.import_module(f"{__name__}.compat.v2")
    raise AttributeError(_missing(full))


def _exported(path):
    """What `from tensorflow.PATH import *` takes: the public names, which are not attributes before their use."""
    start = path + "." if path else ""
    names = {full[len(start) :].partition(".")[0] for full in _NAMES if full.startswith(start)}
    names = {name for name in names if not name.startswith("_")}
    return sorted(names if path else names.union(_PACKAGES) - {"examples"})


def _missing(full):
    if full.rpartition(".")[2].startswith("__"):
        return full
    return importlib.import_module(__name__ + ".missing").message(full)


def _make_namespaces():
    spaces = {"": sys.modules[__name__]}
    names = {"": set()}
    for full in _NAMES:
        path, _, name = full.rpartition(".")
        if path.startswith("contrib."):  # a package, which has its own names
            continue
        names.setdefault(path, set()).add(name)
        while path and path not in spaces:
            space = _Namespace(f"{__name__}.{path}", f"The public names tf.{path}.")
            _found_names(space).update(_path=path, _names=names.setdefault(path, set()), __path__=[])
            spaces[path] = space
            sys.modules[space.__name__] = space
            path = path.rpartition(".")[0]
    for path, space in spaces.items():
        if path:
            parent, _, name = path.rpartition(".")
            setattr(spaces[parent], name, space)
            if parent:
                names[parent].add(name)
    return names[""]


_public = _make_namespaces()
# tf.compat.v1 is this module: `import tensorflow.compat.v1 as tf`. tf.compat.v2 is a package of its own.
sys.modules[__name__ + ".compat"].v1 = sys.modules[__name__ + ".compat.v1"] = sys.modules[__name__]
sys.modules[__name__ + ".compat"].__path__ = [os.path.join(os.path.dirname(__file__), "compat")]
_PACKAGES = ("contrib", "core", "examples", "python")


def __getattr__(name):
    if name in _PACKAGES:
        return importlib.import_module(f"{__name__}.{name}")
    return _find(sys.modules[__name__], "", name)


def __dir__():
    return sorted({*globals(), *_public, *_PACKAGES})


# Modules that say how values become tensors, and what operators do to these.
from braid.tensorflow.python.ops import standard_ops as _standard_ops
