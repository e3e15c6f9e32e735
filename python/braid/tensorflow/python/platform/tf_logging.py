"""tf.logging: messages of the logger "tensorflow", on standard error as LEVEL:tensorflow:MESSAGE."""

import logging as _logging
import os
import sys
import threading

from braid.tensorflow.python.util.tf_export import tf_export

DEBUG, INFO, WARN, ERROR, FATAL = (
    _logging.DEBUG,
    _logging.INFO,
    _logging.WARNING,
    _logging.ERROR,
    _logging.CRITICAL,
)
tf_export(v1=["logging.DEBUG"]).export_constant(__name__, "DEBUG")
tf_export(v1=["logging.INFO"]).export_constant(__name__, "INFO")
tf_export(v1=["logging.WARN"]).export_constant(__name__, "WARN")
tf_export(v1=["logging.ERROR"]).export_constant(__name__, "ERROR")
tf_export(v1=["logging.FATAL"]).export_constant(__name__, "FATAL")

_LETTERS = {DEBUG: "D", INFO: "I", WARN: "W", ERROR: "E", FATAL: "F"}
_logger = None
_lock = threading.Lock()
_counts = {}  # of log_every_n: by the caller's file and line


class _Logger(_logging.Logger):
    """Takes for the caller the first function outside this file."""

    def findCaller(self, stack_info=False, stacklevel=1):
        frame = _caller()
        code = frame.f_code
        return code.co_filename, frame.f_lineno, code.co_name, None


def _caller():
    frame = sys._getframe(1)
    inside = (__file__, _logging.__file__)
    while frame.f_back and frame.f_code.co_filename in inside:
        frame = frame.f_back
    return frame


def _make_logger():
    logger = _logging.getLogger("tensorflow")
    if type(logger) is _logging.Logger:  # who made it keeps it: this adds where messages come from
        logger.__class__ = _Logger
    if _logging.getLogger().handlers or logger.handlers:  # the program has its own ways
        return logger
    is_interactive = hasattr(sys, "ps1") or bool(sys.flags.interactive)
    if is_interactive:
        logger.setLevel(INFO)
    handler = _logging.StreamHandler(sys.stdout if is_interactive else sys.stderr)
    handler.setFormatter(_logging.Formatter(_logging.BASIC_FORMAT))
    logger.addHandler(handler)
    return logger


@tf_export("get_logger")
def get_logger():
    """Python's logger of TensorFlow's messages."""
    global _logger
    if _logger is None:
        with _lock:
            if _logger is None:
                _logger = _make_logger()
    return _logger


@tf_export(v1=["logging.log"])
def log(level, msg, *args, **kwargs):
    get_logger().log(level, msg, *args, **kwargs)


@tf_export(v1=["logging.debug"])
def debug(msg, *args, **kwargs):
    get_logger().debug(msg, *args, **kwargs)


@tf_export(v1=["logging.info"])
def info(msg, *args, **kwargs):
    get_logger().info(msg, *args, **kwargs)


@tf_export(v1=["logging.warn"])
def warn(msg, *args, **kwargs):
    get_logger().warning(msg, *args, **kwargs)


@tf_export(v1=["logging.warning"])
def warning(msg, *args, **kwargs):
    get_logger().warning(msg, *args, **kwargs)


@tf_export(v1=["logging.error"])
def error(msg, *args, **kwargs):
    get_logger().error(msg, *args, **kwargs)


@tf_export(v1=["logging.fatal"])
def fatal(msg, *args, **kwargs):
    """Logs at the highest level. The program goes on."""
    get_logger().critical(msg, *args, **kwargs)


@tf_export(v1=["logging.vlog"])
def vlog(level, msg, *args, **kwargs):
    get_logger().log(level, msg, *args, **kwargs)


@tf_export(v1=["logging.TaskLevelStatusMessage"])
def TaskLevelStatusMessage(msg):
    error(msg)


def error_log(error_msg, level=ERROR):
    """Logs a message without arguments."""
    log(level, "%s", error_msg)


@tf_export(v1=["logging.flush"])
def flush():
    """Nothing: the handlers write each message at once."""


def _count():
    """How often the line that called into this file has come here before."""
    frame = _caller()
    line = (frame.f_code.co_filename, frame.f_lineno)
    with _lock:
        count = _counts.get(line, 0)
        _counts[line] = count + 1
    return count


@tf_export(v1=["logging.log_every_n"])
def log_every_n(level, msg, n, *args):
    """Logs the 1st, (n+1)th, (2n+1)th ... time that this line is reached."""
    log_if(level, msg, not _count() % n, *args)


@tf_export(v1=["logging.log_first_n"])
def log_first_n(level, msg, n, *args):
    """Logs the first n times that this line is reached."""
    log_if(level, msg, _count() < n, *args)


@tf_export(v1=["logging.log_if"])
def log_if(level, msg, condition, *args):
    if condition:
        log(level, msg, *args)


def _level(v):
    """A level that may be given by its name."""
    names = {"DEBUG": DEBUG, "INFO": INFO, "WARN": WARN, "WARNING": WARN, "ERROR": ERROR, "FATAL": FATAL}
    return names[v.upper()] if isinstance(v, str) and v.upper() in names else v


@tf_export(v1=["logging.get_verbosity"])
def get_verbosity():
    """The lowest level that is logged."""
    return get_logger().getEffectiveLevel()


@tf_export(v1=["logging.set_verbosity"])
def set_verbosity(v):
    """Sets the lowest level that is logged: tf.logging.INFO, or the number."""
    get_logger().setLevel(_level(v))


def google2_log_prefix(level, timestamp=None, file_and_line=None):
    """The beginning of a line as Google's loggers write it: "I1129 06:07:53.123456 7 train.py:12] "."""
    import time

    now = time.time() if timestamp is None else timestamp
    if file_and_line is None:
        frame = _caller()
        file_and_line = (frame.f_code.co_filename, frame.f_lineno)
    return "%s%s.%06d %5d %s:%d] " % (
        _LETTERS.get(level, "I"),
        time.strftime("%m%d %H:%M:%S", time.localtime(now)),
        int(now * 1e6) % 1000000,
        threading.get_ident() & 0xFFFFFFFF,
        os.path.basename(file_and_line[0]),
        file_and_line[1],
    )
