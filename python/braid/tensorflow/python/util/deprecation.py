"""Functions and arguments that are going to go: the decorators warn when one is used, once for each.

Warnings go to tf.logging: "From FILE:LINE: NAME (from MODULE) is deprecated ...".
"""

import collections
import contextlib
import functools
import inspect
import re

from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.util import decorator_utils
from braid.tensorflow.python.util import tf_decorator
from braid.tensorflow.python.util import tf_inspect

_PRINT_DEPRECATION_WARNINGS = True
_PRINTED_WARNING = {}


class DeprecatedNamesAlreadySet(Exception):
    """The names under which a symbol is deprecated were given before."""


def _validate_deprecation_args(date, instructions):
    if date is not None and not re.match(r"20\d\d-[01]\d-[0123]\d", date):
        raise ValueError("Date must be YYYY-MM-DD.")
    if not instructions:
        raise ValueError("Don't deprecate things without conversion instructions!")


def _call_location(outer=False):
    """FILE:LINE where the function that calls this one was called, or one frame further out."""
    frame = inspect.currentframe().f_back.f_back
    if outer and frame and frame.f_back:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else "UNKNOWN"


def _when(date):
    return "in a future version" if date is None else "after %s" % date


def _should_warn(key, warn_once):
    if not _PRINT_DEPRECATION_WARNINGS or (warn_once and key in _PRINTED_WARNING):
        return False
    _PRINTED_WARNING[key] = True
    return True


def _marked(doc, date, instructions, what="", which=None):
    """A docstring that says that a function, or `which` of its `what`, is deprecated."""
    if which is None:
        notice = f"THIS FUNCTION IS DEPRECATED. It will be removed {_when(date)}."
    else:
        notice = f"SOME {what} ARE DEPRECATED: `({which})`. They will be removed {_when(date)}."
    return decorator_utils.add_notice_to_docstring(
        doc,
        "Instructions for updating:\n" + instructions,
        f"DEPRECATED FUNCTION {what}".rstrip(),
        f"(deprecated {what.lower()}".rstrip() + ")",
        [notice],
    )


def deprecated(date, instructions, warn_once=True):
    """A function, class or property getter that is going to be removed.

    date: when, as "YYYY-MM-DD", or None. instructions: what to use in its place.
    """
    _validate_deprecation_args(date, instructions)

    def wrap(func_or_class):
        if isinstance(func_or_class, type):
            func = func_or_class.__init__
            name = func_or_class.__name__
        else:
            func = func_or_class
            decorator_utils.validate_callable(func, "deprecated")
            name = decorator_utils.get_qualified_name(func)

        @functools.wraps(func)
        def new_func(*args, **kwargs):
            if _should_warn(func, warn_once):
                logging.warning(
                    "From %s: %s (from %s) is deprecated and will be removed %s.\n"
                    "Instructions for updating:\n%s",
                    _call_location(),
                    name,
                    func_or_class.__module__,
                    _when(date),
                    instructions,
                )
            return func(*args, **kwargs)

        if isinstance(func_or_class, type):
            func_or_class.__init__ = new_func
            return func_or_class
        return tf_decorator.make_decorator(
            func, new_func, "deprecated", _marked(func.__doc__, date, instructions)
        )

    return wrap


DeprecatedArgSpec = collections.namedtuple("DeprecatedArgSpec", ["position", "has_ok_value", "ok_value"])


def deprecated_args(date, instructions, *deprecated_arg_names_or_tuples, **kwargs):
    """A function some of whose arguments are going to be removed.

    deprecated_arg_names_or_tuples: names, or (name, a value that is no use of the argument).
    kwargs: warn_once=True.
    """
    _validate_deprecation_args(date, instructions)
    if not deprecated_arg_names_or_tuples:
        raise ValueError("Specify which argument is deprecated.")
    warn_once = kwargs.pop("warn_once", True)
    if kwargs:
        raise ValueError(f"Illegal argument to deprecated_args: {list(kwargs)}")

    def wrap(func):
        decorator_utils.validate_callable(func, "deprecated_args")
        shown = inspect.getfullargspec(tf_decorator.unwrap(func)[1])
        names = shown.args + shown.kwonlyargs
        specs = {}
        for given in deprecated_arg_names_or_tuples:
            name, *ok = given if isinstance(given, tuple) else (given,)
            if name in names:
                position = shown.args.index(name) if name in shown.args else None
                specs[name] = DeprecatedArgSpec(position, bool(ok), ok[0] if ok else None)
            elif name in (shown.varargs, shown.varkw):
                specs[name] = DeprecatedArgSpec(None, False, None)
            else:
                raise ValueError(
                    "The following deprecated arguments are not present in the function signature: "
                    f"{[name]}. Found next arguments: {names}."
                )

        def is_used(name, spec, args, kwargs):
            if name == shown.varargs:
                return len(args) > len(shown.args)
            if name == shown.varkw:
                return any(key not in names for key in kwargs)
            if name in kwargs:
                value = kwargs[name]
            elif spec.position is not None and spec.position < len(args):
                value = args[spec.position]
            else:
                return False
            return not (spec.has_ok_value and _safe_eq(value, spec.ok_value))

        @functools.wraps(func)
        def new_func(*args, **kwargs):
            for name, spec in specs.items():
                if is_used(name, spec, args, kwargs) and _should_warn((func, name), warn_once):
                    logging.warning(
                        "From %s: calling %s (from %s) with %s is deprecated and will be removed %s.\n"
                        "Instructions for updating:\n%s",
                        _call_location(),
                        decorator_utils.get_qualified_name(func),
                        func.__module__,
                        name,
                        _when(date),
                        instructions,
                    )
            return func(*args, **kwargs)

        return tf_decorator.make_decorator(
            func,
            new_func,
            "deprecated_args",
            _marked(func.__doc__, date, instructions, "ARGUMENTS", ", ".join(sorted(specs))),
        )

    return wrap


