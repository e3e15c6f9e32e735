"""Errors with a code of TensorFlow's (tf.errors)."""


class OpError(Exception):
    """A step has failed: `error_code`, `message`, and the node that failed (`op`, `node_def`), if it is known."""

    def __init__(self, node_def, op, message, error_code):
        super().__init__()
        self._node_def = node_def
        self._op = op
        self._message = message
        self._error_code = error_code

    @property
    def message(self):
        return self._message

    @property
    def op(self):
        return self._op

    @property
    def node_def(self):
        return self._node_def

    @property
    def error_code(self):
        return self._error_code

    def __str__(self):
        return self._message

    def __reduce__(self):
        arguments = (self._node_def, None, self._message)  # nodes belong to a graph of this process
        return type(self), arguments if type(self) is not OpError else (*arguments, self._error_code)


OK = 0
_NAMES = {
    1: "CANCELLED",
    2: "UNKNOWN",
    3: "INVALID_ARGUMENT",
    4: "DEADLINE_EXCEEDED",
    5: "NOT_FOUND",
    6: "ALREADY_EXISTS",
    7: "PERMISSION_DENIED",
    8: "RESOURCE_EXHAUSTED",
    9: "FAILED_PRECONDITION",
    10: "ABORTED",
    11: "OUT_OF_RANGE",
    12: "UNIMPLEMENTED",
    13: "INTERNAL",
    14: "UNAVAILABLE",
    15: "DATA_LOSS",
    16: "UNAUTHENTICATED",
}
_CLASSES = {}


def _define(code, constant):
    """CANCELLED and CancelledError, and so on."""
    words = "".join(word.capitalize() for word in constant.split("_"))
    name = words if words.endswith("Error") else words + "Error"

    def __init__(self, node_def, op, message, *args):
        code_given = args[0] if args else code
        OpError.__init__(self, node_def, op, message, code_given)

    made = type(
        name, (OpError,), {"__init__": __init__, "__module__": __name__, "__doc__": f"Code {constant}."}
    )
    globals()[constant] = code
    globals()[name] = made
    _CLASSES[code] = made


for _code, _constant in _NAMES.items():
    _define(_code, _constant)


def exception_type_from_error_code(error_code):
    """The class of errors with this code. KeyError: there is none."""
    return _CLASSES[error_code]


def error_code_from_exception_type(cls):
    """The code of errors of this class. KeyError: it has none."""
    return next(code for code, made in _CLASSES.items() if made is cls)


def make_op_error(error, node_def=None, op=None):
    """The OpError for an error of braid._native."""
    code, message = error.args
    made = _CLASSES.get(code)
    return made(node_def, op, message) if made else OpError(node_def, op, message, code)
