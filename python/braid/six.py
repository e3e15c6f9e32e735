"""The part of `six` that programs of TensorFlow 1's time use: it came with TensorFlow.

`python3 -m braid` gives it to programs that import `six` where that is not installed. There is only Python 3.
"""

import builtins
import functools
import importlib
import io
import operator
import sys
import types

from braid.named_module import NamedModule

__version__ = "1.16.0"
PY2, PY3, PY34 = False, True, True
string_types, integer_types, class_types = (str,), (int,), (type,)
text_type, binary_type = str, bytes
MAXSIZE = sys.maxsize
StringIO, BytesIO = io.StringIO, io.BytesIO
wraps = functools.wraps
unichr, int2byte, byte2int = chr, operator.methodcaller("to_bytes", 1, "big"), operator.itemgetter(0)
indexbytes, iterbytes = operator.getitem, iter
next = advance_iterator = builtins.next
exec_, print_ = builtins.exec, builtins.print
Iterator = object
get_method_self = operator.attrgetter("__self__")
get_method_function = operator.attrgetter("__func__")
get_function_code = operator.attrgetter("__code__")
get_function_defaults = operator.attrgetter("__defaults__")
get_function_globals = operator.attrgetter("__globals__")
create_bound_method = types.MethodType


def iterkeys(d, **kw):
    return iter(d.keys(**kw))


def itervalues(d, **kw):
    return iter(d.values(**kw))


def iteritems(d, **kw):
    return iter(d.items(**kw))


viewkeys = operator.methodcaller("keys")
viewvalues = operator.methodcaller("values")
viewitems = operator.methodcaller("items")


def b(s):
    return s.encode("latin-1")


def u(s):
    return s


def ensure_binary(s, encoding="utf-8", errors="strict"):
    """Bytes of bytes or a str."""
    if isinstance(s, (bytes, str)):
        return s.encode(encoding, errors) if isinstance(s, str) else s
    raise TypeError("not expecting type '%s'" % type(s))


def ensure_str(s, encoding="utf-8", errors="strict"):
    """A str of bytes or a str."""
    if isinstance(s, (bytes, str)):
        return s.decode(encoding, errors) if isinstance(s, bytes) else s
    raise TypeError("not expecting type '%s'" % type(s))


ensure_text = ensure_str


def callable(obj):
    return builtins.callable(obj)


def get_unbound_function(unbound):
    return unbound


def python_2_unicode_compatible(klass):
    return klass


def reraise(tp, value, tb=None):
    """Raises an exception with a traceback."""
    value = tp() if value is None else value
    raise value.with_traceback(tb)


def raise_from(value, from_value):
    raise value from from_value


def with_metaclass(meta, *bases):
    """A base for a class whose metaclass is `meta`."""

    class Once(type):
        def __new__(cls, name, this_bases, members):
            return meta(name, bases, members)

        @classmethod
        def __prepare__(cls, name, this_bases):
            return meta.__prepare__(name, bases)

    return type.__new__(Once, "temporary_class", (), {})


def add_metaclass(metaclass):
    """A decorator that gives a class its metaclass."""

    def wrapper(cls):
        members = {k: v for k, v in vars(cls).items() if k not in ("__dict__", "__weakref__")}
        slots = members.get("__slots__", ())
        for name in [slots] if isinstance(slots, str) else slots:
            members.pop(name, None)
        members["__qualname__"] = cls.__qualname__
        return metaclass(cls.__name__, cls.__bases__, members)

    return wrapper


# ---- six.moves: names that Python 3 has elsewhere ----

_MOVED = {
    "cPickle": "pickle",
    "cStringIO": ("io", "StringIO"),
    "StringIO": ("io", "StringIO"),
    "UserDict": ("collections", "UserDict"),
    "builtins": "builtins",
    "configparser": "configparser",
    "copyreg": "copyreg",
    "email_mime_text": "email.mime.text",
    "filter": ("builtins", "filter"),
    "filterfalse": ("itertools", "filterfalse"),
    "getcwd": ("os", "getcwd"),
    "html_parser": "html.parser",
    "http_client": "http.client",
    "BaseHTTPServer": "http.server",
    "SimpleHTTPServer": "http.server",
    "input": ("builtins", "input"),
    "intern": ("sys", "intern"),
    "map": ("builtins", "map"),
    "queue": "queue",
    "range": ("builtins", "range"),
    "reduce": ("functools", "reduce"),
    "reload_module": ("importlib", "reload"),
    "shlex_quote": ("shlex", "quote"),
    "socketserver": "socketserver",
    "tkinter": "tkinter",
    "urllib": "urllib",
    "urllib_parse": "urllib.parse",
    "urllib_error": "urllib.error",
    "xrange": ("builtins", "range"),
    "zip": ("builtins", "zip"),
    "zip_longest": ("itertools", "zip_longest"),
}


class _Moves(NamedModule):
    """A module whose names are those of other modules."""

    def __getattr__(self, name):
        if name not in _MOVED:
            raise AttributeError(f"six.moves.{name} is not in braid.six")
        place = _MOVED[name]
        module = importlib.import_module(place if isinstance(place, str) else place[0])
        value = module if isinstance(place, str) else getattr(module, place[1])
        setattr(self, name, value)
        return value


class _MovesFinder:
    """Finds six.moves.NAME for names that are modules: six.moves.urllib.request is urllib.request."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        place = _place(fullname)
        if place is None:
            return None
        from braid.as_tensorflow import Aliases

        return Aliases(fullname, place).find_spec(fullname)


def _place(fullname):
    for package in ("six.moves.", __name__ + ".moves."):
        if fullname.startswith(package):
            first, dot, rest = fullname[len(package) :].partition(".")
            place = _MOVED.get(first)
            return place + dot + rest if isinstance(place, str) else None
    return None


moves = _Moves("six.moves", "Names that Python 3 has elsewhere.")
moves.__path__ = []
sys.modules[__name__ + ".moves"] = moves
__path__ = []
sys.meta_path.insert(0, _MovesFinder)  # before that of files, which would load urllib.parse a second time
