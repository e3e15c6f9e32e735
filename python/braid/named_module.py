"""The base of modules whose names are found at their first use."""

import importlib
import types


class NamedModule(types.ModuleType):
    """A module that is pickled as its name, as cloudpickle does with plain modules: programs send functions
    that use tf.train to other processes.
    """

    def __reduce__(self):
        return importlib.import_module, (self.__name__,)
