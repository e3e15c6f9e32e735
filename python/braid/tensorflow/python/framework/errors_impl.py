"""Errors with a code of TensorFlow's (tf.errors)."""

import warnings

from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["errors.OpError", "OpError"])
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


class OperatorNotAllowedInGraphError(TypeError):
    """A tensor was used as a Python bool, or iterated over."""


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


@tf_export(v1=["errors.exception_type_from_error_code"])
def exception_type_from_error_code(error_code):
    """The class of errors with this code. KeyError: there is none."""
    return _CLASSES[error_code]


@tf_export(v1=["errors.error_code_from_exception_type"])
def error_code_from_exception_type(cls):
    """The code of errors of this class. An UnknownError, after a warning: it has none."""
    for code, made in _CLASSES.items():
        if made is cls:
            return code
    warnings.warn("Unknown class exception")
    return UnknownError(None, None, "Unknown class exception", None)


def _make_specific_exception(node_def, op, message, error_code):
    made = _CLASSES.get(error_code)
    if made is not None:
        return made(node_def, op, message)
    warnings.warn(f"Unknown error code: {error_code}")
    return UnknownError(node_def, op, message, error_code)


def make_op_error(error, node_def=None, op=None):
    """The OpError for an error of braid._native."""
    code, message = error.args
    return _make_specific_exception(node_def, op, message, code)


tf_export("errors.CancelledError").export_constant(__name__, "CancelledError")
tf_export("errors.UnknownError").export_constant(__name__, "UnknownError")
tf_export("errors.InvalidArgumentError").export_constant(__name__, "InvalidArgumentError")
tf_export("errors.DeadlineExceededError").export_constant(__name__, "DeadlineExceededError")
tf_export("errors.NotFoundError").export_constant(__name__, "NotFoundError")
tf_export("errors.AlreadyExistsError").export_constant(__name__, "AlreadyExistsError")
tf_export("errors.PermissionDeniedError").export_constant(__name__, "PermissionDeniedError")
tf_export("errors.ResourceExhaustedError").export_constant(__name__, "ResourceExhaustedError")
tf_export("errors.FailedPreconditionError").export_constant(__name__, "FailedPreconditionError")
tf_export("errors.AbortedError").export_constant(__name__, "AbortedError")
tf_export("errors.OutOfRangeError").export_constant(__name__, "OutOfRangeError")
tf_export("errors.UnimplementedError").export_constant(__name__, "UnimplementedError")
tf_export("errors.InternalError").export_constant(__name__, "InternalError")
tf_export("errors.UnavailableError").export_constant(__name__, "UnavailableError")
tf_export("errors.DataLossError").export_constant(__name__, "DataLossError")
tf_export("errors.UnauthenticatedError").export_constant(__name__, "UnauthenticatedError")
tf_export("errors.OK").export_constant(__name__, "OK")
tf_export("errors.CANCELLED").export_constant(__name__, "CANCELLED")
tf_export("errors.UNKNOWN").export_constant(__name__, "UNKNOWN")
tf_export("errors.INVALID_ARGUMENT").export_constant(__name__, "INVALID_ARGUMENT")
tf_export("errors.DEADLINE_EXCEEDED").export_constant(__name__, "DEADLINE_EXCEEDED")
tf_export("errors.NOT_FOUND").export_constant(__name__, "NOT_FOUND")
tf_export("errors.ALREADY_EXISTS").export_constant(__name__, "ALREADY_EXISTS")
tf_export("errors.PERMISSION_DENIED").export_constant(__name__, "PERMISSION_DENIED")
tf_export("errors.RESOURCE_EXHAUSTED").export_constant(__name__, "RESOURCE_EXHAUSTED")
tf_export("errors.FAILED_PRECONDITION").export_constant(__name__, "FAILED_PRECONDITION")
tf_export("errors.ABORTED").export_constant(__name__, "ABORTED")
tf_export("errors.OUT_OF_RANGE").export_constant(__name__, "OUT_OF_RANGE")
tf_export("errors.UNIMPLEMENTED").export_constant(__name__, "UNIMPLEMENTED")
tf_export("errors.INTERNAL").export_constant(__name__, "INTERNAL")
tf_export("errors.UNAVAILABLE").export_constant(__name__, "UNAVAILABLE")
tf_export("errors.DATA_LOSS").export_constant(__name__, "DATA_LOSS")
tf_export("errors.UNAUTHENTICATED").export_constant(__name__, "UNAUTHENTICATED")
