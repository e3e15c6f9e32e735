"""Functions of one argument, a tensor, that are put together by operators.

f | g is g(f(x)), f ** n is f n times, f + g and f * g are those of the results.
"""

import importlib
import operator
import re

QUOTED = re.compile(r'"([^"\\]|\\.)*"|' r"'([^'\\]|\\.)*'")
KEYWORDS = re.compile(r"\b(import|while|def|exec)\b")
debug_ = False


def check_keywords(spec):
    """ValueError: a specification has a statement of Python that does not belong there."""
    match = KEYWORDS.search(QUOTED.sub("", spec))
    if match:
        raise ValueError("keyword '%s' found in spec" % match.group(1))


def get_positional(args, kw, kw_overrides=False):
    """The arguments with those of `kw` that are called _0, _1, ... at their places: (args, kw).

    An argument that is there stays, unless kw_overrides.
    """
    places = {int(key[1:]): value for key, value in kw.items() if key.startswith("_")}
    if not places:
        return args, kw
    merged = list(args) + [None] * (max(places) + 1 - len(args))
    for place, value in places.items():
        if kw_overrides or merged[place] is None:
            merged[place] = value
    return merged, {key: value for key, value in kw.items() if not key.startswith("_")}


class Composable:
    """What operators put together; funcall(x) is the value of the function."""

    def __or__(self, f):
        return Composition(self, f)

    def __add__(self, g):
        return Operator(operator.add, self, g)

    def __mul__(self, g):
        return Operator(operator.mul, self, g)

    def __pow__(self, n):
        assert n >= 0
        if n == 0:
            return Function(lambda x, *args, **kw: x)
        return self if n == 1 else Composition(self ** (n - 1), self)


class Callable(Composable):
    """A function of Python."""

    def __init__(self, f):
        self.f = f

    def funcall(self, x):
        return self.f(x)


class Operator(Composable):
    """An operator on the values of functions."""

    def __init__(self, op, *args):
        self.op = op
        self.funs = args

    def funcall(self, x):
        return self.op(*(f.funcall(x) for f in self.funs))


class Function(Composable):
    """A function of Python with further arguments. A call adds arguments, before those that are there."""

    def __init__(self, f, *args, **kw):
        if not callable(f):
            raise ValueError("%s: is not callable" % f)
        self.f = f
        self.args = list(args)
        self.kw = kw

    def __call__(self, *args, **kw):
        return Function(self.f, *args, *self.args, **{**self.kw, **kw})

    def funcall(self, x):
        args, kw = get_positional(self.args, self.kw)
        if debug_:
            print("DEBUG:", self.f, x, args, kw)
        return self.f(x, *args, **kw)


class Composition(Composable):
    """g(f(x))."""

    def __init__(self, f, g):
        self.f = f
        self.g = g

    def funcall(self, x):
        return self.g.funcall(self.f.funcall(x))


def External(module_name, function_name):
    """The Function of a module, which is imported."""
    return Function(vars(importlib.import_module(module_name))[function_name])


def Import(statements):
    """The Function that statements of Python call f. ValueError: there is none."""
    names = {}
    exec(statements, names)
    if "f" not in names:
        raise ValueError('failed to define "f": %s', statements)
    return Function(names["f"])


def debug(mode=True):
    """Whether each function is printed when it is called."""
    global debug_
    debug_ = mode
