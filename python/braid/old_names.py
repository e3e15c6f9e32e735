"""Names that Python 3.7 and numpy 1.18 had, and programs of TensorFlow 1's time use: np.float,
collections.Mapping.

They are set where they are missing, in processes in which `import tensorflow` finds Braid. np.array and
np.asarray make arrays of objects of rows of different lengths, which numpy refuses from 1.24 on, and refuse
tensors of a graph. np.save and np.savez write such rows, too. The text of an attribute of h5py, which was
bytes before h5py 3, has bytes' decode() as well: Keras 2.3 and programs that load its files call it.
random.sample takes sets, and json.loads an encoding, which it ignores. Modules that TensorFlow 1.15 imports
for itself, such as urllib.request, are found in their packages.
BRAID_OLD_NAMES=0: none of this.
"""

import base64
import builtins
import collections
import collections.abc
import fractions
import functools
import importlib
import importlib.machinery
import inspect
import json
import math
import os
import random
import sys
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


def _takes_ragged_rows(function):
    """np.array or np.asarray with an array of objects where no dtype is given and rows differ in length.

    NotImplementedError: it is given a tensor of a graph. Lists of tensors become arrays of objects.
    """

    @functools.wraps(function)
    def array(*args, **kwargs):
        try:
            made = function(*args, **kwargs)
        except ValueError as e:
            if len(args) != 1 or kwargs.get("dtype") is not None or "inhomogeneous" not in str(e):
                raise
            made = function(*args, **{**kwargs, "dtype": object})
        if made.ndim == 0 and made.dtype.hasobject:
            refuse = getattr(made[()], "_refuse_numpy", None)
            if refuse is not None:
                refuse()
        return made

    return array


def _saves_ragged_rows(function, array):
    """np.save or np.savez with arrays of objects for lists of rows of different lengths, made by `array`."""

    def of(value):
        return array(value) if isinstance(value, (list, tuple)) else value

    @functools.wraps(function)
    def save(file, *args, **kwargs):
        return function(file, *map(of, args), **{name: of(value) for name, value in kwargs.items()})

    return save


def _sample_of_sets():
    """Has random.sample take sets, which Python 3.11 refuses."""
    of_sequence = random.Random.sample

    @functools.wraps(of_sequence)
    def sample(self, population, *args, **kwargs):
        if isinstance(population, collections.abc.Set):
            population = tuple(population)
        return of_sequence(self, population, *args, **kwargs)

    random.Random.sample = sample
    random.sample = random.sample.__self__.sample


def _loads_with_encoding():
    """Has json.loads, and json.load, which calls it, take an encoding, which Python 3.9 refuses."""
    loads = json.loads

    @functools.wraps(loads)
    def loads_without(*args, encoding=None, **kwargs):
        return loads(*args, **kwargs)

    json.loads = loads_without


class _Text(str):
    """The text of an attribute of HDF5, for programs that expect bytes and for those that expect str."""

    def decode(self, encoding="utf-8", errors="strict"):
        return str(self)


def _give_decode(attributes):
    """Has `attributes`, h5py.AttributeManager, return text that can be decoded."""
    of_h5py = attributes.__getitem__

    def __getitem__(self, name):
        value = of_h5py(self, name)
        if isinstance(value, str):
            return _Text(value)
        if getattr(value, "dtype", None) == object:  # an array, whose elements are text if the first one is
            for i, element in enumerate(value.flat):
                if not isinstance(element, str):
                    break
                value.flat[i] = _Text(element)
        return value

    attributes.__getitem__ = __getitem__


# What TensorFlow 1.15 imports of packages that programs import as a whole, and use with no import of their
# own: `import urllib`, `urllib.request.urlopen`.
_SUBMODULES = {
    "PIL": "ExifTags Image ImageEnhance ImageFilter ImageStat",
    "email": "base64mime charset encoders errors feedparser header iterators message parser quoprimime utils",
    "http": "client",
    "multiprocessing": "pool util",
    "scipy": "linalg ndimage sparse special",
    "unittest": "case loader mock result runner signals suite util",
    "urllib": "error parse request response",
    "xml": "dom sax",
    "xml.dom": "NodeFilter domreg minicompat minidom xmlbuilder",
    "xml.sax": "handler saxutils xmlreader",
}


def _find_submodules(package):
    """Has a package import those of its modules when a program first asks for them."""
    names = _SUBMODULES[package.__name__].split()
    others = vars(package).get("__getattr__")

    def __getattr__(name):
        if name in names:
            return importlib.import_module(f"{package.__name__}.{name}")
        if others is not None:
            return others(name)
        raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}")

    package.__getattr__ = __getattr__


_CHANGES = {
    **dict.fromkeys(_SUBMODULES, _find_submodules),
    "h5py._hl.attrs": lambda module: _give_decode(module.AttributeManager),
}


class _Changed:
    """Finds the modules that are changed, which happens when the module has run."""

    def find_spec(self, fullname, path=None, target=None):
        change = _CHANGES.get(fullname)
        spec = None if change is None else importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module):
                run(module)
                change(module)

            spec.loader.exec_module = exec_module
        return spec


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
    _sample_of_sets()
    _loads_with_encoding()

    for name, change in _CHANGES.items():
        if name in sys.modules:
            change(sys.modules[name])
    sys.meta_path.insert(0, _Changed())

    import numpy as np

    for name, builtin in _NUMPY_BUILTIN.items():
        _set(np, name, getattr(builtins, builtin))
    for name, new in _NUMPY.items():
        if new in vars(np):
            _set(np, name, getattr(np, new))
    _set(np, "NINF", -np.inf)
    _set(np, "asscalar", lambda a: a.item())
    version = tuple(int(n) for n in np.__version__.split(".")[:2])
    np.array, np.asarray = _takes_ragged_rows(np.array), _takes_ragged_rows(np.asarray)
    for name in ("save", "savez", "savez_compressed"):
        setattr(np, name, _saves_ragged_rows(getattr(np, name), np.array))
    if version >= (2, 3):
        np.fromstring = _fromstring(np)
