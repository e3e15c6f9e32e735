"""AutoGraph: functions whose `if`, `while` and `for` of tensors build conditionals and loops of the graph."""

import ast
import functools
import inspect
import types

from braid.tensorflow.python.autograph.core import ag_ctx
from braid.tensorflow.python.autograph.core import converter
from braid.tensorflow.python.autograph.core.converter import Feature
from braid.tensorflow.python.autograph.impl import conversion
from braid.tensorflow.python.autograph.lang import directives
from braid.tensorflow.python.autograph.operators import control_flow
from braid.tensorflow.python.autograph.operators import data_structures
from braid.tensorflow.python.autograph.operators import exceptions
from braid.tensorflow.python.autograph.operators import logical
from braid.tensorflow.python.autograph.operators import py_builtins
from braid.tensorflow.python.autograph.operators import special_values
from braid.tensorflow.python.autograph.utils import ag_logging
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util import tf_decorator
from braid.tensorflow.python.util.tf_export import tf_export

_COMPILED = "__ag_compiled"  # attribute of functions that are called as they are
_failed = set()  # (file, code) of functions that could not be converted


class AutoGraphError(Exception):
    """An error of AutoGraph."""


class ConversionError(AutoGraphError):
    """A function cannot be converted."""


class StagingError(AutoGraphError):
    """Converted code cannot build its graph."""


# ---- what is `ag__` in converted code ----


class _Operators:
    """The operators that converted code calls. `options`: those of the functions that it calls."""

    def __init__(self, options):
        self._options = options

    def converted(self, f):
        return _converted(f, self._options)

    @staticmethod
    def autograph_artifact(function):
        setattr(function, _COMPILED, True)
        return function

    UndefinedReturnValue = special_values.UndefinedReturnValue


for _module, _names in (
    (control_flow, "if_stmt if_exp while_stmt for_stmt"),
    (data_structures, "new_list list_append list_pop list_stack get_item set_item"),
    (directives, "loop_options"),
    (exceptions, "assert_stmt"),
    (logical, "and_ or_ not_ eq not_eq"),
    (special_values, "is_defined ld retval"),
):
    for _name in _names.split():
        setattr(_Operators, _name, staticmethod(getattr(_module, _name)))


# ---- calls ----


def converted_call(f, options, args, kwargs, caller_fn_scope=None):
    """Calls `f`, converted if it is a function of a program (conversion.is_whitelisted_for_graph says
    which are not).

    What cannot be converted is called as it is, with a warning.
    """
    del caller_fn_scope
    return _converted(f, options)(*args, **(kwargs or {}))


def _converted(f, options):
    """What is called in place of `f`: its converted form, or `f` itself if it is called as it is."""
    f = py_builtins.overload_of(f) if inspect.isbuiltin(f) or inspect.isclass(f) else f
    if (
        inspect.isclass(f)
        or inspect.isbuiltin(f)
        or hasattr(f, _COMPILED)
        or not options.internal_convert_user_code
    ):
        return f
    if not options.user_requested and conversion.is_whitelisted_for_graph(f):
        return f
    target, partials = f, []
    while isinstance(target, functools.partial):
        partials.append(target)
        target = target.func
    if not inspect.isroutine(target):
        target = getattr(target, "__call__", target)
    function = target.__func__ if inspect.ismethod(target) else target
    if not inspect.isfunction(function) or hasattr(function, _COMPILED):
        return f
    code = function.__code__
    if code.co_filename == "<string>" or (code.co_filename, code) in _failed:
        return f
    try:
        converted = _convert(function, options)
    except Exception as e:
        ag_logging.warn("Entity %s could not be transformed and will be executed as-is. Cause: %s", f, e)
        _failed.add((code.co_filename, code))
        return f
    if function is not target:
        converted = types.MethodType(converted, target.__self__)
    for each in reversed(partials):
        converted = functools.partial(converted, *each.args, **each.keywords)
    return converted


def _convert(function, options):
    converted = conversion.convert(function, options, _Operators(options.call_options()))
    if options.user_requested or options.uses(Feature.NAME_SCOPES) or options.uses(Feature.AUTO_CONTROL_DEPS):
        converted = _in_scope(converted, function.__name__, options)
    return converted


def _in_scope(converted, name, options):
    """A function that calls `converted` where AutoGraph is on, and in the scopes of its optional features."""

    @functools.wraps(converted)
    def call(*args, **kwargs):
        with ag_ctx.ControlStatusCtx(ag_ctx.Status.ENABLED, options):
            if not options.uses(Feature.NAME_SCOPES):
                return run(*args, **kwargs)
            with ops.name_scope(f"fn{name}" if name.startswith("_") else name.strip("<>")):
                return run(*args, **kwargs)

    def run(*args, **kwargs):
        if not options.uses(Feature.AUTO_CONTROL_DEPS):
            return converted(*args, **kwargs)
        graph = ops.get_default_graph()
        known = len(graph.get_operations())
        return _after_effects(converted(*args, **kwargs), graph.get_operations()[known:])

    return call


def _after_effects(results, made):
    """The results, after the stateful ones of the ops that were made, which run in their order."""
    if results is None:
        return None
    context = ops.get_default_graph()._get_control_flow_context()
    effects = [op for op in made if op._is_stateful and op._get_control_flow_context() is context]
    effects = [op for op in effects if op.type not in ("VariableV2", "VarHandleOp", "Placeholder")]
    for first, second in zip(effects, effects[1:]):
        if first not in second.control_inputs:
            second._add_control_input(first)
    with ops.control_dependencies(effects[-1:]):
        return nest.map_structure(lambda x: array_ops.identity(x) if tensor_util.is_tensor(x) else x, results)


