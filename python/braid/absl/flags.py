"""Command line flags: definitions anywhere in a program, values in FLAGS after FLAGS(argv)."""

import csv
import difflib
import enum
import io
import numbers
import shutil
import sys
import textwrap

# ---- Errors ----


class Error(Exception):
    """The base of the errors of flags."""


class CantOpenFlagFileError(Error):
    """A file of flags cannot be read."""


class DuplicateFlagError(Error):
    """A flag is defined twice."""


class IllegalFlagValueError(Error):
    """The value on the command line is not one that the flag takes."""


class UnrecognizedFlagError(Error):
    """The command line has a flag that is not defined."""

    def __init__(self, flagname, flagvalue="", suggestions=None):
        self.flagname = flagname
        self.flagvalue = flagvalue
        tip = ". Did you mean: %s ?" % ", ".join(suggestions) if suggestions else ""
        super().__init__("Unknown command line flag '%s'%s" % (flagname, tip))


class UnparsedFlagAccessError(Error):
    """A value was read before FLAGS(argv)."""


class ValidationError(Error):
    """A validator refuses the values."""


class FlagNameConflictsWithMethodError(Error):
    """A flag has the name of a method of FlagValues."""


# ---- Parsers: from text to a value ----


class ArgumentParser:
    """Text as it is. syntactic_help: one line on what is accepted, for --help."""

    syntactic_help = ""

    def parse(self, argument):
        """The value. ValueError or TypeError: the text is none."""
        if not isinstance(argument, str):
            raise TypeError("flag value must be a string, found %s" % type(argument))
        return argument

    def flag_type(self):
        return "string"


class NumericParser(ArgumentParser):
    """Numbers within bounds."""

    article, word = "a", "number"

    def __init__(self, lower_bound=None, upper_bound=None):
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        self.syntactic_help = self._describe()

    def _describe(self):
        low, high, word = self.lower_bound, self.upper_bound, self.word
        if low is not None and high is not None:
            return "%s %s in the range [%s, %s]" % (self.article, word, low, high)
        if low is not None:
            signs = {0: "a non-negative " + word}
            if word == "integer":
                signs[1] = "a positive integer"
            return signs.get(low, "%s >= %s" % (word, low))
        if high is not None:
            signs = {0: "a non-positive " + word}
            if word == "integer":
                signs[-1] = "a negative integer"
            return signs.get(high, "%s <= %s" % (word, high))
        return "%s %s" % (self.article, word)

    def is_outside_bounds(self, value):
        low, high = self.lower_bound, self.upper_bound
        return (low is not None and value < low) or (high is not None and value > high)

    def parse(self, argument):
        value = self.convert(argument)
        if self.is_outside_bounds(value):
            raise ValueError("%s is not %s" % (value, self.syntactic_help))
        return value


class FloatParser(NumericParser):
    def convert(self, argument):
        # numpy's numbers too, which TensorFlow before 1.5 took.
        if isinstance(argument, (numbers.Real, str)) and not isinstance(argument, bool):
            return float(argument)
        raise TypeError("Expect argument to be a string, int, or float, found %s" % type(argument))

    def flag_type(self):
        return "float"


class IntegerParser(NumericParser):
    """Decimal numbers, and those with 0x or 0o."""

    article, word = "an", "integer"

    def convert(self, argument):
        if isinstance(argument, numbers.Integral) and not isinstance(argument, bool):
            return int(argument)
        if not isinstance(argument, str):
            raise TypeError("Expect argument to be a string or int, found %s" % type(argument))
        bases = {"0x": 16, "0o": 8}
        return int(argument, bases.get(argument[:2], 10))

    def flag_type(self):
        return "int"


class BooleanParser(ArgumentParser):
    def parse(self, argument):
        if isinstance(argument, str):
            word = argument.lower()
            if word in ("true", "t", "1", "yes", "y"):
                return True
            if word in ("false", "f", "0", "no", "n"):
                return False
            raise ValueError("Non-boolean argument to boolean flag", argument)
        if isinstance(argument, (int, float)) and argument in (0, 1):
            return bool(argument)
        raise TypeError("Non-boolean argument to boolean flag", argument)

    def flag_type(self):
        return "bool"


