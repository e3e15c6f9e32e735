"""AutoGraph: Python functions whose control flow of tensors builds conditionals and loops of the graph.

impl/api.py converts and calls functions; converters/ rewrites their syntax trees (pyct/), and operators/ is
what the rewritten code calls. The modules are imported when a name of them is first used."""

import importlib

from braid.tensorflow.python.autograph import refused

refused.make_modules(__name__)

_MODULES = {
    "core.converter": "ConversionOptions Feature",
    "impl.api": "AutoGraphError ConversionError StagingError convert converted_call do_not_convert to_code to_graph",
    "lang.directives": "set_element_type set_loop_options",
    "lang.special_functions": "match_staging_level stack tensor_list",
    "utils.ag_logging": "set_verbosity trace",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}
__all__ = sorted(_MODULE_OF)


def __getattr__(name):
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
