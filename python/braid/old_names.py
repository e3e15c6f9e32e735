"""Names that Python 3.7 and numpy 1.18 had, and programs of TensorFlow 1's time use: np.float,
collections.Mapping.

They are set where they are missing, in processes in which `import tensorflow` finds Braid. BRAID_OLD_NAMES=0:
not.
"""

import base64
import builtins
import collections
import collections.abc
import fractions
import inspect
import math
import os
import threading
import time

_NUMPY_BUILTIN = {
    **{name: name for name in ("bool", "int", "float", "complex", "object", "str")},
    "long": "int",
    "unicode": "str",
}
_NUMPY = {
    "Inf": "inf",
    "Infinity": "inf",
    "PINF": "inf",
    "infty": "inf",
    "NaN": "nan",
    "float_": "float64",
    "complex_": "complex128",
    "string_": "bytes_",
    "unicode_": "str_",
    "product": "prod",
    "cumproduct": "cumprod",
    "alltrue": "all",
    "sometrue": "any",
    "row_stack": "vstack",
    "in1d": "isin",
    "trapz": "trapezoid",
}
_ABCS = (
    "Callable Container Hashable ItemsView Iterable Iterator KeysView Mapping MappingView MutableMapping "
    "MutableSequence MutableSet Sequence Set Sized ValuesView"
)


def _getargspec(function):
    """inspect.getargspec, which Python 3.11 has no more."""
    spec = inspect.getfullargspec(function)
    return _ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)


_ArgSpec = collections.namedtuple("ArgSpec", "args varargs keywords defaults")


def _set(module, name, value):
    # Not hasattr: numpy's answer for a name that has gone is a warning or an error of its own.
    if name not in vars(module):
        setattr(module, name, value)


def _fromstring(np):
    """np.fromstring, which no longer takes bytes from numpy 2.3 on."""
    of_text = np.fromstring

    def fromstring(string, dtype=float, count=-1, *, sep="", **more):
        if sep == "":
            data = string.encode("latin-1") if isinstance(string, str) else string
            return np.frombuffer(data, dtype, count).copy()
        return of_text(string, dtype, count, sep=sep, **more)

    return fromstring


def install():
    if os.environ.get("BRAID_OLD_NAMES") == "0":
        return
    for name in _ABCS.split():
        _set(collections, name, getattr(collections.abc, name))
    _set(inspect, "getargspec", _getargspec)
    _set(threading.Thread, "isAlive", threading.Thread.is_alive)
    _set(time, "clock", time.perf_counter)
    _set(fractions, "gcd", math.gcd)
    _set(base64, "encodestring", base64.encodebytes)
    _set(base64, "decodestring", base64.decodebytes)

    import numpy as np

    for name, builtin in _NUMPY_BUILTIN.items():
        _set(np, name, getattr(builtins, builtin))
    for name, new in _NUMPY.items():
        if new in vars(np):
            _set(np, name, getattr(np, new))
    _set(np, "NINF", -np.inf)
    _set(np, "asscalar", lambda a: a.item())
    if tuple(int(n) for n in np.__version__.split(".")[:2]) >= (2, 3):
        np.fromstring = _fromstring(np)