class EnumParser(ArgumentParser):
    """One of some words."""

    def __init__(self, enum_values, case_sensitive=True):
        if not enum_values:
            raise ValueError("enum_values cannot be empty, found %s" % (enum_values,))
        self.enum_values = list(enum_values)
        self.case_sensitive = case_sensitive

    def parse(self, argument):
        for value in self.enum_values:
            if value == argument or (not self.case_sensitive and value.lower() == argument.lower()):
                return value
        raise ValueError("value should be one of <%s>" % "|".join(self.enum_values))

    def flag_type(self):
        return "string enum"


class EnumClassParser(ArgumentParser):
    """The name of a member of an enum.Enum."""

    def __init__(self, enum_class, case_sensitive=True):
        if not issubclass(enum_class, enum.Enum):
            raise TypeError("%s is not a subclass of Enum." % enum_class)
        self.enum_class = enum_class
        self.case_sensitive = case_sensitive

    @property
    def member_names(self):
        return list(self.enum_class.__members__)

    def parse(self, argument):
        if isinstance(argument, self.enum_class):
            return argument
        for name in self.member_names:
            if name == argument or (not self.case_sensitive and name.lower() == str(argument).lower()):
                return self.enum_class[name]
        raise ValueError("value should be one of <%s>" % "|".join(self.member_names))

    def flag_type(self):
        return "enum class"


class BaseListParser(ArgumentParser):
    def __init__(self, token=None, name=None):
        self._token = token
        self._name = name
        self.syntactic_help = "a %s separated list" % name

    def parse(self, argument):
        if isinstance(argument, (list, tuple)):
            return list(argument)
        return self._split(argument) if argument else []

    def flag_type(self):
        return "%s separated list of strings" % self._name


class ListParser(BaseListParser):
    """Words between commas; those with commas stand in quotation marks."""

    def __init__(self):
        super().__init__(",", "comma")

    def _split(self, argument):
        rows = list(csv.reader([argument], strict=True))
        return [word.strip() for word in rows[0]]


class WhitespaceSeparatedListParser(BaseListParser):
    def __init__(self, comma_compat=False):
        super().__init__(None, "whitespace or comma" if comma_compat else "whitespace")
        self._comma_compat = comma_compat

    def _split(self, argument):
        return (argument.replace(",", " ") if self._comma_compat else argument).split()


class ArgumentSerializer:
    """From a value to text that its parser takes."""

    def serialize(self, value):
        return str(value)


class ListSerializer(ArgumentSerializer):
    def __init__(self, list_sep=","):
        self.list_sep = list_sep

    def serialize(self, value):
        return self.list_sep.join(str(word) for word in value)


class CsvListSerializer(ListSerializer):
    def serialize(self, value):
        line = io.StringIO()
        csv.writer(line, delimiter=self.list_sep).writerow([str(word) for word in value])
        return line.getvalue().strip()


class EnumClassSerializer(ArgumentSerializer):
    def serialize(self, value):
        return value.name


# ---- Flags ----


class Flag:
    """One flag: its parser, default, and value."""

    def __init__(
        self,
        parser,
        serializer,
        name,
        default,
        help_string,
        short_name=None,
        boolean=False,
        allow_override=False,
        allow_override_cpp=False,
        allow_hide_cpp=False,
        allow_overwrite=True,
        allow_using_method_names=False,
    ):
        self.name = name
        self.help = help_string or "(no help available)"
        self.short_name = short_name
        self.boolean = boolean
        self.present = 0
        self.parser = parser
        self.serializer = serializer
        self.allow_override = allow_override
        self.allow_overwrite = allow_overwrite
        self.using_default_value = True
        self._set_default(default)

    def _set_default(self, value):
        self.default = None if value is None else self._parse(value)
        self.default_as_str = self._in_quotes(self.default)
        if self.using_default_value:
            self._value = self.default

    def _in_quotes(self, value):
        if value is None:
            return None
        if self.boolean:
            return repr("true" if value else "false")
        return repr(self.serializer.serialize(value) if self.serializer else str(value))

    @property
    def value(self):
        return self._value

    @value.setter
    def value(self, value):
        self._value = value

    def _parse(self, argument):
        try:
            return self.parser.parse(argument)
        except (TypeError, ValueError) as e:
            raise IllegalFlagValueError("flag --%s=%s: %s" % (self.name, argument, e)) from None

    def parse(self, argument):
        """Takes the value from the command line."""
        if self.present and not self.allow_overwrite:
            raise IllegalFlagValueError(
                "flag --%s=%s: already defined as %s" % (self.name, argument, self.value)
            )
        self._value = self._parse(argument)
        self.using_default_value = False
        self.present += 1

    def unparse(self):
        self.using_default_value = True
        self._value = self.default
        self.present = 0

    def serialize(self):
        """The flag as it would stand on a command line."""
        if self.value is None:
            return ""
        if self.boolean:
            return "--%s%s" % ("" if self.value else "no", self.name)
        return "--%s=%s" % (self.name, (self.serializer or ArgumentSerializer()).serialize(self.value))

    def flag_type(self):
        return self.parser.flag_type()


