"""Values of variables that have none."""


class Undefined:
    """A variable that is not defined."""

    def __init__(self, symbol_name):
        self.symbol_name = symbol_name


class UndefinedReturnValue:
    """What a function returns where no `return` was."""


def is_undefined(value):
    return isinstance(value, Undefined)


def is_defined(value):
    return not isinstance(value, Undefined)


def is_undefined_return(value):
    return isinstance(value, UndefinedReturnValue)


def retval(value):
    return None if is_undefined_return(value) else value


def ld(read, name):
    """The value of a variable, an attribute or an item that `read` reads, or Undefined."""
    try:
        return read()
    except (NameError, AttributeError, LookupError, TypeError):
        return Undefined(name)
