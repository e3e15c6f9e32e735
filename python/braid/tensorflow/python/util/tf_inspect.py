"""Python's inspect for functions under decorators of tf_decorator: shows the function, or what they say."""

import collections
import functools
import inspect as _inspect

from braid.tensorflow.python.util import tf_decorator

ArgSpec = collections.namedtuple("ArgSpec", ["args", "varargs", "keywords", "defaults"])
FullArgSpec = _inspect.FullArgSpec
Parameter = _inspect.Parameter
Signature = _inspect.Signature


def signature(obj, *, follow_wrapped=True):
    return _inspect.signature(tf_decorator.unwrap(obj)[1], follow_wrapped=follow_wrapped)


def currentframe():
    """The frame of the caller."""
    return _inspect.stack()[1][0]


def _decorated_argspec(obj):
    """The FullArgSpec that the outermost decorator with one shows; None: none has."""
    specs = (d.decorator_argspec for d in tf_decorator.unwrap(obj)[0])
    return next((spec for spec in specs if spec is not None), None)


def getfullargspec(obj):
    """The FullArgSpec of a function, method, class, partial or object that can be called.

    TypeError: there is none.
    """
    shown = _decorated_argspec(obj)
    if shown is not None:
        return shown
    target = tf_decorator.unwrap(obj)[1]
    if isinstance(target, functools.partial):
        return _inspect.getfullargspec(target)
    if isinstance(target, type):
        is_made_by_new = target.__init__ is object.__init__ and target.__new__ is not object.__new__
        return _inspect.getfullargspec(target.__new__ if is_made_by_new else target.__init__)
    if not (_inspect.isroutine(target)) and hasattr(type(target), "__call__"):
        return _inspect.getfullargspec(type(target).__call__)
    return _inspect.getfullargspec(target)


def _partial_argspec(partial):
    """The ArgSpec of a functools.partial.

    ValueError: an argument that has to be given follows one that is bound.
    """
    spec = getargspec(partial.func)
    args = spec.args[len(partial.args) :]
    values = dict(zip(reversed(spec.args), reversed(spec.defaults or ())))
    values.update(partial.keywords or {})
    first = next((i for i, name in enumerate(args) if name in values), len(args))
    missing = [name for name in args[first:] if name not in values]
    if missing:
        raise ValueError(
            f"Some arguments {missing} do not have default value, but they are positioned after those with default "
            "values. This can not be expressed with ArgSpec."
        )
    defaults = tuple(values[name] for name in args[first:])
    return ArgSpec(args, spec.varargs, spec.keywords, defaults or None)


def getargspec(obj):
    """As getfullargspec, without arguments that are keywords only."""
    if isinstance(obj, functools.partial):
        return _partial_argspec(obj)
    spec = getfullargspec(obj)
    return ArgSpec(spec.args, spec.varargs, getattr(spec, "varkw", None), spec.defaults)


def getcallargs(*func_and_positional, **named):
    """The value of each parameter of func(*positional, **named)."""
    func, *positional = func_and_positional
    bound = _inspect.signature(func).bind(*positional, **named)
    bound.apply_defaults()
    arguments = dict(bound.arguments)
    if _inspect.ismethod(func):
        arguments = {getfullargspec(func).args[0]: func.__self__, **arguments}
    return arguments


def _of_target(function):
    @functools.wraps(function)
    def call(obj, *args, **kwargs):
        return function(tf_decorator.unwrap(obj)[1], *args, **kwargs)

    return call


def getmembers(object, predicate=None):
    return _inspect.getmembers(object, predicate)


def getmodule(object):
    return _inspect.getmodule(object)


def getdoc(object):
    return _inspect.getdoc(object)


def getframeinfo(*args, **kwargs):
    return _inspect.getframeinfo(*args, **kwargs)


def stack(context=1):
    return _inspect.stack(context)[1:]


def getmro(cls):
    return _inspect.getmro(cls)


def isframe(object):
    return _inspect.isframe(tf_decorator.unwrap(object)[1])


def ismodule(object):
    return _inspect.ismodule(tf_decorator.unwrap(object)[1])


getfile = _of_target(_inspect.getfile)
getsource = _of_target(_inspect.getsource)
getsourcefile = _of_target(_inspect.getsourcefile)
getsourcelines = _of_target(_inspect.getsourcelines)
isbuiltin = _of_target(_inspect.isbuiltin)
isclass = _of_target(_inspect.isclass)
isfunction = _of_target(_inspect.isfunction)
isgenerator = _of_target(_inspect.isgenerator)
isgeneratorfunction = _of_target(_inspect.isgeneratorfunction)
ismethod = _of_target(_inspect.ismethod)
isroutine = _of_target(_inspect.isroutine)


def isanytargetmethod(object):
    """Whether a function below the decorators, or one between them, is a bound method."""
    decorators, target = tf_decorator.unwrap(object)
    return any(_inspect.ismethod(f) for f in [d.decorated_target for d in decorators] + [target])