class BooleanFlag(Flag):
    def __init__(self, name, default, help, short_name=None, **args):
        super().__init__(BooleanParser(), ArgumentSerializer(), name, default, help, short_name, True, **args)


class EnumFlag(Flag):
    def __init__(self, name, default, help, enum_values, short_name=None, case_sensitive=True, **args):
        parser = EnumParser(enum_values, case_sensitive)
        super().__init__(parser, ArgumentSerializer(), name, default, help, short_name, **args)
        self.help = "<%s>: %s" % ("|".join(enum_values), self.help)


class EnumClassFlag(Flag):
    def __init__(self, name, default, help, enum_class, short_name=None, case_sensitive=False, **args):
        parser = EnumClassParser(enum_class, case_sensitive)
        super().__init__(parser, EnumClassSerializer(), name, default, help, short_name, **args)
        self.help = "<%s>: %s" % ("|".join(parser.member_names), self.help)


class MultiFlag(Flag):
    """A flag that may come several times: its value is the list."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.help += ";\n  repeat this option to specify a list of values"

    def _parse(self, argument):
        many = list(argument) if isinstance(argument, (list, tuple)) else [argument]
        return [super(MultiFlag, self)._parse(one) for one in many]

    def _in_quotes(self, value):
        return None if value is None else repr(str(value))

    def parse(self, argument):
        more = self._parse(argument)
        self._value = self._value + more if self.present else more
        self.using_default_value = False
        self.present += len(more)

    def serialize(self):
        if self.value is None:
            return ""
        serializer = self.serializer or ArgumentSerializer()
        return "\n".join("--%s=%s" % (self.name, serializer.serialize(value)) for value in self.value)

    def flag_type(self):
        return "multi " + self.parser.flag_type()


class FlagHolder:
    """What DEFINE_string and the others return: the flag's name and value."""

    def __init__(self, flag_values, flag):
        self._flag_values = flag_values
        self._flag = flag
        self.name = flag.name

    @property
    def value(self):
        return getattr(self._flag_values, self.name)

    @property
    def default(self):
        return self._flag.default

    @property
    def present(self):
        return bool(self._flag.present)

    def serialize(self):
        return self._flag.serialize()


