"""Messages of the logger "absl", on standard error."""

import logging as _logging
import os
import sys
import threading

FATAL, ERROR, WARNING, INFO, DEBUG = -3, -2, -1, 0, 1
WARN = WARNING
_STANDARD = {
    FATAL: _logging.CRITICAL,
    ERROR: _logging.ERROR,
    WARNING: _logging.WARNING,
    INFO: _logging.INFO,
    DEBUG: _logging.DEBUG,
}
_NAMES = {"fatal": FATAL, "error": ERROR, "warning": WARNING, "warn": WARNING, "info": INFO, "debug": DEBUG}
_lock = threading.Lock()
_counts = {}


def _make_logger():
    logger = _logging.getLogger("absl")
    logger.setLevel(_logging.WARNING)
    if not _logging.getLogger().handlers and not logger.handlers:
        handler = _logging.StreamHandler()
        handler.setFormatter(_logging.Formatter(_logging.BASIC_FORMAT))
        logger.addHandler(handler)
    return logger


_logger = _make_logger()


def get_absl_logger():
    return _logger


def _standard(level):
    """Python's level for one of absl's: higher numbers are more detail."""
    if isinstance(level, str):
        level = _NAMES[level.lower()]
    return _STANDARD.get(level, max(1, _logging.DEBUG - level + 1))


def set_verbosity(v):
    """Sets the lowest level that is logged: logging.INFO, its name, or a number: higher ones show more."""
    _logger.setLevel(_standard(v))


def get_verbosity():
    standard = _logger.getEffectiveLevel()
    return next((v for v, s in _STANDARD.items() if s == standard), _logging.DEBUG - standard + 1)


def level_debug():
    return get_verbosity() >= DEBUG


def level_info():
    return get_verbosity() >= INFO


def log(level, msg, *args, **kwargs):
    _logger.log(_standard(level), msg, *args, stacklevel=2, **kwargs)


vlog = log


def vlog_is_on(level):
    return _logger.isEnabledFor(_standard(level))


def debug(msg, *args, **kwargs):
    _logger.debug(msg, *args, stacklevel=2, **kwargs)


def info(msg, *args, **kwargs):
    _logger.info(msg, *args, stacklevel=2, **kwargs)


def warning(msg, *args, **kwargs):
    _logger.warning(msg, *args, stacklevel=2, **kwargs)


warn = warning


def error(msg, *args, **kwargs):
    _logger.error(msg, *args, stacklevel=2, **kwargs)


def exception(msg, *args, exc_info=True, **kwargs):
    _logger.error(msg, *args, stacklevel=2, exc_info=exc_info, **kwargs)


def fatal(msg, *args, **kwargs):
    """Logs and ends the program at once."""
    _logger.critical(msg, *args, stacklevel=2, **kwargs)
    flush()
    os.abort()


def _count():
    frame = sys._getframe(2)
    line = (frame.f_code.co_filename, frame.f_lineno)
    with _lock:
        count = _counts.get(line, 0)
        _counts[line] = count + 1
    return count


def log_every_n(level, msg, n, *args):
    """Logs the 1st, (n+1)th, (2n+1)th ... time that this line is reached."""
    log_if(level, msg, not _count() % n, *args)


def log_first_n(level, msg, n, *args):
    """Logs the first n times that this line is reached."""
    log_if(level, msg, _count() < n, *args)


def log_if(level, msg, condition, *args):
    if condition:
        log(level, msg, *args)


def flush():
    for handler in _logger.handlers:
        handler.flush()