def deprecated_arg_values(date, instructions, warn_once=True, **deprecated_kwargs):
    """A function that is going to refuse some values of its arguments: deprecated_kwargs gives them."""
    _validate_deprecation_args(date, instructions)
    if not deprecated_kwargs:
        raise ValueError("Specify which argument values are deprecated.")

    def wrap(func):
        decorator_utils.validate_callable(func, "deprecated_arg_values")
        signature = inspect.signature(func)

        @functools.wraps(func)
        def new_func(*args, **kwargs):
            try:
                bound = signature.bind(*args, **kwargs)
                bound.apply_defaults()
                given = bound.arguments
            except TypeError:  # the call below says what is wrong
                given = {}
            for name, value in deprecated_kwargs.items():
                if name in given and _safe_eq(given[name], value) and _should_warn((func, name), warn_once):
                    logging.warning(
                        "From %s: calling %s (from %s) with %s=%s is deprecated and will be removed %s.\n"
                        "Instructions for updating:\n%s",
                        _call_location(),
                        decorator_utils.get_qualified_name(func),
                        func.__module__,
                        name,
                        value,
                        _when(date),
                        instructions,
                    )
            return func(*args, **kwargs)

        return tf_decorator.make_decorator(
            func,
            new_func,
            "deprecated_arg_values",
            _marked(
                func.__doc__,
                date,
                instructions,
                "ARGUMENT VALUES",
                ", ".join(f"{name}={value!r}" for name, value in sorted(deprecated_kwargs.items())),
            ),
        )

    return wrap


def _safe_eq(a, b):
    """a == b for any values: arrays are equal only to None if they are None."""
    if a is None or b is None:
        return a is None and b is None
    return bool(a == b) if not hasattr(a, "shape") and not hasattr(b, "shape") else a is b


def deprecated_argument_lookup(new_name, new_value, old_name, old_value):
    """The value of an argument that has a new name. ValueError: both were given."""
    if old_value is not None:
        if new_value is not None:
            raise ValueError("Cannot specify both '%s' and '%s'" % (old_name, new_name))
        return old_value
    return new_value


def rewrite_argument_docstring(old_doc, old_argument, new_argument):
    """A docstring with another name for an argument."""
    return old_doc.replace("`%s`" % old_argument, "`%s`" % new_argument).replace(
        "%s:" % old_argument, "%s:" % new_argument
    )


def deprecated_alias(deprecated_name, name, func_or_class, warn_once=True):
    """A function or class under an old name, which warns that it is one."""

    def warn(location):
        if _should_warn((func_or_class, deprecated_name), warn_once):
            logging.warning(
                "From %s: The name %s is deprecated. Please use %s instead.\n",
                location,
                deprecated_name,
                name,
            )

    if isinstance(func_or_class, type):

        def __init__(self, *args, **kwargs):
            warn(_call_location())
            func_or_class.__init__(self, *args, **kwargs)

        shown = tf_inspect.getfullargspec(func_or_class.__init__)

        class Alias(func_or_class):
            __doc__ = func_or_class.__doc__
            __module__ = func_or_class.__module__

        Alias.__init__ = tf_decorator.make_decorator(
            func_or_class.__init__, __init__, "deprecated", decorator_argspec=shown
        )
        Alias.__name__ = Alias.__qualname__ = func_or_class.__name__
        return Alias

    @functools.wraps(func_or_class)
    def new_func(*args, **kwargs):
        warn(_call_location())
        return func_or_class(*args, **kwargs)

    return tf_decorator.make_decorator(func_or_class, new_func, "deprecated")


def deprecated_endpoints(*args):
    """Says which public names of a symbol are deprecated; it does not warn."""

    def wrap(symbol):
        if "_tf_deprecated_api_names" in getattr(symbol, "__dict__", {}):
            raise DeprecatedNamesAlreadySet(
                f"Cannot set deprecated names for {symbol} to {args}: they are already set"
            )
        symbol._tf_deprecated_api_names = args
        return symbol

    return wrap


def deprecate_moved_module(deprecated_name, new_module, deletion_version):
    """A __getattr__ for a module that has moved: finds the names in `new_module`, and warns."""

    def getter(name):
        if not name.startswith("__") and _should_warn((deprecated_name, "module"), True):
            logging.warning(
                "Please fix your imports. Module %s has been moved to %s. The old module will be deleted in version %s.",
                deprecated_name,
                new_module.__name__,
                deletion_version,
            )
        return getattr(new_module, name)

    return getter


@contextlib.contextmanager
def silence():
    """Within it nothing warns."""
    global _PRINT_DEPRECATION_WARNINGS
    before, _PRINT_DEPRECATION_WARNINGS = _PRINT_DEPRECATION_WARNINGS, False
    try:
        yield
    finally:
        _PRINT_DEPRECATION_WARNINGS = before
