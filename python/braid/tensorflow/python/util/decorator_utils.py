"""Helpers for those who write decorators."""

import inspect


def get_qualified_name(function):
    """The name of a function with those of the classes around it."""
    return getattr(function, "__qualname__", None) or function.__name__


def add_notice_to_docstring(doc, instructions, no_doc_str, suffix_str, notice, notice_type="Warning"):
    """A docstring with `suffix_str` behind its first line, and `notice` (lines) and `instructions` below it."""
    first, _, rest = inspect.cleandoc(doc or no_doc_str).partition("\n")
    below = [notice_type + ": " + notice[0], *notice[1:]] if notice_type else list(notice)
    text = first + " " + suffix_str if doc else first
    text += "\n\n" + "\n".join(below + ([instructions] if instructions else []))
    rest = rest.rstrip().lstrip("\n")
    return text + ("\n\n" + rest if rest else "")


def validate_callable(func, decorator_name):
    """ValueError: the decorator is on something that cannot be called, such as a property."""
    if not hasattr(func, "__call__"):
        raise ValueError(
            "%s is not a function. If this is a property, make sure @property appears before @%s in your source "
            "code:\n\n@property\n@%s\ndef method(...)" % (func, decorator_name, decorator_name)
        )


class classproperty:
    """A property that is read from the class."""

    def __init__(self, func):
        self._func = func

    def __get__(self, owner_self, owner_cls):
        return self._func(owner_cls)


class cached_classproperty:
    """A property that is read from the class, and computed once for each class."""

    def __init__(self, func):
        self._func = func
        self._cache = {}

    def __get__(self, owner_self, owner_cls):
        if owner_cls not in self._cache:
            self._cache[owner_cls] = self._func(owner_cls)
        return self._cache[owner_cls]

    def __set__(self, obj, value):
        raise AttributeError("property %s is read-only" % self._func.__name__)

    def __delete__(self, obj):
        raise AttributeError("property %s is read-only" % self._func.__name__)
