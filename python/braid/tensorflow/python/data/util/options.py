"""Options: objects with a fixed set of properties."""


class OptionsBase:
    """An object whose properties are those of its class's `_OPTIONS`: {name: (type or types, default)}."""

    _OPTIONS = {}

    def __init__(self):
        object.__setattr__(self, "_options", {})

    def __getattr__(self, name):
        if name not in type(self)._OPTIONS:
            raise AttributeError(f"{type(self).__name__} has no option {name}")
        default = type(self)._OPTIONS[name][1]
        if isinstance(default, type):
            # Options within options can be set before they are there.
            default = self._options[name] = default()
            return default
        return self._options.get(name, default)

    def __getattribute__(self, name):
        own = object.__getattribute__(self, "__dict__").get("_options")
        if own is not None and name in own:
            return own[name]
        return object.__getattribute__(self, name)

    def __setattr__(self, name, value):
        if name not in type(self)._OPTIONS:
            raise AttributeError("Cannot set the property %s on %s." % (name, type(self).__name__))
        kinds = type(self)._OPTIONS[name][0]
        if value is not None and not isinstance(value, kinds):
            raise TypeError(
                f'Property "{name}" must be of type {kinds}, got: {value!r} (type: {type(value)})'
            )
        self._options[name] = value

    def __eq__(self, other):
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in type(self)._OPTIONS)

    def __ne__(self, other):
        equal = self == other
        return equal if equal is NotImplemented else not equal

    __hash__ = None


class _Option:
    """An option as an attribute of a class: it enters the class's `_OPTIONS`."""

    def __init__(self, kind, doc, default_factory):
        self.__doc__ = doc
        self._entry = (kind, default_factory())

    def __set_name__(self, owner, name):
        self._name = name
        owner._OPTIONS = {**owner._OPTIONS, name: self._entry}

    def __get__(self, options, owner=None):
        return self if options is None else OptionsBase.__getattr__(options, self._name)


def create_option(name, ty, docstring, default_factory=lambda: None):
    """An attribute for a class of options, of a type or of one of several."""
    return _Option(ty, docstring, default_factory)


def merge_options(*options_list):
    """The options of all. A default, set or not, gives way to another value. TypeError: their classes differ;
    ValueError: they set a property to two values."""
    if len(options_list) < 1:
        raise ValueError("At least one options should be provided")
    kind = type(options_list[0])
    if not issubclass(kind, OptionsBase):
        raise TypeError(f"{options_list[0]!r} are no options")
    merged, defaults = kind(), kind()
    for options in options_list:
        if type(options) is not kind:
            raise TypeError("Incompatible options type: %r vs %r" % (type(options), kind))
        for name, value in options._options.items():
            there, default = getattr(merged, name), getattr(defaults, name)
            if value is None or value == default:
                continue
            if isinstance(value, OptionsBase) and there != default:
                value = merge_options(there, value)
            elif there not in (default, value):
                raise ValueError(
                    f"Cannot merge incompatible values {there!r} and {value!r} for option: {name}"
                )
            merged._options[name] = value
    return merged
