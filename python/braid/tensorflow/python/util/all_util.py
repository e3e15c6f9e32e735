"""The public names of a module."""

import sys
import types

__all__ = ["make_all", "remove_undocumented", "reveal_undocumented"]


def make_all(module_name, doc_string_modules=None):
    """The names in a module that are neither private nor modules."""
    module = sys.modules[module_name]
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    )


def remove_undocumented(module_name, allowed_exception_list=None, doc_string_modules=None):
    """Says which names of a module are public. They all stay: programs use others as well."""


def reveal_undocumented(symbol_name, target_module=None):
    """Makes a name that remove_undocumented took away visible again: none is away."""
