"""Names of TensorFlow's AutoGraph that are of its own inside. Libraries import them for functions that few
programs call: they are there, and raise an error when they are used."""

import sys

from braid.named_module import NamedModule

MODULES = (
    "converters.break_statements converters.continue_statements converters.return_statements core.naming pyct.anno "
    "pyct.common_transformers pyct.common_transformers.anf pyct.compiler pyct.inspect_utils pyct.parser "
    "pyct.qual_names pyct.templates pyct.transformer"
).split()


class _Refused:
    def __new__(cls, *args, **kwargs):
        raise NotImplementedError(
            f"{cls.__name__} is of the inside of TensorFlow's AutoGraph, which Braid has not: use tf.autograph.to_graph"
        )


def name(module, attribute):
    """A class that cannot be instantiated, for an attribute of a module."""
    if attribute.startswith("__"):
        raise AttributeError(attribute)
    return type(attribute, (_Refused,), {"__module__": module})


class _Module(NamedModule):
    def __getattr__(self, attribute):
        refused = name(self.__name__, attribute)
        setattr(self, attribute, refused)
        return refused


def make_modules(package):
    for path in MODULES:
        module = _Module(f"{package}.{path}")
        module.__path__ = []
        sys.modules[module.__name__] = module