def _calling_module():
    """The module that defines a flag: the first outside this package and tf.flags, the program by its path."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "") in _OWN_MODULES:
        frame = frame.f_back
    name = frame.f_globals.get("__name__", "")
    return sys.argv[0] if name == "__main__" and sys.argv else name


_OWN_MODULES = {__name__}


class FlagValues:
    """The flags of a program: FLAGS.name is a value, FLAGS["name"] the Flag, FLAGS(argv) parses."""

    def __init__(self):
        self.__dict__["_flags"] = self.__dict__["__flags"] = {}  # programs print FLAGS.__flags
        self.__dict__["_modules"] = {}  # module: its flags in the order of definition
        self.__dict__["_validators"] = []
        self.__dict__["_is_parsed"] = False
        self.__dict__["_is_gnu_getopt"] = True

    # -- definitions

    def __setitem__(self, name, flag):
        old = self._flags.get(name)
        if old is not None and old is not flag and not flag.allow_override and not old.allow_override:
            owner = self.find_module_defining_flag(name)
            raise DuplicateFlagError(
                "The flag '%s' is defined twice. First from %s, second from %s.  Description from first "
                "occurrence: %s" % (name, owner, _calling_module(), old.help)
            )
        if hasattr(type(self), name):
            raise FlagNameConflictsWithMethodError(
                "Cannot define flag named `%s`. It conflicts with a method on class `FlagValues`." % name
            )
        self._flags[name] = flag
        if flag.short_name:
            self._flags[flag.short_name] = flag

    def register_flag_by_module(self, module_name, flag):
        self._modules.setdefault(module_name, []).append(flag)

    def __delattr__(self, name):
        flag = self[name]
        for key in [key for key, value in self._flags.items() if value is flag]:
            del self._flags[key]
        for flags in self._modules.values():
            flags[:] = [f for f in flags if f is not flag]

    def remove_flag_values(self, flag_values):
        for name in list(flag_values):
            if name in self._flags:
                delattr(self, name)

    def append_flag_values(self, flag_values):
        for name, flag in flag_values._flags.items():
            self._flags[name] = flag
        for module, flags in flag_values._modules.items():
            self._modules.setdefault(module, []).extend(flags)

    def find_module_defining_flag(self, flagname, default=None):
        flag = self._flags.get(flagname)
        return next((module for module, flags in self._modules.items() if flag in flags), default)

    # -- values

    def __getitem__(self, name):
        return self._flags[name]

    def __getattr__(self, name):
        if name not in self.__dict__.get("_flags", ()):
            raise AttributeError(name)
        if not self._is_parsed:
            raise UnparsedFlagAccessError("Trying to access flag --%s before flags were parsed." % name)
        return self._flags[name].value

    def __setattr__(self, name, value):
        flag = self._flags.get(name)
        if flag is None:
            raise UnrecognizedFlagError(name, value)
        flag.value = value
        flag.using_default_value = False
        self._validate([v for v in self._validators if name in v.flag_names])

    def __contains__(self, name):
        return name in self._flags

    def __iter__(self):
        return iter(list(self._flags))

    def __len__(self):
        return len(self._flags)

    def __dir__(self):
        return sorted(self._flags)

    def flag_values_dict(self):
        return {name: flag.value for name, flag in self._flags.items()}

    def get_flag_value(self, name, default):
        """The value; `default` where it is None or there is no such flag."""
        flag = self._flags.get(name)
        return default if flag is None or flag.value is None else flag.value

    def set_default(self, name, value):
        flag = self._flags.get(name)
        if flag is None:
            raise UnrecognizedFlagError(name)
        flag._set_default(value)
        self._validate([v for v in self._validators if name in v.flag_names])

    def flags_by_module_dict(self):
        return {module: list(flags) for module, flags in self._modules.items()}

    def flags_into_string(self):
        """All values as lines of a command line."""
        lines = [flag.serialize() for flags in self._modules.values() for flag in flags]
        return "".join(line + "\n" for line in lines if line)

    # -- the command line

    def is_parsed(self):
        return self._is_parsed

    def mark_as_parsed(self):
        self.__dict__["_is_parsed"] = True

    def unparse_flags(self):
        for flag in self._flags.values():
            flag.unparse()
        self.__dict__["_is_parsed"] = False

    def is_gnu_getopt(self):
        return self._is_gnu_getopt

    def set_gnu_getopt(self, gnu_getopt=True):
        """Whether flags behind the first argument that is none are still flags."""
        self.__dict__["_is_gnu_getopt"] = gnu_getopt

    def __call__(self, argv, known_only=False):
        """Parses argv, whose first is the program. Returns the program and what is no flag.

        known_only: unknown flags are no error, and are in the result. UnrecognizedFlagError,
        IllegalFlagValueError, ValidationError.
        """
        if isinstance(argv, (str, bytes)):
            raise TypeError("argv should be a tuple/list of strings, not bytes or string.")
        if not argv:
            raise ValueError(
                "argv cannot be an empty list, and must contain the program name as the first element."
            )
        rest = self._parse_args(list(argv[1:]), known_only)
        self.mark_as_parsed()
        self.validate_all_flags()
        return [argv[0], *rest]

    def _parse_args(self, args, known_only):
        rest = []
        while args:
            arg = args.pop(0)
            if arg == "--":
                return rest + ([arg] if known_only else []) + args
            if not arg.startswith("-") or arg == "-":
                rest.append(arg)
                if not self._is_gnu_getopt:
                    return rest + args
                continue
            name, equals, value = arg.lstrip("-").partition("=")
            flag = self._flags.get(name)
            is_negated = flag is None and not equals and name.startswith("no")
            if is_negated:
                flag = self._flags.get(name[2:])
                flag = flag if flag is not None and flag.boolean else None
            if flag is None:
                undefok = name == "undefok"
                if undefok or known_only:
                    rest += [] if undefok else [arg]
                    continue
                raise UnrecognizedFlagError(
                    name, value, difflib.get_close_matches(name, self._flags, cutoff=0.7)
                )
            if flag.boolean and not equals:
                value = "false" if is_negated else "true"
            elif not equals:
                if not args:
                    raise Error("Missing value for flag " + arg)
                value = args.pop(0)
            flag.parse(value)
        return rest

    # -- validation

    def validate_all_flags(self):
        self._validate(self._validators)

    def _validate(self, validators):
        for validator in validators:
            validator.check(self)

    # -- help

    def get_help(self, prefix="", include_special_flags=True):
        main = [m for m in self._modules if self._modules[m] and m == sys.argv[0]]
        others = sorted(m for m in self._modules if self._modules[m] and m != sys.argv[0])
        return "\n\n".join(self._module_help(m, prefix) for m in main + others)

    def module_help(self, module):
        return self._module_help(module if isinstance(module, str) else module.__name__, "")

    def main_module_help(self):
        return self._module_help(sys.argv[0], "")

    def get_key_flags_for_module(self, module):
        return list(self._modules.get(module if isinstance(module, str) else module.__name__, ()))

    def _module_help(self, module, prefix):
        flags = sorted(self._modules.get(module, ()), key=lambda flag: flag.name)
        return "\n".join(["\n%s%s:" % (prefix, module)] + [self._flag_help(flag, prefix) for flag in flags])

    def _flag_help(self, flag, prefix):
        name = ("-%s," % flag.short_name if flag.short_name else "") + (
            "--[no]%s:" % flag.name if flag.boolean else "--%s:" % flag.name
        )
        first = prefix + "  " + name + " " + flag.help
        lines = [text_wrap(first, indent=prefix + "    ", firstline_indent="")]
        if flag.default_as_str is not None:
            lines.append(text_wrap("(default: %s)" % flag.default_as_str, indent=prefix + "    "))
        if flag.parser.syntactic_help:
            lines.append(text_wrap("(%s)" % flag.parser.syntactic_help, indent=prefix + "    "))
        return "\n".join(lines)

    def __str__(self):
        return self.get_help()


FLAGS = FlagValues()


def get_help_width():
    """The columns of --help: those of the terminal, 80 where there is none."""
    return max(shutil.get_terminal_size().columns, 40) if sys.stdout.isatty() else 80


def text_wrap(text, length=None, indent="", firstline_indent=None):
    """Text in lines of at most `length` columns. Lines that are there stay."""
    length = length or get_help_width()
    lines = []
    for line in text.expandtabs(4).splitlines() or [""]:
        start = indent if lines or firstline_indent is None else firstline_indent
        body = line if not lines and firstline_indent is not None else line.strip()
        lines += textwrap.wrap(body, length, initial_indent=start, subsequent_indent=indent) or [""]
    return "\n".join(lines)


def doc_to_help(doc):
    """A docstring as the text of --help: without its indentation."""
    return textwrap.dedent(doc).strip()


def flag_dict_to_args(flag_map, multi_flags=None):
    """The words of a command line with these flags."""
    for name, value in flag_map.items():
        if value is None:
            yield "--%s" % name
        elif isinstance(value, bool):
            yield "--%s" % name if value else "--no%s" % name
        elif isinstance(value, (bytes, str)) or not hasattr(value, "__iter__"):
            yield "--%s=%s" % (name, value)
        elif multi_flags and name in multi_flags:
            yield from ("--%s=%s" % (name, item) for item in value)
        else:
            yield "--%s=%s" % (name, ",".join(str(item) for item in value))


# ---- Validators ----


class _Validator:
    def __init__(self, flag_names, checker, message, takes_one):
        self.flag_names = flag_names
        self._checker = checker
        self._message = message
        self._takes_one = takes_one

    def check(self, flag_values):
        values = {name: flag_values[name].value for name in self.flag_names}
        what = ", ".join("--%s=%s" % pair for pair in values.items())
        try:
            is_right = self._checker(values[self.flag_names[0]] if self._takes_one else values)
        except ValidationError as e:
            raise IllegalFlagValueError("flag%s %s: %s" % ("" if self._takes_one else "s", what, e)) from None
        if not is_right:
            raise IllegalFlagValueError(
                "flag%s %s: %s" % ("" if self._takes_one else "s", what, self._message)
            )


def _add_validator(flag_values, names, checker, message, takes_one):
    names = [name.name if isinstance(name, FlagHolder) else name for name in names]
    for name in names:
        if name not in flag_values:
            raise AttributeError(name)
    flag_values._validators.append(_Validator(names, checker, message, takes_one))


def register_validator(flag_name, checker, message="Flag validation failed", flag_values=FLAGS):
    """The flag's value is right if checker(value); checked after parsing, and when it is set."""
    _add_validator(flag_values, [flag_name], checker, message, True)


