"""What arguments functions take."""

import functools

from braid.tensorflow.python.util import tf_decorator
from braid.tensorflow.python.util import tf_inspect


def _is_bound_method(fn):
    fn = tf_decorator.unwrap(fn)[1]
    return tf_inspect.ismethod(fn) and fn.__self__ is not None


_is_bounded_method = _is_bound_method


def _is_callable_object(obj):
    return hasattr(obj, "__call__") and tf_inspect.ismethod(obj.__call__)


def fn_args(fn):
    """The names of the arguments that a call gives by position or name, as a tuple.

    Not `self`, nor bound ones.
    """
    if isinstance(fn, functools.partial):
        args = fn_args(fn.func)
        return tuple(a for a in args[len(fn.args) :] if a not in set(fn.keywords or ()))
    if isinstance(fn, type):
        return tuple(tf_inspect.getfullargspec(fn).args)
    if _is_callable_object(fn):
        fn = fn.__call__
    args = tf_inspect.getfullargspec(fn).args
    return tuple(args[1:] if args and _is_bound_method(fn) else args)


def has_kwargs(fn):
    """Whether a call may give any keyword arguments. TypeError: it cannot be called."""
    if isinstance(fn, functools.partial):
        return has_kwargs(fn.func)
    if _is_callable_object(fn):
        fn = fn.__call__
    elif not callable(fn):
        raise TypeError(f"fn should be a function-like object, but is of type {type(fn)}.")
    return tf_inspect.getfullargspec(fn).varkw is not None


def get_func_name(func):
    """The name of a function or, with its class, of a method; the class of another object."""
    _, func = tf_decorator.unwrap(func)
    if not callable(func):
        raise ValueError("Argument must be callable")
    if tf_inspect.isfunction(func):
        return func.__name__
    if tf_inspect.ismethod(func):
        return "%s.%s" % (type(func.__self__).__name__, func.__func__.__name__)
    return str(type(func))


def get_func_code(func):
    """The code of a function, or of an object's __call__; None: it has none."""
    _, func = tf_decorator.unwrap(func)
    if not callable(func):
        raise ValueError("Argument must be callable")
    return getattr(func, "__code__", None) or getattr(getattr(func, "__call__"), "__code__", None)
