"""Messages that go to the log and, as events, to TensorBoard.

    tensorboard_logging.set_summary_writer(tf.summary.FileWriter(directory))
    tensorboard_logging.info("step %d", 3)
"""

import time

from braid.tensorflow.core.util import event_pb2
from braid.tensorflow.python.platform import tf_logging as logging

DEBUG = "DEBUG"
INFO = "INFO"
WARN = "WARN"
ERROR = "ERROR"
FATAL = "FATAL"

# The levels of the log and of events.
_LEVELS = {
    DEBUG: (logging.DEBUG, event_pb2.LogMessage.DEBUGGING),
    INFO: (logging.INFO, event_pb2.LogMessage.INFO),
    WARN: (logging.WARN, event_pb2.LogMessage.WARN),
    ERROR: (logging.ERROR, event_pb2.LogMessage.ERROR),
    FATAL: (logging.FATAL, event_pb2.LogMessage.FATAL),
}
_NOT_SET = object()

_verbosity = WARN
_summary_writer = _NOT_SET


def get_verbosity():
    return _verbosity


def set_verbosity(verbosity):
    """Messages below the level become no events; the log has a level of its own."""
    global _verbosity
    _check(verbosity)
    _verbosity = verbosity


def _check(level):
    if level not in _LEVELS:
        raise ValueError(f"Level {level} is not a valid tensorboard_logging level")


def set_summary_writer(summary_writer):
    """Says where events go; None: nowhere, messages are logged alone."""
    global _summary_writer
    _summary_writer = summary_writer


def _clear_summary_writer():
    """Forgets the writer: logging is an error."""
    set_summary_writer(_NOT_SET)


def log(level, message, *args):
    """Logs `message % args`. RuntimeError: set_summary_writer was not called. ValueError: there is no such
    level.
    """
    if _summary_writer is _NOT_SET:
        raise RuntimeError("Must call set_summary_writer before doing any logging from tensorboard_logging")
    _check(level)
    of_log, of_event = _LEVELS[level]
    if _summary_writer and of_event >= _LEVELS[_verbosity][1]:
        made = event_pb2.LogMessage(level=of_event, message=message % args)
        _summary_writer.add_event(event_pb2.Event(wall_time=time.time(), log_message=made))
    logging.log(of_log, message, *args)


def debug(message, *args):
    log(DEBUG, message, *args)


def info(message, *args):
    log(INFO, message, *args)


def warn(message, *args):
    log(WARN, message, *args)


def error(message, *args):
    log(ERROR, message, *args)


def fatal(message, *args):
    log(FATAL, message, *args)
