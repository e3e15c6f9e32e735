"""The public name of a symbol: @tf_export("math.add_n", "add_n") above it.

When the program runs, the decorators only note the names on the symbol: tools/python_api.py reads them from
the sources, and writes the table by which `tf.math.add_n` finds its module. So names and arguments are
literals.
"""

import collections
import functools
import sys

from braid.tensorflow.python.util import tf_decorator
from braid.tensorflow.python.util import tf_inspect

TENSORFLOW_API_NAME = "tensorflow"
ESTIMATOR_API_NAME = "estimator"
KERAS_API_NAME = "keras"

SUBPACKAGE_NAMESPACES = [ESTIMATOR_API_NAME]  # which no symbol of TensorFlow itself is in

_Attributes = collections.namedtuple("ExportedApiAttributes", ["names", "constants"])


def _attributes(version):
    prefixes = {TENSORFLOW_API_NAME: "_tf", ESTIMATOR_API_NAME: "_estimator", KERAS_API_NAME: "_keras"}
    return {
        api: _Attributes(f"{prefix}_api_names{version}", f"{prefix}_api_constants{version}")
        for api, prefix in prefixes.items()
    }


# The attributes that hold the names, of symbols and of a module's constants, in TensorFlow 2 and 1.
API_ATTRS = _attributes("")
API_ATTRS_V1 = _attributes("_v1")


class SymbolAlreadyExposedError(Exception):
    """A symbol has public names already."""


class InvalidSymbolNameError(Exception):
    """A public name is not in the package of its API."""


class api_export:
    """A decorator that notes the public names of its function or class, which it leaves as it is.

    args: the public names, without "tf.". v1: the names in TensorFlow 1, in place of those of `args`. overrides:
    symbols that lose their public names.
    """

    def __init__(
        self, *args, v1=None, overrides=(), allow_multiple_exports=False, api_name=TENSORFLOW_API_NAME
    ):
        self._names, self._names_v1 = args, args if v1 is None else v1
        self._overrides = overrides
        self._allow_multiple_exports = allow_multiple_exports
        self._api_name = api_name
        for name in (*self._names, *self._names_v1):
            self._check(name)

    def _check(self, name):
        if self._api_name != TENSORFLOW_API_NAME:
            if not name.startswith(self._api_name):
                raise InvalidSymbolNameError(f"tf.{name} is not under tf.{self._api_name}")
        elif any(name.startswith(package) for package in SUBPACKAGE_NAMESPACES):
            raise InvalidSymbolNameError(f"@tf_export is not allowed to export tf.{name}")

    def _named(self):
        """The attributes of a symbol, and what they hold."""
        return (
            (API_ATTRS[self._api_name].names, self._names),
            (API_ATTRS_V1[self._api_name].names, self._names_v1),
        )

    def __call__(self, func):
        for other in self._overrides:
            other = tf_decorator.unwrap(other)[1]
            for attribute, _ in self._named():
                if attribute in vars(other):
                    delattr(other, attribute)
        own = tf_decorator.unwrap(func)[1]
        for attribute, names in self._named():
            if attribute in vars(own) and not self._allow_multiple_exports:
                raise SymbolAlreadyExposedError(
                    f"Symbol {own.__name__} is already exposed as {getattr(own, attribute)}."
                )
            setattr(own, attribute, names)
        return func

    def export_constant(self, module_name, name):
        """Exports the constant `name` of the module `module_name`: tf_export("pi").export_constant(__name__,
        "pi").
        """
        held = vars(sys.modules[module_name])
        constants, constants_v1 = API_ATTRS[self._api_name].constants, API_ATTRS_V1[self._api_name].constants
        held.setdefault(constants, []).append((self._names, name))
        held.setdefault(constants_v1, []).append((self._names_v1, name))


def get_canonical_name(api_names, deprecated_api_names):
    """The first name that is not deprecated, or the first; None: there is none."""
    names = [name for name in api_names if name not in deprecated_api_names] or list(api_names)
    return names[0] if names else None


def get_canonical_name_for_symbol(symbol, api_name=TENSORFLOW_API_NAME, add_prefix_to_v1_names=False):
    """The public name of a symbol: TensorFlow 2's, or else 1's; None: it has none."""
    if not hasattr(symbol, "__dict__"):
        return None
    held = vars(tf_decorator.unwrap(symbol)[1])
    if API_ATTRS[api_name].names not in held:
        return None
    deprecated = held.get("_tf_deprecated_api_names", ())
    name = get_canonical_name(held[API_ATTRS[api_name].names], deprecated)
    if name:
        return name
    name = get_canonical_name(held[API_ATTRS_V1[api_name].names], deprecated)
    return f"compat.v1.{name}" if add_prefix_to_v1_names else name


def _noted(holder, attributes):
    held = getattr(holder, "__dict__", {})
    return [value for attribute in attributes for value in held.get(attribute, ())]


def get_v1_names(symbol):
    """The public names of a symbol in TensorFlow 1."""
    return _noted(symbol, [a.names for a in API_ATTRS_V1.values()])


def get_v2_names(symbol):
    """The public names of a symbol in TensorFlow 2."""
    return _noted(symbol, [a.names for a in API_ATTRS.values()])


def get_v1_constants(module):
    """(names, constant) of the public constants of a module in TensorFlow 1."""
    return _noted(module, [API_ATTRS_V1[api].constants for api in (TENSORFLOW_API_NAME, ESTIMATOR_API_NAME)])


def get_v2_constants(module):
    """(names, constant) of the public constants of a module in TensorFlow 2."""
    return _noted(module, [API_ATTRS[api].constants for api in (TENSORFLOW_API_NAME, ESTIMATOR_API_NAME)])


def kwarg_only(f):
    """A function that takes its arguments by name only."""
    spec = tf_inspect.getargspec(f)

    def wrapper(*args, **kwargs):
        if args:
            raise TypeError(f"{f.__name__} only takes keyword args (possible keys: {spec.args}).")
        return f(**kwargs)

    return tf_decorator.make_decorator(f, wrapper, decorator_argspec=spec)


tf_export = functools.partial(api_export, api_name=TENSORFLOW_API_NAME)
estimator_export = functools.partial(api_export, api_name=ESTIMATOR_API_NAME)
keras_export = functools.partial(api_export, api_name=KERAS_API_NAME)
