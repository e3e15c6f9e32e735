"""The modules gen_*_ops: a function for each op of the engine, made when it is first asked for, and one under
the op's own name that takes keywords only (tf.raw_ops).

Which module has which op, and how it is called there, is in api_def.txt.
"""

import inspect
import sys

from braid.named_module import NamedModule
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import op_def_library
from braid.tensorflow.python.ops import api_def
from braid.tensorflow.python.util import dispatch
from braid.tensorflow.python.util import tf_export

# The ops whose functions take ragged tensors.
_ELEMENTWISE = frozenset(
    """
    Abs Acos Acosh Add AddV2 Angle Asin Asinh Atan Atan2 Atanh BitwiseAnd BitwiseOr BitwiseXor Cast Ceil
    Complex Conj Cos Cosh DecodeBase64 Digamma Div DivNoNan EncodeBase64 Equal Erf Erfc Exp Expm1 Floor
    FloorDiv FloorMod Greater GreaterEqual Identity Imag Inv Invert IsFinite IsInf IsNan Less LessEqual
    Lgamma Log Log1p LogicalAnd LogicalNot LogicalOr Maximum Minimum Mod Mul Neg NotEqual Pow Real
    RealDiv Reciprocal LeftShift RightShift DecodeCompressed CheckNumerics StringLength Substr
    StringToHashBucket RegexFullMatch Relu Rint Round Rsqrt Sigmoid Sign Sin Sinh Sqrt Square
    SquaredDifference StringLower StringStrip StringToHashBucketFast StringToHashBucketStrong
    StringToNumber StringUpper AsString Sub Tan Tanh TruncateDiv TruncateMod UnicodeScript
    UnicodeTranscode Xdivy Xlogy Zeta
    """.split()
)

# The ops whose functions are other ones of ragged tensors.
_OR_RAGGED = frozenset(
    """
    DynamicPartition Tile UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum
    """.split()
)

_PACKAGE = __name__.rpartition(".")[0]


# Defaults of arguments that are not the definition's.
_DEFAULTS = {"True": True, "False": False}


def _parameters(op, entry):
    """The op's definition, the function's arguments in their order, which are required, and their own defaults."""
    given = dict(a.partition("=")[::2] for a in entry.arguments if "=" in a)
    defaults = {key: _DEFAULTS[value] for key, value in given.items() if value in _DEFAULTS}
    names = {value: key for key, value in given.items() if value not in _DEFAULTS}
    definition = op_def_library.Definition(op, names)
    required, optional = definition.parameters()
    order = [a.partition("=")[0] for a in entry.arguments] or required + optional
    return definition, order, set(required), defaults


def make_function(op_type, module, entry):
    """The Python function of an op: f(arguments..., name=None), or with `name` where the entry has it."""
    op_def = op_def_library.op_def_or_none(op_type)
    definition, order, required, defaults = _parameters(op_def, entry)
    name_at = order.index("name") if "name" in order else len(order)
    order = [key for key in order if key != "name"]
    last = max((i for i, key in enumerate(order) if key in required), default=-1)
    parameters = [
        inspect.Parameter(
            key,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=(inspect.Parameter.empty if i <= last else defaults.get(key, _default(definition, key))),
        )
        for i, key in enumerate(order)
    ]
    names = {p.name for p in parameters}
    count = len(order)
    needed = order[: last + 1]

    def function(*args, **kwargs):
        if len(args) > name_at:
            name, args = args[name_at], args[:name_at] + args[name_at + 1 :]
            if len(args) > count:
                raise TypeError(f"{entry.function}() takes {count + 1} arguments at most")
        else:
            name = kwargs.pop("name", None)
        values = dict(zip(order, args))
        for key, value in kwargs.items():
            if key not in names or key in values:
                raise TypeError(
                    f"{entry.function}() got "
                    + (
                        f"multiple values for argument '{key}'"
                        if key in names
                        else f"an unexpected argument '{key}'"
                    )
                )
            values[key] = value
        for key in needed:
            if key not in values:
                raise TypeError(f"{entry.function}() missing required argument: '{key}'")
        values = {**defaults, **values}
        return op_def_library.results(definition, op_def_library.apply(definition, values, name))

    function.__name__ = function.__qualname__ = entry.function
    function.__module__ = module
    parameters.insert(
        name_at, inspect.Parameter("name", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
    )
    function.__signature__ = inspect.Signature(parameters)
    function.__doc__ = _doc(definition)
    if op_type in _ELEMENTWISE:
        function = dispatch.elementwise(function)
    elif op_type in _OR_RAGGED:
        function = dispatch.or_ragged(function)
    return dispatch.add_dispatch_support(function)


def _default(definition, key):
    attr = next((a for a in definition.given if a.key == key), None)
    if attr is None or attr.default is None:
        return None
    value = _plain(attr.default)
    if attr.default.WhichOneof("value") == "type":
        return dtypes.as_dtype(value)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _plain(message):
    kind = message.WhichOneof("value")
    if kind == "list":
        return [v for _, values in message.list.ListFields() for v in values]
    return getattr(message, kind) if kind else []


def _doc(definition):
    op = definition.op_def
    lines = [op.summary or f"The op {op.name}."]
    if op.description:
        lines += ["", op.description]
    lines += ["", f"`braid ops {op.name}` says more."]
    return "\n".join(lines)


class _Module(NamedModule):
    """A module whose functions are made when they are asked for."""

    def __getattr__(self, name):
        functions = self.__dict__["_functions"]
        entry = functions.get(name)
        raw = entry is None and next((e for e in functions.values() if e.op == name), None)
        if raw:
            function = tf_export.kwarg_only(getattr(self, raw.function))
            function.__qualname__ = name  # it is pickled as the name by which it is found
        elif entry is None or name.startswith("__"):
            raise AttributeError(
                f"module {self.__name__!r} has no function {name!r}: Braid has no such op (braid ops lists those "
                "that it has)"
            )
        else:
            function = make_function(entry.op, self.__name__, entry)
        setattr(self, name, function)
        return function

    def __dir__(self):
        return sorted({*self.__dict__, *self._functions})

    @property
    def __all__(self):
        """The functions of `from module import *`, with those of tf.raw_ops."""
        return sorted({name for name, entry in self._functions.items() for name in (name, entry.op)})


def install():
    """Makes the modules, as attributes of the package and for import statements."""
    package = sys.modules[_PACKAGE]
    for name, functions in api_def.read_table().items():
        module = _Module(f"{_PACKAGE}.{name}", f"The ops of TensorFlow's {name}.")
        module.__file__ = __file__
        module.__dict__["_functions"] = functions
        sys.modules[module.__name__] = module
        setattr(package, name, module)
