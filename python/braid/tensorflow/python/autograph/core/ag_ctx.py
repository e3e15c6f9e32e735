"""Whether AutoGraph converts what the current thread calls."""

import enum
import threading

_local = threading.local()


class Status(enum.Enum):
    UNSPECIFIED = 0
    ENABLED = 1
    DISABLED = 2


class ControlStatusCtx:
    """A context in which conversion has a status: of functions that dataset transformations, layers and
    strategies call, those within DISABLED are not converted."""

    def __init__(self, status, options=None):
        self.status = status
        self.options = options

    def __enter__(self):
        _stack().append(self)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        assert _stack().pop() is self


def control_status_ctx():
    """The innermost ControlStatusCtx of this thread."""
    return _stack()[-1]


def _stack():
    if not hasattr(_local, "stack"):
        _local.stack = [ControlStatusCtx(Status.UNSPECIFIED)]
    return _local.stack
