"""Objects by name, their settings, and the progress bar."""

import binascii
import inspect
import marshal
import re
import sys
import time
import types

import numpy as np

from braid.tensorflow.python.util.tf_export import keras_export

_GLOBAL_CUSTOM_OBJECTS = {}


@keras_export("keras.utils.CustomObjectScope")
class CustomObjectScope:
    """A context in which names of the program's own classes and functions are known: dicts from names to
    them."""

    def __init__(self, *args):
        self.custom_objects = args
        self.backup = None

    def __enter__(self):
        self.backup = _GLOBAL_CUSTOM_OBJECTS.copy()
        for objects in self.custom_objects:
            _GLOBAL_CUSTOM_OBJECTS.update(objects)
        return self

    def __exit__(self, *args):
        _GLOBAL_CUSTOM_OBJECTS.clear()
        _GLOBAL_CUSTOM_OBJECTS.update(self.backup)


@keras_export("keras.utils.custom_object_scope")
def custom_object_scope(*args):
    """CustomObjectScope."""
    return CustomObjectScope(*args)


@keras_export("keras.utils.get_custom_objects")
def get_custom_objects():
    """The dict of names that are known everywhere."""
    return _GLOBAL_CUSTOM_OBJECTS


@keras_export("keras.utils.serialize_keras_object")
def serialize_keras_object(instance):
    """{"class_name": ..., "config": ...} of an object, or the name of a function."""
    if instance is None:
        return None
    if hasattr(instance, "get_config"):
        return serialize_keras_class_and_config(type(instance).__name__, instance.get_config())
    if hasattr(instance, "__name__"):
        return instance.__name__
    raise ValueError("Cannot serialize", instance)


def serialize_keras_class_and_config(cls_name, cls_config):
    return {"class_name": cls_name, "config": cls_config}


def _find(name, module_objects, custom_objects):
    for objects in (custom_objects, _GLOBAL_CUSTOM_OBJECTS, module_objects):
        if objects and name in objects:
            return objects[name]
    return None


@keras_export("keras.utils.deserialize_keras_object")
def deserialize_keras_object(
    identifier, module_objects=None, custom_objects=None, printable_module_name="object"
):
    """The object of a dict with class_name and config, or the function of a name."""
    if identifier is None:
        return None
    if isinstance(identifier, dict):
        if "class_name" not in identifier or "config" not in identifier:
            raise ValueError(f"Improper config format: {identifier}")
        name, config = identifier["class_name"], identifier["config"]
        cls = _find(name, module_objects, custom_objects)
        if cls is None:
            raise ValueError(f"Unknown {printable_module_name}: {name}")
        if hasattr(cls, "from_config"):
            if "custom_objects" in _arguments(cls.from_config):
                known = dict(_GLOBAL_CUSTOM_OBJECTS, **(custom_objects or {}))
                return cls.from_config(config, custom_objects=known)
            with CustomObjectScope(custom_objects or {}):
                return cls.from_config(config)
        with CustomObjectScope(custom_objects or {}):
            return cls(**config)
    if isinstance(identifier, str):
        found = _find(identifier, module_objects, custom_objects)
        if found is None:
            raise ValueError(f"Unknown {printable_module_name}:{identifier}")
        return found() if isinstance(found, type) else found
    if isinstance(identifier, types.FunctionType):
        return identifier
    raise ValueError(f"Could not interpret serialized {printable_module_name}: {identifier}")


def _arguments(fn):
    code = getattr(fn, "__code__", None) or getattr(getattr(fn, "__func__", None), "__code__", None)
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code else ()


def func_dump(func):
    """(code, defaults, closure) of a function, for a config; for the same version of Python only."""
    code = binascii.b2a_base64(marshal.dumps(func.__code__)).decode("ascii")
    closure = tuple(c.cell_contents for c in func.__closure__) if func.__closure__ else None
    return code, func.__defaults__, closure


def func_load(code, defaults=None, closure=None, globs=None):
    """The function that func_dump has written."""
    if isinstance(code, (tuple, list)):
        code, defaults, closure = code
        defaults = tuple(defaults) if isinstance(defaults, list) else defaults
    code = marshal.loads(binascii.a2b_base64(code.encode("ascii")))
    cells = None if closure is None else tuple(types.CellType(c) for c in closure)
    return types.FunctionType(code, globs or globals(), name=code.co_name, argdefs=defaults, closure=cells)


def has_arg(fn, name, accept_all=False):
    """Whether a function takes a keyword argument."""
    import inspect

    parameters = inspect.signature(fn).parameters
    if accept_all and any(p.kind == p.VAR_KEYWORD for p in parameters.values()):
        return True
    return name in parameters and parameters[name].kind in (
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.KEYWORD_ONLY,
    )


