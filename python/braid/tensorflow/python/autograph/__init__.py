"""What of AutoGraph programs of graphs use. Libraries import its inside for functions that few programs call:
its modules are there, and what they hold raises an error when it is used.
"""

import sys
import types

_MODULES = (
    "converters converters.break_statements converters.continue_statements converters.return_statements core "
    "core.converter core.naming pyct pyct.anno pyct.common_transformers pyct.common_transformers.anf "
    "pyct.compiler pyct.inspect_utils pyct.parser pyct.qual_names pyct.templates pyct.transformer"
).split()


class _Refused:
    def __new__(cls, *args, **kwargs):
        raise NotImplementedError(
            f"{cls.__name__} is of AutoGraph, which Braid has not: use tf.cond and tf.while_loop"
        )


class _RefusedModule(types.ModuleType):
    """A module each of whose names is a class that cannot be instantiated."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        refused = type(name, (_Refused,), {"__module__": self.__name__})
        setattr(self, name, refused)
        return refused


def _make_modules():
    spaces = {"": sys.modules[__name__]}
    for path in _MODULES:
        parent, _, name = path.rpartition(".")
        module = spaces[path] = _RefusedModule(f"{__name__}.{path}")
        module.__path__ = []
        sys.modules[module.__name__] = module
        setattr(spaces[parent], name, module)


_make_modules()
