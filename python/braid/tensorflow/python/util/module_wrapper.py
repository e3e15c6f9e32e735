"""Modules in the place of others, which load names when they are used and warn of those that TensorFlow 2
does not have. Braid's own modules warn of no names: programs of TensorFlow 1 are what it is for.
"""

import importlib
import inspect
import sys

from braid.named_module import NamedModule
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.util import tf_decorator

_PER_MODULE_WARNING_LIMIT = 1


def get_rename_v2(name):
    """tf.compat.v1.X for a name tf.X that TensorFlow 2 does not have; None for other names."""
    tf = importlib.import_module("braid.tensorflow")
    value, value_v2 = tf, tf.compat.v2
    for part in name.split(".")[1:]:
        value, value_v2 = getattr(value, part, None), getattr(value_v2, part, None)
    return None if value is None or value_v2 is not None else "tf.compat.v1" + name[len("tf") :]


def _call_location():
    """FILE:LINE of the code that uses a wrapper."""
    frame = inspect.currentframe()
    while frame and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else "UNKNOWN"


def contains_deprecation_decorator(decorators):
    return any(decorator.decorator_name == "deprecated" for decorator in decorators)


def has_deprecation_decorator(symbol):
    """Whether a function, or the constructor of a class, warns by itself that it is deprecated."""
    decorators, symbol = tf_decorator.unwrap(symbol)
    if contains_deprecation_decorator(decorators):
        return True
    if not inspect.isclass(symbol):
        return False
    return contains_deprecation_decorator(tf_decorator.unwrap(symbol.__init__)[0])


class TFModuleWrapper(NamedModule):
    """Stands for the module `wrapped`, which programs know as tf.`module_name`.

    `public_apis` are names with the modules and the names there that they are imported from at their first
    use; with an empty module, the name is a module itself. With `has_lite`, "lite" is always one of these.
    With `deprecation`, the first uses of names that TensorFlow 2 has elsewhere warn, up to
    _PER_MODULE_WARNING_LIMIT of them.
    """

    def __init__(self, wrapped, module_name, public_apis=None, deprecation=True, has_lite=False):
        super().__init__(wrapped.__name__)
        vars(self).update(vars(wrapped))
        vars(self).update(
            _tfmw_wrapped_module=wrapped,
            _tfmw_module_name=module_name,
            _tfmw_public_apis=public_apis,
            _tfmw_print_deprecation_warnings=deprecation,
            _tfmw_lite_is_to_load=has_lite,
            _tfmw_deprecated_checked=set(),
            _tfmw_warning_count=0,
        )
        if public_apis:
            names = list(public_apis)
        else:
            names = getattr(wrapped, "__all__", None)
            if names is None:
                names = [name for name in dir(wrapped) if not name.startswith("_")]
        wrapped.__all__ = names
        vars(self)["__all__"] = names

    def _tfmw_import_module(self, name):
        module, symbol = self._tfmw_public_apis[name]
        if module:
            value = getattr(importlib.import_module(module), symbol)
        else:
            value = importlib.import_module(symbol)
        setattr(self._tfmw_wrapped_module, name, value)
        vars(self)[name] = value
        return value

    def _tfmw_add_deprecation_warning(self, name, value):
        """Warns of a name that is used for the first time. Returns whether it did."""
        if self._tfmw_warning_count >= _PER_MODULE_WARNING_LIMIT or name in self._tfmw_deprecated_checked:
            return False
        self._tfmw_deprecated_checked.add(name)
        full_name = ".".join(["tf", self._tfmw_module_name, name] if self._tfmw_module_name else ["tf", name])
        rename = get_rename_v2(full_name)
        location = _call_location()
        if not rename or has_deprecation_decorator(value) or location.startswith("<"):
            return False
        logging.warning(
            "From %s: The name %s is deprecated. Please use %s instead.\n", location, full_name, rename
        )
        vars(self)["_tfmw_warning_count"] += 1
        return True

    def __getattribute__(self, name):
        if name.startswith(("__", "_tfmw_")):
            return super().__getattribute__(name)
        if name == "lite" and self._tfmw_lite_is_to_load:
            vars(self)["_tfmw_lite_is_to_load"] = False
            return self._tfmw_import_module(name)
        value = super().__getattribute__(name)
        if self._tfmw_print_deprecation_warnings:
            self._tfmw_add_deprecation_warning(name, value)
        return value

    def __getattr__(self, name):
        if name.startswith(("__", "_tfmw_")):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        try:
            value = getattr(self._tfmw_wrapped_module, name)
        except AttributeError:
            if name not in (self._tfmw_public_apis or ()):
                raise
            value = self._tfmw_import_module(name)
        if self._tfmw_print_deprecation_warnings:
            self._tfmw_add_deprecation_warning(name, value)
        return value

    def __setattr__(self, name, value):
        if not name.startswith("_tfmw_"):
            setattr(self._tfmw_wrapped_module, name, value)
            if name != "__all__" and name not in self.__all__:
                self.__all__.append(name)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        if not name.startswith("_tfmw_"):
            delattr(self._tfmw_wrapped_module, name)
        super().__delattr__(name)

    def __dir__(self):
        names = dir(self._tfmw_wrapped_module)
        if not self._tfmw_public_apis:
            return names
        return sorted({name for name in names if not name.startswith("_")} | set(self._tfmw_public_apis))

    def __repr__(self):
        return repr(self._tfmw_wrapped_module)