def register_multi_flags_validator(
    flag_names, multi_flags_checker, message="Flags validation failed", flag_values=FLAGS
):
    """The flags' values are right if multi_flags_checker({name: value})."""
    _add_validator(flag_values, list(flag_names), multi_flags_checker, message, False)


def validator(flag_name, message="Flag validation failed", flag_values=FLAGS):
    """A decorator: the function checks the flag's value."""

    def decorate(function):
        register_validator(flag_name, function, message, flag_values)
        return function

    return decorate


def multi_flags_validator(flag_names, message="Flag validation failed", flag_values=FLAGS):
    """A decorator: the function checks the flags' values, which it gets as a dictionary."""

    def decorate(function):
        register_multi_flags_validator(flag_names, function, message, flag_values)
        return function

    return decorate


def mark_flag_as_required(flag_name, flag_values=FLAGS):
    """The program ends with an error unless the flag has a value."""
    name = flag_name.name if isinstance(flag_name, FlagHolder) else flag_name
    message = "Flag --%s must have a value other than None." % name
    register_validator(name, lambda value: value is not None, message, flag_values)


def mark_flags_as_required(flag_names, flag_values=FLAGS):
    for flag_name in flag_names:
        mark_flag_as_required(flag_name, flag_values)


def _mark_exclusive(flag_names, required, flag_values, is_given):
    def check(values):
        count = sum(is_given(value) for value in values.values())
        if count == 1 or (not required and count == 0):
            return True
        raise ValidationError(
            "%s one of (%s) must have a value other than None."
            % ("Exactly" if required else "At most", ", ".join(flag_names))
        )

    register_multi_flags_validator(flag_names, check, flag_values=flag_values)


