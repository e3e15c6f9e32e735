"""Messages of AutoGraph, by verbosity: AUTOGRAPH_VERBOSITY, or set_verbosity()."""

import os
import sys

from braid.tensorflow.python.platform import tf_logging
from braid.tensorflow.python.util.tf_export import tf_export

VERBOSITY_VAR_NAME = "AUTOGRAPH_VERBOSITY"
_settings = {"level": None, "stdout": False}


@tf_export("autograph.set_verbosity")
def set_verbosity(level, alsologtostdout=False):
    """0: only warnings; 1: each function that is converted, too; from 2 on, the converted code, too."""
    _settings.update(level=level, stdout=alsologtostdout)


@tf_export("autograph.trace")
def trace(*args):
    """Prints its arguments while the graph is built."""
    print(*args)


def get_verbosity():
    level = _settings["level"]
    return int(os.getenv(VERBOSITY_VAR_NAME, "0")) if level is None else level


def has_verbosity(level):
    return get_verbosity() >= level


def log(level, message, *args):
    if has_verbosity(level):
        tf_logging.info(message, *args)
        if _settings["stdout"]:
            print(f"INFO: {message % args if args else message}", file=sys.stdout)


def warn(message, *args):
    tf_logging.warn(message, *args)
