"""Functions whose result is to be used: an error is logged when a program drops it.

The result is an object of a subclass that stands for the true one. It counts as used once an attribute of it
is read or set, which anything does that puts it into a graph or runs it.
"""

import sys
import traceback

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.platform import tf_logging
from braid.tensorflow.python.util import tf_decorator

_STACK = 5  # frames that a message shows


class _Watch:
    """Logs, when it is deleted, that an object was not used."""

    def __init__(self, value, frame, fatal_error):
        self.used = ops.get_default_graph()._building_function
        self.fatal_error = fatal_error
        if not self.used:
            self.what = f"Object was never used (type {type(value)}):\n{value!r}"
            self.stack = traceback.StackSummary.extract(
                traceback.walk_stack(frame), limit=_STACK, lookup_lines=False
            )

    def __del__(self, _is_finalizing=sys.is_finalizing):  # modules are empty at the end of the process
        if self.used or _is_finalizing():
            return
        log = tf_logging.fatal if self.fatal_error else tf_logging.error
        rule = "=" * 34
        created = "".join(reversed(self.stack.format()))
        log(
            f'{rule}\n{self.what}\nIf you want to mark it as used call its "mark_used()" method.\n'
            f"It was originally created here:\n{created}{rule}"
        )


_OWN = ("_watch", "_true_value")


def _get(self, name):
    if name in _OWN:
        return object.__getattribute__(self, name)
    self._watch.used = True
    return getattr(self._true_value, name, *((_nothing,) if name == "mark_used" else ()))


def _nothing():
    """The mark_used of an object that has none of its own."""


def _set(self, name, value):
    if name in _OWN:
        object.__setattr__(self, name, value)
        return
    self._watch.used = True
    setattr(self._true_value, name, value)


def _equals(self, other):
    self._watch.used = True
    return self._true_value == (other._true_value if isinstance(other, _Stand) else other)


def _hash(self):
    self._watch.used = True
    return hash(self._true_value)


class _Stand:
    """A base of the objects that stand for others."""

    __slots__ = ()


_classes = {}  # {class: the subclass of what stands for its objects}


def _class_for(kind):
    made = _classes.get(kind)
    if made is None:
        members = {
            "__getattribute__": _get,
            "__setattr__": _set,
            "__eq__": _equals,
            "__hash__": _hash,
            "__module__": kind.__module__,
        }
        made = _classes[kind] = type(kind.__name__, (kind, _Stand), members)
    return made


def _add_should_use_warning(x, fatal_error=False):
    """An object that stands for x, and that logs when it is deleted unused."""
    return _watched(x, sys._getframe(1), fatal_error)


def _watched(x, frame, fatal_error):
    if x is None or isinstance(x, (list, _Stand)):
        return x
    made = object.__new__(_class_for(type(x)))
    made._true_value, made._watch = x, _Watch(x, frame, fatal_error)
    return made


def _decorate(fn, name, fatal_error):
    def wrapped(*args, **kwargs):
        return _watched(fn(*args, **kwargs), sys._getframe(1), fatal_error)

    return tf_decorator.make_decorator(fn, wrapped, name)


def should_use_result(fn=None, warn_in_eager=False, error_in_function=False):
    """A function whose result does nothing unless a step runs it: an error is logged when it is not used."""
    if fn is None:
        return should_use_result
    return _decorate(fn, "should_use_result", False)


def must_use_result_or_fatal(fn):
    """As should_use_result; the message is a fatal one."""
    return _decorate(fn, "must_use_result_or_fatal", True)