def mark_flags_as_mutual_exclusive(flag_names, required=False, flag_values=FLAGS):
    """At most one of the flags, with `required` exactly one, has a value."""
    _mark_exclusive(flag_names, required, flag_values, lambda value: value is not None)


def mark_bool_flags_as_mutual_exclusive(flag_names, required=False, flag_values=FLAGS):
    """At most one of the flags, with `required` exactly one, is true."""
    _mark_exclusive(flag_names, required, flag_values, bool)


# ---- Definitions ----


def DEFINE_flag(flag, flag_values=FLAGS, module_name=None, required=False):
    """Adds a Flag. required: the command line has to give it."""
    if required and flag.default is not None:
        raise ValueError("Required flag --%s needs to have None as default" % flag.name)
    flag_values[flag.name] = flag
    flag_values.register_flag_by_module(module_name or _calling_module(), flag)
    if required:
        mark_flag_as_required(flag.name, flag_values)
    return FlagHolder(flag_values, flag)


def DEFINE(
    parser, name, default, help, flag_values=FLAGS, serializer=None, module_name=None, required=False, **args
):
    """Defines a flag whose values a parser makes of text."""
    flag = Flag(parser, serializer or ArgumentSerializer(), name, default, help, **args)
    return DEFINE_flag(flag, flag_values, module_name, required)


def DEFINE_string(name, default, help, flag_values=FLAGS, required=False, **args):
    return DEFINE(ArgumentParser(), name, default, help, flag_values, required=required, **args)


def DEFINE_boolean(name, default, help, flag_values=FLAGS, module_name=None, required=False, **args):
    """Defines a flag that is given as --name, --noname or --name=false."""
    return DEFINE_flag(BooleanFlag(name, default, help, **args), flag_values, module_name, required)


