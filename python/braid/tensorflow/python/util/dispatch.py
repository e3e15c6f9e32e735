"""Functions that other functions take the place of for some types: of ragged tensors, and the program's own."""

from braid.tensorflow.python.util import tf_decorator
from braid.tensorflow.python.util import tf_inspect

RAGGED_TYPES = set()  # those of ops/ragged/ragged_tensor.py, once a program uses it

DISPATCH_ATTR = "_tf_dispatchers"  # of a function: the OpDispatchers that are asked where it fails


class OpDispatcher:
    """Handles calls of a function that does not take the types of their arguments."""

    NOT_SUPPORTED = object()  # what `handle` returns for a call that it does not know

    def handle(self, args, kwargs):
        """The result of a call, or NOT_SUPPORTED."""
        return self.NOT_SUPPORTED

    def register(self, op):
        """Has calls of the function `op` that raise a TypeError or ValueError come to `handle`."""
        if not hasattr(op, DISPATCH_ATTR):
            raise AssertionError(f"Dispatching not enabled for {op}")
        getattr(op, DISPATCH_ATTR).append(self)


def dispatch(op, *args, **kwargs):
    """The result of the first dispatcher of the function `op` that handles a call, or NOT_SUPPORTED."""
    for dispatcher in getattr(op, DISPATCH_ATTR):
        result = dispatcher.handle(args, kwargs)
        if result is not OpDispatcher.NOT_SUPPORTED:
            return result
    return OpDispatcher.NOT_SUPPORTED


class _TypeBasedDispatcher(OpDispatcher):
    """Calls a function where an argument, or an element of a list, has one of some types."""

    def __init__(self, override_func, types):
        self._override_func, self._types = override_func, types

    def _handles(self, value):
        values = value if isinstance(value, (list, tuple)) else ()
        return any(isinstance(v, self._types) for v in (value, *values))

    def handle(self, args, kwargs):
        if any(map(self._handles, (*args, *kwargs.values()))):
            return self._override_func(*args, **kwargs)
        return self.NOT_SUPPORTED


def dispatch_for_types(op, *types):
    """A decorator of a function that takes the place of `op`, whose signature it has, for arguments of `types`."""

    def decorator(func):
        if tf_inspect.getfullargspec(func) != tf_inspect.getfullargspec(op):
            raise AssertionError(
                "The decorated function's signature must exactly match the signature of the overridden op."
            )
        _TypeBasedDispatcher(func, types).register(op)
        return func

    return decorator


def add_dispatch_list(target):
    """Lets dispatchers be registered for a function."""
    if hasattr(target, DISPATCH_ATTR):
        raise AssertionError(f"{target} already has a dispatch list")
    setattr(target, DISPATCH_ATTR, [])
    return target


def add_dispatch_support(target):
    """A decorator: asks the function's dispatchers where it raises a TypeError or a ValueError."""

    def wrapper(*args, **kwargs):
        try:
            return target(*args, **kwargs)
        except (TypeError, ValueError):
            result = dispatch(wrapper, *args, **kwargs)
            if result is OpDispatcher.NOT_SUPPORTED:
                raise
            return result

    return tf_decorator.make_decorator(target, add_dispatch_list(wrapper))


def _is_ragged(value):
    if isinstance(value, (list, tuple)):
        return any(type(v) in RAGGED_TYPES for v in value)
    return type(value) in RAGGED_TYPES


def _any_ragged(args, kwargs):
    return any(map(_is_ragged, args)) or any(map(_is_ragged, kwargs.values()))


def elementwise(function):
    """A function that makes each element from those at its place; of ragged tensors, from their values."""

    def wrapper(*args, **kwargs):
        if RAGGED_TYPES and _any_ragged(args, kwargs):
            from braid.tensorflow.python.ops.ragged import ragged_dispatch

            return ragged_dispatch.elementwise(function, args, kwargs)
        return function(*args, **kwargs)

    return tf_decorator.make_decorator(function, wrapper)


def or_ragged(function):
    """A function that is another one of ragged tensors: that of its name in ops/ragged/ragged_dispatch.py."""

    def wrapper(*args, **kwargs):
        if RAGGED_TYPES and _any_ragged(args, kwargs):
            from braid.tensorflow.python.ops.ragged import ragged_dispatch

            return ragged_dispatch.apply(function, args, kwargs)
        return function(*args, **kwargs)

    return tf_decorator.make_decorator(function, wrapper)
