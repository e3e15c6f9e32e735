"""Decorators that can be taken off again, and that show the signature of what they decorate."""

import inspect

_SIGNATURE_ERRORS = (TypeError, ValueError)


class TFDecorator:
    """What is known of a decorator on a function. It may also stand for the function: calls go to the target.

    decorator_argspec: the inspect.FullArgSpec that the decorated function shows in place of its target's.
    """

    def __init__(self, decorator_name, target, decorator_doc="", decorator_argspec=None):
        self._decorated_target = target
        self._decorator_name = decorator_name
        self._decorator_doc = decorator_doc
        self._decorator_argspec = decorator_argspec
        if hasattr(target, "__name__"):
            self.__name__ = target.__name__
        if hasattr(target, "__qualname__"):
            self.__qualname__ = target.__qualname__
        self.__doc__ = decorator_doc or getattr(target, "__doc__", None) or ""
        if decorator_argspec is not None:
            self.__signature__ = fullargspec_to_signature(decorator_argspec)

    def __get__(self, instance, owner):
        return self._decorated_target.__get__(instance, owner)

    def __call__(self, *args, **kwargs):
        return self._decorated_target(*args, **kwargs)

    @property
    def decorated_target(self):
        return self._decorated_target

    @decorated_target.setter
    def decorated_target(self, decorated_target):
        self._decorated_target = decorated_target

    @property
    def decorator_name(self):
        return self._decorator_name

    @property
    def decorator_doc(self):
        return self._decorator_doc

    @property
    def decorator_argspec(self):
        return self._decorator_argspec


def fullargspec_to_signature(fullargspec):
    """The inspect.Signature of an inspect.FullArgSpec, or of a tf_inspect.ArgSpec."""
    if not hasattr(fullargspec, "kwonlyargs"):
        fullargspec = inspect.FullArgSpec(*fullargspec, [], None, {})
    defaults = dict(zip(reversed(fullargspec.args), reversed(fullargspec.defaults or ())))
    defaults.update(fullargspec.kwonlydefaults or {})
    kinds = inspect.Parameter
    named = [(name, kinds.POSITIONAL_OR_KEYWORD) for name in fullargspec.args]
    if fullargspec.varargs:
        named.append((fullargspec.varargs, kinds.VAR_POSITIONAL))
    named += [(name, kinds.KEYWORD_ONLY) for name in fullargspec.kwonlyargs]
    if fullargspec.varkw:
        named.append((fullargspec.varkw, kinds.VAR_KEYWORD))
    return inspect.Signature([kinds(n, k, default=defaults.get(n, kinds.empty)) for n, k in named])


def make_decorator(target, decorator_func, decorator_name=None, decorator_doc="", decorator_argspec=None):
    """Makes `decorator_func`, which wraps `target`, look like it, and notes that it is a decorator.

    decorator_name: by default the name of the function that calls this one. Returns decorator_func.
    """
    if decorator_name is None:
        decorator_name = inspect.currentframe().f_back.f_code.co_name
    decorator = TFDecorator(decorator_name, target, decorator_doc, decorator_argspec)
    decorator_func._tf_decorator = decorator
    for name in ("__name__", "__qualname__", "__module__"):
        if hasattr(target, name):
            setattr(decorator_func, name, getattr(target, name))
    for name, value in getattr(target, "__dict__", {}).items():
        if name not in decorator_func.__dict__:
            decorator_func.__dict__[name] = value
    decorator_func.__doc__ = decorator.__doc__
    decorator_func.__wrapped__ = target
    decorator_func.__original_wrapped__ = target  # __wrapped__ may be set by other decorators
    if decorator_argspec is not None:
        decorator_func.__signature__ = decorator.__signature__
    return decorator_func


def _own_decorator(obj):
    """The TFDecorator of an object; None if it has none, or has only inherited the attribute of its target."""
    if isinstance(obj, TFDecorator):
        return obj
    decorator = getattr(obj, "__dict__", {}).get("_tf_decorator")
    if decorator is None and inspect.ismethod(obj):
        decorator = getattr(obj.__func__, "__dict__", {}).get("_tf_decorator")
    return decorator


def unwrap(maybe_tf_decorator):
    """The TFDecorators on a function, the outermost first, and the function below them all."""
    decorators = []
    current = maybe_tf_decorator
    while True:
        decorator = _own_decorator(current)
        if decorator is None or decorator in decorators:
            return decorators, current
        decorators.append(decorator)
        current = decorator.decorated_target


def rewrap(decorator_func, previous_target, new_target):
    """Puts `new_target` below the decorators of `decorator_func`, in place of `previous_target`."""
    innermost, current = None, decorator_func
    while current is not previous_target:
        decorator = _own_decorator(current)
        if decorator is None:
            break
        innermost, holder, current = decorator, current, decorator.decorated_target
    if innermost is None:
        return new_target
    innermost.decorated_target = new_target
    if holder is not innermost:
        function = getattr(holder, "__func__", holder)
        function.__wrapped__ = new_target
    return decorator_func