DEFINE_bool = DEFINE_boolean


def DEFINE_float(
    name, default, help, lower_bound=None, upper_bound=None, flag_values=FLAGS, required=False, **args
):
    parser = FloatParser(lower_bound, upper_bound)
    return DEFINE(parser, name, default, help, flag_values, required=required, **args)


def DEFINE_integer(
    name, default, help, lower_bound=None, upper_bound=None, flag_values=FLAGS, required=False, **args
):
    parser = IntegerParser(lower_bound, upper_bound)
    return DEFINE(parser, name, default, help, flag_values, required=required, **args)


def DEFINE_enum(
    name, default, enum_values, help, flag_values=FLAGS, module_name=None, required=False, **args
):
    return DEFINE_flag(EnumFlag(name, default, help, enum_values, **args), flag_values, module_name, required)


def DEFINE_enum_class(
    name,
    default,
    enum_class,
    help,
    flag_values=FLAGS,
    module_name=None,
    case_sensitive=False,
    required=False,
    **args,
):
    flag = EnumClassFlag(name, default, help, enum_class, case_sensitive=case_sensitive, **args)
    return DEFINE_flag(flag, flag_values, module_name, required)


def DEFINE_list(name, default, help, flag_values=FLAGS, required=False, **args):
    """Defines a flag whose value is a list of the words between commas."""
    return DEFINE(
        ListParser(), name, default, help, flag_values, CsvListSerializer(","), required=required, **args
    )


def DEFINE_spaceseplist(name, default, help, comma_compat=False, flag_values=FLAGS, required=False, **args):
    parser = WhitespaceSeparatedListParser(comma_compat)
    return DEFINE(parser, name, default, help, flag_values, ListSerializer(" "), required=required, **args)


def DEFINE_multi(
    parser, serializer, name, default, help, flag_values=FLAGS, module_name=None, required=False, **args
):
    """Defines a flag that may come several times: its value is the list of the parser's values."""
    flag = MultiFlag(parser, serializer, name, default, help, **args)
    return DEFINE_flag(flag, flag_values, module_name, required)


def _multi(parser, name, default, help, flag_values, args):
    return DEFINE_multi(parser, ArgumentSerializer(), name, default, help, flag_values, **args)


def DEFINE_multi_string(name, default, help, flag_values=FLAGS, **args):
    return _multi(ArgumentParser(), name, default, help, flag_values, args)


def DEFINE_multi_integer(name, default, help, lower_bound=None, upper_bound=None, flag_values=FLAGS, **args):
    return _multi(IntegerParser(lower_bound, upper_bound), name, default, help, flag_values, args)


def DEFINE_multi_float(name, default, help, lower_bound=None, upper_bound=None, flag_values=FLAGS, **args):
    return _multi(FloatParser(lower_bound, upper_bound), name, default, help, flag_values, args)


def DEFINE_multi_enum(name, default, enum_values, help, flag_values=FLAGS, case_sensitive=True, **args):
    return _multi(EnumParser(enum_values, case_sensitive), name, default, help, flag_values, args)


def DEFINE_alias(name, original_name, flag_values=FLAGS, module_name=None):
    """Another name for a flag."""
    flag = flag_values[original_name]
    flag_values._flags[name] = flag


def declare_key_flag(flag_name, flag_values=FLAGS):
    """Has --help of the calling module show a flag of another module."""
    flag = flag_values[flag_name.name if isinstance(flag_name, FlagHolder) else flag_name]
    flags = flag_values._modules.setdefault(_calling_module(), [])
    if flag not in flags:
        flags.append(flag)


def adopt_module_key_flags(module, flag_values=FLAGS):
    """Has --help of the calling module show the flags of another module."""
    for flag in flag_values.get_key_flags_for_module(module):
        declare_key_flag(flag.name, flag_values)


def disclaim_key_flags():
    """Has flags that the calling module defines for others count as theirs."""
    _OWN_MODULES.add(sys._getframe(1).f_globals["__name__"])


def set_default(flag_holder, value):
    flag_holder._flag_values.set_default(flag_holder.name, value)


def override_value(flag_holder, value):
    flag_holder._flag.value = value