@keras_export("keras.utils.Progbar")
class Progbar:
    """A progress bar on the standard output.

    target: how many steps, or None. verbose: 0 silent, 1 a bar, 2 a line at the end. stateful_metrics: names
    of values that are shown as they are; the others are averaged. interval: seconds between two updates.
    """

    def __init__(self, target, width=30, verbose=1, interval=0.05, stateful_metrics=None, unit_name="step"):
        self.target, self.width, self.verbose, self.interval = target, width, verbose, interval
        self.unit_name = unit_name
        self.stateful_metrics = set(stateful_metrics or [])
        self._dynamic_display = (
            hasattr(sys.stdout, "isatty") and sys.stdout.isatty()
        ) or "ipykernel" in sys.modules
        self._total_width = 0
        self._seen_so_far = 0
        self._values = {}
        self._values_order = []
        self._start = time.time()
        self._last_update = 0

    def update(self, current, values=None):
        """Shows `current` steps. values: pairs of a name and the value of the last step."""
        for name, value in values or []:
            if name not in self._values:
                self._values_order.append(name)
            if name in self.stateful_metrics:
                self._values[name] = value
                continue
            weight = current - self._seen_so_far
            total = self._values.setdefault(name, [0.0, 0])
            total[0] += value * weight
            total[1] += weight
        self._seen_so_far = current
        now = time.time()
        last = self.target is not None and current >= self.target
        if self.verbose == 1:
            if now - self._last_update < self.interval and not last:
                return
            self._show(current, now, last)
        elif self.verbose == 2 and last:
            sys.stdout.write(
                self._numbered(current) + f" - {now - self._start:.0f}s" + self._metrics() + "\n"
            )
            sys.stdout.flush()
        self._last_update = now

    def _numbered(self, current):
        width = len(str(self.target)) if self.target is not None else 7
        return f"{current:{width}d}/{self.target if self.target is not None else 'Unknown'}"

    def _metrics(self):
        text = ""
        for name in self._values_order:
            value = self._values[name]
            if isinstance(value, list):
                value = np.mean(value[0] / max(1, value[1]))
            text += f" - {name}: {value:.4f}" if abs(value) > 1e-3 else f" - {name}: {value:.4e}"
        return text

    def _show(self, current, now, last):
        line = self._numbered(current)
        if self.target is not None:
            filled = int(self.width * min(1.0, float(current) / self.target)) if self.target else self.width
            bar = "=" * max(0, filled - (0 if last else 1)) + ("" if last else ">" if filled else "")
            line += f" [{bar:.<{self.width}}]"
        spent = now - self._start
        each = spent / current if current else 0
        if self.target is not None and not last:
            line += f" - ETA: {each * (self.target - current):.0f}s"
        else:
            line += f" - {spent:.0f}s"
            line += (
                f" {each:.0f}s/{self.unit_name}"
                if each >= 1
                else (
                    f" {each * 1e3:.0f}ms/{self.unit_name}"
                    if each >= 1e-3
                    else f" {each * 1e6:.0f}us/{self.unit_name}"
                )
            )
        line += self._metrics()
        if self._dynamic_display:
            sys.stdout.write("\r" + line + " " * max(0, self._total_width - len(line)))
            if last:
                sys.stdout.write("\n")
        else:
            sys.stdout.write(line + "\n")
        self._total_width = len(line)
        sys.stdout.flush()

    def add(self, n, values=None):
        """Shows n more steps."""
        self.update(self._seen_so_far + n, values)


def make_batches(size, batch_size):
    """Pairs of the first and one past the last example of each batch."""
    return [(i, min(size, i + batch_size)) for i in range(0, size, batch_size)]


def slice_arrays(arrays, start=None, stop=None):
    """The same rows of an array, or of each array of a list. start: the first row, or a list of rows."""
    if arrays is None:
        return [None]
    if isinstance(start, list) and stop is not None:
        raise ValueError("The stop argument has to be None if the value of start is a list.")
    rows = (lambda a: a[start]) if hasattr(start, "__len__") else (lambda a: a[start:stop])
    if isinstance(arrays, list):
        return [None if a is None else rows(a) for a in arrays]
    return (
        rows(arrays) if hasattr(start, "__len__") or hasattr(start, "shape") or start is not None else [None]
    )


def to_list(x):
    return x if isinstance(x, list) else [x]


def to_snake_case(name):
    """name_of_class for NameOfClass."""
    s = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    s = re.sub("([a-z])([A-Z])", r"\1_\2", s).lower()
    return "private" + s if s[0] == "_" else s


def is_all_none(structure):
    """Whether there is nothing but None."""
    from braid.tensorflow.python.util import nest

    return all(x is None for x in nest.flatten(structure))


def check_for_unexpected_keys(name, input_dict, expected_values):
    """ValueError for keys that are not expected."""
    unknown = set(input_dict) - set(expected_values)
    if unknown:
        raise ValueError(
            f"Unknown entries in {name} dictionary: {list(unknown)}. Only expected following keys: "
            f"{expected_values}"
        )


def shows_parameters(base, without=(), **defaults):
    """A decorator of an __init__ that hands `*args` to that of a base class: its signature has the parameters
    of the base by name, after its own, as programs look them up.

    without: names of parameters of the base that are not shown. defaults: what others have than the base's.
    """
    hidden = ("self", "rank", "trainable", "name", *without)

    def decorate(function):
        own = inspect.signature(function)
        shown = {n: p for n, p in own.parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD}
        rest = {n: p for n, p in own.parameters.items() if p.kind is p.VAR_KEYWORD}
        for name, parameter in inspect.signature(base.__init__).parameters.items():
            if name in hidden or name in shown or parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
                continue
            shown[name] = parameter.replace(default=defaults.get(name, parameter.default))
        function.__signature__ = own.replace(parameters=[*shown.values(), *rest.values()])
        return function

    return decorate