# ---- decorators ----


def convert(recursive=False, optional_features=None, user_requested=True):
    """A decorator: calls of the function call its converted form.

    recursive: what it calls is converted too. optional_features: a Feature, or several. user_requested: it is
    converted even if it is of a library that is not.
    """
    options = converter.ConversionOptions(
        recursive=recursive, user_requested=user_requested, optional_features=optional_features
    )

    def decorator(f):
        def call(*args, **kwargs):
            return _converted(f, options)(*args, **kwargs)

        if inspect.isroutine(f):
            call = functools.update_wrapper(call, f)
        call = tf_decorator.make_decorator(f, call)
        setattr(call, _COMPILED, True)
        return call

    return decorator


def tf_convert(f, ctx, convert_by_default=True, user_requested=False):
    """The function that a transformation or a layer calls in place of `f`. `ctx`: the
    ag_ctx.ControlStatusCtx of the caller; where its status is UNSPECIFIED, `convert_by_default` says
    whether `f` is converted."""
    if hasattr(f, _COMPILED):
        return f
    wrapped = f
    decorators, f = tf_decorator.unwrap(f)
    if ctx.status == ag_ctx.Status.DISABLED:
        wrapper = do_not_convert(f)
    elif ctx.status == ag_ctx.Status.ENABLED or convert_by_default:
        wrapper = convert(recursive=True, user_requested=user_requested)(f)
    else:
        wrapper = call_with_unspecified_conversion_status(f)
    if decorators:
        wrapper = tf_decorator.rewrap(wrapped, f, wrapper)
    setattr(wrapper, _COMPILED, True)
    return wrapper


@tf_export("autograph.experimental.do_not_convert")
def do_not_convert(func=None):
    """The function, which is called as it is, and so is what it calls; without one a decorator."""
    return do_not_convert if func is None else _with_status(func, ag_ctx.Status.DISABLED)


def call_with_unspecified_conversion_status(func):
    """The function, which is called as it is; what it calls may be converted."""
    return _with_status(func, ag_ctx.Status.UNSPECIFIED)


def _with_status(func, status):
    def call(*args, **kwargs):
        with ag_ctx.ControlStatusCtx(status):
            return func(*args, **kwargs)

    if inspect.isroutine(func):
        call = functools.update_wrapper(call, func)
    setattr(call, _COMPILED, True)
    return call


def do_not_convert_internal(f):
    """Marks a function of a library as one that is called as it is."""
    setattr(f, _COMPILED, True)
    return f


# ---- conversion on request ----


@tf_export("autograph.to_graph")
def to_graph(entity, recursive=True, arg_values=None, arg_types=None, experimental_optional_features=None):
    """The converted function of a function or method (unbound, with `self` as its first argument), or a
    subclass of a class whose methods are converted. Raises ConversionError."""
    del arg_values, arg_types
    options = _requested(recursive, experimental_optional_features)
    try:
        if inspect.isclass(entity):
            return _converted_class(entity, options)
        converted = _convert(_function_of(entity), options)
    except (ValueError, AttributeError, KeyError, NameError, AssertionError, SyntaxError, OSError) as e:
        raise ConversionError(f"converting {entity}: {e.__class__.__name__}: {e}") from e
    setattr(converted, _COMPILED, True)
    return converted


@tf_export("autograph.to_code")
def to_code(
    entity,
    recursive=True,
    arg_values=None,
    arg_types=None,
    indentation="  ",
    experimental_optional_features=None,
):
    """The source of what to_graph() makes, as Python code in which `ag__` has AutoGraph's operators."""
    del arg_values, arg_types, indentation
    options = _requested(recursive, experimental_optional_features)
    try:
        functions = _own_functions(entity).values() if inspect.isclass(entity) else [_function_of(entity)]
        nodes = [conversion.converted_node(function, options) for function in functions]
    except (ValueError, AttributeError, KeyError, NameError, AssertionError, SyntaxError, OSError) as e:
        raise ConversionError(f"converting {entity}: {e.__class__.__name__}: {e}") from e
    if inspect.isclass(entity):
        nodes = [ast.ClassDef(_class_name(entity), [ast.Name(entity.__name__, ast.Load())], [], nodes, [])]
        nodes[0].type_params = []
    return "\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in nodes) + "\n"


def _requested(recursive, features):
    return converter.ConversionOptions(recursive=recursive, user_requested=True, optional_features=features)


def _function_of(entity):
    _, entity = tf_decorator.unwrap(entity)
    function = entity.__func__ if inspect.ismethod(entity) else entity
    if not inspect.isfunction(function):
        kind = (
            "object conversion is not yet supported" if callable(entity) else "only functions and classes are"
        )
        raise ValueError(f"cannot convert entity {entity!r} of type {type(entity).__name__}: {kind}")
    return function


def _own_functions(cls):
    functions = {name: member for name, member in vars(cls).items() if inspect.isfunction(member)}
    if not functions:
        raise ValueError(f"cannot convert {cls}: no member methods")
    return functions


def _class_name(cls):
    return f"Tf{cls.__name__}"


def _converted_class(cls, options):
    members = {name: _convert(function, options) for name, function in _own_functions(cls).items()}
    for name, member in members.items():
        member.__name__ = name
        setattr(member, _COMPILED, True)
    return type(_class_name(cls), (cls,), {**members, "__module__": cls.__module__})
