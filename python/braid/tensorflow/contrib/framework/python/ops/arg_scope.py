"""arg_scope: default arguments of functions that are decorated with add_arg_scope, for the calls in a context."""

import contextlib
import functools

from braid.tensorflow.python.util import tf_inspect

__all__ = [
    "arg_scope",
    "add_arg_scope",
    "current_arg_scope",
    "has_arg_scope",
    "arg_scoped_arguments",
    "arg_scope_func_key",
]

_stack = [{}]  # the scopes: {key of a function: {argument: value}}
_arguments = {}  # {key of a decorated function: its arguments that may be given by a scope}


def current_arg_scope():
    return _stack[-1]


def arg_scope_func_key(op):
    return getattr(op, "_key_op", str(op))


def _name_op(op):
    return op.__module__, op.__name__


@contextlib.contextmanager
def arg_scope(list_ops_or_scope, **kwargs):
    """A context in which `kwargs` are defaults of the functions of a list; or a scope to come back to.

    Yields the scope. ValueError: a function is not decorated, or a scope was given with arguments.
    """
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError(
                f"When attempting to re-use a scope by suppling a dictionary, kwargs must be empty: {kwargs}"
            )
        scope = list_ops_or_scope.copy()
    else:
        if not isinstance(list_ops_or_scope, (list, tuple)):
            raise TypeError("list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict)")
        scope = current_arg_scope().copy()
        for op in list_ops_or_scope:
            key = arg_scope_func_key(op)
            if not has_arg_scope(op):
                raise ValueError(f"{_name_op(op)} is not decorated with @add_arg_scope")
            scope[key] = {**scope.get(key, {}), **kwargs}
    _stack.append(scope)
    try:
        yield scope
    finally:
        _stack.pop()


def add_arg_scope(func):
    """Lets arg_scope give arguments of the function."""

    @functools.wraps(func)
    def func_with_args(*args, **kwargs):
        defaults = current_arg_scope().get(key)
        if defaults:
            kwargs = {**defaults, **kwargs}
        return func(*args, **kwargs)

    key = arg_scope_func_key(func)
    specification = tf_inspect.getfullargspec(func)
    defaults = specification.defaults or ()
    _arguments[key] = tuple(specification.args[len(specification.args) - len(defaults) :]) + tuple(
        specification.kwonlyargs
    )
    func_with_args._key_op = key
    return func_with_args


def has_arg_scope(func):
    """Whether the function is decorated with add_arg_scope."""
    return arg_scope_func_key(func) in _arguments


def arg_scoped_arguments(func):
    """The names of the arguments that arg_scope may give."""
    assert has_arg_scope(func)
    return _arguments[arg_scope_func_key(func)]
