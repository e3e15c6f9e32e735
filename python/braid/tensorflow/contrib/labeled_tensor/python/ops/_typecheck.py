"""Types of arguments that are checked when a function is called."""

import collections.abc
import functools
import inspect
import re

_ABBREVIATIONS = {}  # the repr of a class: what errors say


class Error(TypeError):
    """An argument has the wrong type."""


class Type:
    """A type made of others, for isinstance: Union(int, List(str)). A part is a class or a Type."""

    def __init__(self, *types):
        self._types = types

    def __repr__(self):
        return f"typecheck.{type(self).__name__}({', '.join(map(repr, self._types))})"


class _OfOne(Type):
    def __init__(self, of):
        super().__init__(of)

    def _all(self, elements):
        return all(isinstance(element, self._types[0]) for element in elements)


class Union(Type):
    """One of the types."""

    def __instancecheck__(self, instance):
        return isinstance(instance, self._types)


class Optional(_OfOne):
    """The type, or None."""

    def __instancecheck__(self, instance):
        return instance is None or isinstance(instance, self._types[0])


class List(_OfOne):
    """A list with elements of the type."""

    def __instancecheck__(self, instance):
        return isinstance(instance, list) and self._all(instance)


class Sequence(_OfOne):
    """A sequence with elements of the type."""

    def __instancecheck__(self, instance):
        return isinstance(instance, collections.abc.Sequence) and self._all(instance)


class Collection(_OfOne):
    """What has a length and can be walked through again, with elements of the type."""

    def __instancecheck__(self, instance):
        return isinstance(instance, collections.abc.Collection) and self._all(instance)


class Tuple(Type):
    """A tuple with one element of each type."""

    def __instancecheck__(self, instance):
        if not isinstance(instance, tuple) or len(instance) != len(self._types):
            return False
        return all(isinstance(element, of) for element, of in zip(instance, self._types))


class Mapping(Type):
    """A mapping from one type to another."""

    def __init__(self, keys, values):
        super().__init__(keys, values)

    def __instancecheck__(self, instance):
        keys, values = self._types
        return isinstance(instance, collections.abc.Mapping) and all(
            isinstance(key, keys) and isinstance(value, values) for key, value in instance.items()
        )


class Dict(Mapping):
    """A dict from one type to another."""

    def __instancecheck__(self, instance):
        return isinstance(instance, dict) and super().__instancecheck__(instance)


def register_type_abbreviation(name, alias):
    """What errors say in place of the class `name`."""
    _ABBREVIATIONS[repr(name)] = alias


def _type_repr(of):
    text = repr(of)
    for full, alias in _ABBREVIATIONS.items():
        text = text.replace(full, alias)
    text = re.sub(r"<class '([\w.]+)'>", r"\1", text)
    return re.sub(r"typecheck\.(\w+)", r"\1", text)


def accepts(*types):
    """A decorator: positional arguments have these types, one for each parameter.

    Raises:
      Error: when the function is called with another type, or at once when a parameter has no type or its
        default has another one.
    """

    def decorate(function):
        parameters = list(inspect.signature(function).parameters.values())
        if len(parameters) != len(types):
            raise Error(
                "Function %r has %d arguments but only %d types were provided in the annotation."
                % (function, len(parameters), len(types))
            )
        for parameter, of in zip(parameters, types):
            default = parameter.default
            if default is not parameter.empty and not isinstance(default, of):
                raise Error(
                    "default argument value %r of type %r is not an instance of the allowed type %s for the %s "
                    "argument to %r" % (default, type(default), _type_repr(of), parameter.name, function)
                )

        @functools.wraps(function)
        def checked(*args, **kwargs):
            for value, of in zip(args, types):
                if not isinstance(value, of):
                    raise Error(
                        "%r of type %r is not an instance of the allowed type %s for %r"
                        % (value, type(value), _type_repr(of), function)
                    )
            return function(*args, **kwargs)

        return checked

    return decorate
