"""Modules that are imported when something in them is used."""

import importlib

from braid.named_module import NamedModule
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["LazyLoader"])
class LazyLoader(NamedModule):
    """Stands for the module `name` in the globals of another until it is used, then puts it there as
    `local_name`.
    """

    def __init__(self, local_name, parent_module_globals, name, warning=None):
        self._local_name = local_name
        self._parent_module_globals = parent_module_globals
        self._warning = warning
        super().__init__(name)

    def _load(self):
        module = importlib.import_module(self.__name__)
        self._parent_module_globals[self._local_name] = module
        if self._warning:
            logging.warning(self._warning)
            self._warning = None
        self.__dict__.update(module.__dict__)
        return module

    def __getattr__(self, item):
        return getattr(self._load(), item)

    def __dir__(self):
        return dir(self._load())
