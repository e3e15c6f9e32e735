"""tf.flags, also tf.app.flags: command line flags.

They are those of Abseil's `absl.flags` where it is installed, which a program may import as well, else those
of braid.absl. FLAGS here parses the command line when the first value is read, if the program has not done
it.
"""

import functools
import sys

try:
    from absl import flags as _flags
except ImportError:
    from braid.absl import flags as _flags

globals().update(
    {name: value for name, value in vars(_flags).items() if name[0].isupper() or "mark_" in name}
)
register_validator = _flags.register_validator
register_multi_flags_validator = _flags.register_multi_flags_validator
validator = _flags.validator
multi_flags_validator = _flags.multi_flags_validator
adopt_module_key_flags = _flags.adopt_module_key_flags
declare_key_flag = _flags.declare_key_flag
disclaim_key_flags = _flags.disclaim_key_flags
doc_to_help = _flags.doc_to_help
flag_dict_to_args = _flags.flag_dict_to_args
get_help_width = _flags.get_help_width
text_wrap = _flags.text_wrap

_flags.disclaim_key_flags()  # --help has the flags that are defined by way of this module with the program's

_RENAMED_ARGUMENTS = {"flag_name": "name", "default_value": "default", "docstring": "help"}


def _wrap_define_function(original_function):
    """A DEFINE_ function that knows the arguments by TensorFlow's old names too."""

    @functools.wraps(original_function)
    def define(*args, **kwargs):
        for old, new in _RENAMED_ARGUMENTS.items():
            if old in kwargs:
                if new in kwargs:
                    raise ValueError("Cannot specify both %s and %s" % (old, new))
                kwargs[new] = kwargs.pop(old)
        return original_function(*args, **kwargs)

    return define


class _FlagValuesWrapper:
    """The program's flags. Reading the first value parses sys.argv."""

    def __init__(self, flags_object):
        self.__dict__["__wrapped"] = flags_object

    def __getattribute__(self, name):
        if name == "__dict__":
            return super().__getattribute__(name)
        return self.__dict__["__wrapped"].__getattribute__(name)

    def __getattr__(self, name):
        wrapped = self.__dict__["__wrapped"]
        if not wrapped.is_parsed():
            wrapped(sys.argv)
        return wrapped.__getattr__(name)

    def __setattr__(self, name, value):
        return self.__dict__["__wrapped"].__setattr__(name, value)

    def __delattr__(self, name):
        return self.__dict__["__wrapped"].__delattr__(name)

    def __dir__(self):
        return self.__dict__["__wrapped"].__dir__()

    def __getitem__(self, name):
        return self.__dict__["__wrapped"].__getitem__(name)

    def __setitem__(self, name, flag):
        return self.__dict__["__wrapped"].__setitem__(name, flag)

    def __contains__(self, name):
        return name in self.__dict__["__wrapped"]

    def __len__(self):
        return len(self.__dict__["__wrapped"])

    def __iter__(self):
        return iter(self.__dict__["__wrapped"])

    def __str__(self):
        return str(self.__dict__["__wrapped"])

    def __call__(self, *args, **kwargs):
        return self.__dict__["__wrapped"](*args, **kwargs)


for _name in (
    "string boolean bool float integer enum enum_class list spaceseplist multi_string multi_integer multi_float "
    "multi_enum"
).split():
    globals()["DEFINE_" + _name] = _wrap_define_function(getattr(_flags, "DEFINE_" + _name))
FLAGS = _FlagValuesWrapper(_flags.FLAGS)
