"""tf.Module: an object with a name scope, which finds the variables and modules in its attributes."""

import functools
import re

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.training.tracking import tracking
from braid.tensorflow.python.util.tf_export import tf_export

_WORDS = re.compile(r"((?<=[a-z0-9])[A-Z]|(?!^)[A-Z](?=[a-z]))")


def camel_to_snake(value):
    return _WORDS.sub(r"_\1", value).lower()


def valid_identifier(name):
    return bool(re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", name))


@tf_export("Module")
class Module(tracking.AutoTrackable):
    """The base of objects with variables. Subclasses call super().__init__(name).

    name: of the name scope; None for the class' name, as words joined by '_'. ValueError: it is no
    identifier.
    """

    # Attributes that are not looked into.
    _TF_MODULE_IGNORED_PROPERTIES = frozenset(
        {"_self_checkpoint_dependencies", "_self_setattr_tracking", "_self_name_based_restores"}
    )

    def __init__(self, name=None):
        name = camel_to_snake(type(self).__name__) if name is None else name
        if not valid_identifier(name):
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python identifiers."
            )
        self._name = name
        with ops.name_scope(name) as scope_name:
            self._scope_name = scope_name

    @property
    def name(self):
        """The name as it was given; the scope's may have a number at its end."""
        return self._name

    @property
    def name_scope(self):
        """The name scope, to be entered."""
        return ops.name_scope(self._scope_name)

    @property
    def variables(self):
        """The variables of this module and those below it, in the order of attributes' names."""
        return tuple(self._flatten(predicate=_is_variable))

    @property
    def trainable_variables(self):
        return tuple(self._flatten(predicate=lambda v: _is_variable(v) and getattr(v, "trainable", False)))

    @property
    def submodules(self):
        """The modules (and layers) below this one."""
        return tuple(self._flatten(predicate=_is_module))

    def _flatten(self, recursive=True, predicate=None, attribute_traversal_key=None, with_path=False):
        """The values in attributes, also those in lists and dictionaries, then those of modules among them.

        predicate: which to yield. attribute_traversal_key: of the sorting of attributes. with_path: yields
        (path, value), a value as often as it is found.
        """
        return _walk(
            self, (), recursive, predicate or (lambda _: True), attribute_traversal_key, with_path, {id(self)}
        )

    @classmethod
    def with_name_scope(cls, method):
        """Decorates a method: its ops are in the module's name scope."""

        @functools.wraps(method)
        def in_scope(self, *args, **kwargs):
            with self.name_scope:
                return method(self, *args, **kwargs)

        return in_scope


def _is_variable(value):
    return isinstance(value, variables.Variable)


def _is_layer(value):
    return hasattr(value, "trainable_weights") and hasattr(value, "submodules")


def _is_module(value):
    return isinstance(value, Module)


def _leaves(path, value):
    """(path, value) of what is in lists, tuples and dictionaries."""
    if isinstance(value, dict):
        for key in sorted(value):
            yield from _leaves(path + (key,), value[key])
    elif isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            yield from _leaves(path + (i,), part)
    else:
        yield path, value


def _attributes(module, key):
    if _is_layer(module):  # it knows itself what it has
        return [("weights", list(module.weights)), ("submodules", list(module.submodules))]
    names = sorted(vars(module), key=key)
    return [(n, vars(module)[n]) for n in names if n not in module._TF_MODULE_IGNORED_PROPERTIES]


def _walk(module, path, recursive, predicate, key, with_path, seen):
    inner = []
    for name, value in _attributes(module, key):
        for where, leaf in _leaves(path + (name,), value):
            if not with_path:
                if id(leaf) in seen:
                    continue
                seen.add(id(leaf))
            if predicate(leaf):
                yield (where, leaf) if with_path else leaf
            if recursive and _is_module(leaf):
                inner.append((where, leaf))
    for where, leaf in inner:
        yield from _walk(leaf, where, recursive, predicate, key, with_path, seen)
